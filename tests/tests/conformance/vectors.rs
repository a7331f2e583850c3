//! The layout of the vector files: `<case>.<peer>.<field>`, 3-D tensors being stacks of matrices.

use blockscale::{Format, ScaleElement, Shape};
use blockscale_tests::{Dtype, Tensor, Vectors as File};

/// One file of vectors.
pub(crate) struct Vectors(File);

impl Vectors {
    pub(crate) fn read(file: &str) -> Self {
        Self(File::read(&format!("conformance/{file}.safetensors")))
    }

    pub(crate) fn get(&self, name: &str) -> &Tensor {
        self.0.get(name)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Tensor> {
        self.0.find(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names()
    }

    pub(crate) fn not_looked_at(&self) -> Vec<&str> {
        self.0.not_looked_at()
    }

    /// Cases that `peer` has a `field` of, in name order.
    pub(crate) fn cases(&self, peer: &str, field: &str) -> Vec<&str> {
        let suffix = format!(".{peer}.{field}");
        self.names()
            .filter_map(|name| name.strip_suffix(suffix.as_str()))
            .collect()
    }
}

/// What a peer stored for one case.
pub(crate) struct Stored<'a> {
    codes: &'a Tensor,
    scales: &'a Tensor,
    globals: Option<Vec<f32>>,
}

/// One matrix of it.
pub(crate) struct Matrix<'a> {
    pub(crate) codes: &'a [u8],
    pub(crate) scales: &'a [u8],
    pub(crate) global: f32,
}

impl<'a> Stored<'a> {
    /// The `codes`, `scale` and `global` fields of `<case>.<peer>`.
    pub(crate) fn new(vectors: &'a Vectors, case: &str, peer: &str, fields: &Fields) -> Self {
        let get = |field: &str| vectors.get(&format!("{case}.{peer}.{field}"));
        Self {
            codes: get(fields.codes),
            scales: get(fields.scales),
            globals: fields.global.map(|field| get(field).f32s()),
        }
    }

    /// `format` with scales of the type that is stored, where that is BF16.
    pub(crate) fn format(&self, format: Format) -> Format {
        match self.scales.dtype {
            Dtype::BF16 => Format {
                scale: ScaleElement::Bf16,
                ..format
            },
            _ => format,
        }
    }

    pub(crate) fn matrix(&self, format: &Format, shape: Shape, index: usize) -> Matrix<'a> {
        let code_bytes = format.code_bytes(shape).unwrap();
        let scale_bytes = format.scale_bytes(shape).unwrap();
        Matrix {
            codes: &self.codes.data[index * code_bytes..][..code_bytes],
            scales: &self.scales.data[index * scale_bytes..][..scale_bytes],
            global: self.globals.as_ref().map_or(1.0, |globals| globals[index]),
        }
    }
}

/// How a peer names what it stores.
pub(crate) struct Fields {
    pub(crate) codes: &'static str,
    pub(crate) scales: &'static str,
    pub(crate) global: Option<&'static str>,
}

pub(crate) const PACKED: Fields = Fields {
    codes: "packed",
    scales: "scale",
    global: None,
};
pub(crate) const WEIGHT: Fields = Fields {
    codes: "weight",
    scales: "scale",
    global: None,
};
pub(crate) const MODELOPT: Fields = Fields {
    global: Some("scale_2"),
    ..PACKED
};
pub(crate) const COMPRESSED_TENSORS: Fields = Fields {
    global: Some("global_scale"),
    ..PACKED
};
pub(crate) const TORCHAO: Fields = Fields {
    global: Some("per_tensor_scale"),
    ..PACKED
};

/// Number of matrices in a stack, and the shape of each.
pub(crate) fn stack(tensor: &Tensor) -> (usize, Shape) {
    match tensor.shape[..] {
        [rows, cols] => (1, Shape::new(rows, cols)),
        [matrices, rows, cols] => (matrices, Shape::new(rows, cols)),
        _ => panic!("neither a matrix nor a stack of them: {:?}", tensor.shape),
    }
}
