//! Vectors by name, and short ways to apply a layout.

use blockscale::layout::{
    Codes, MemoryShape, ScaleLayout, Scales, Stack, permute_codes, permute_scales, unpermute_scales,
};
use blockscale::{ScaleElement, Shape};
use blockscale_tests::{Dtype, Tensor, Vectors as File};
use sha2::{Digest, Sha256};

/// One file of vectors, keyed `<case>.<field>`.
pub(crate) struct Vectors(File);

impl Vectors {
    pub(crate) fn layouts() -> Self {
        Self(File::read(
            "conformance/layouts/index_and_memory.safetensors",
        ))
    }

    pub(crate) fn runtime(group: &str) -> Self {
        Self(File::read(&format!(
            "conformance/runtime/{group}.safetensors"
        )))
    }

    pub(crate) fn get(&self, name: &str) -> &Tensor {
        self.0.get(name)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Tensor> {
        self.0.find(name)
    }

    pub(crate) fn not_looked_at(&self) -> Vec<&str> {
        self.0.not_looked_at()
    }

    /// Names of cases that begin with `prefix` and have `field`.
    pub(crate) fn cases(&self, prefix: &str, field: &str) -> Vec<&str> {
        let suffix = format!(".{field}");
        self.0
            .names()
            .filter_map(|name| name.strip_suffix(suffix.as_str()))
            .filter(|case| case.starts_with(prefix))
            .collect()
    }
}

/// The numbers of an I32 or I64 tensor that are not negative.
pub(crate) fn indices(tensor: &Tensor) -> Vec<usize> {
    match tensor.dtype {
        Dtype::I32 => tensor
            .data
            .as_chunks::<4>()
            .0
            .iter()
            .map(|&bytes| usize::try_from(i32::from_le_bytes(bytes)).unwrap())
            .collect(),
        Dtype::I64 => tensor
            .data
            .as_chunks::<8>()
            .0
            .iter()
            .map(|&bytes| usize::try_from(i64::from_le_bytes(bytes)).unwrap())
            .collect(),
        other => panic!("no indices: {other:?}"),
    }
}

/// The stack that a tensor of two or three dimensions is.
pub(crate) fn stack_of(tensor: &Tensor) -> Stack {
    match tensor.shape[..] {
        [rows, cols] => Stack::single(Shape::new(rows, cols)),
        [matrices, rows, cols] => Stack::new(matrices, Shape::new(rows, cols)),
        _ => panic!("neither a matrix nor a stack of them: {:?}", tensor.shape),
    }
}

pub(crate) fn permute(
    layout: ScaleLayout,
    stack: Stack,
    element: ScaleElement,
    linear: &[u8],
) -> Vec<u8> {
    let mut out = vec![0xa5; layout.scale_bytes(stack, element).unwrap()];
    let scales = Scales {
        layout: ScaleLayout::Linear,
        element,
        bytes: linear,
    };
    permute_scales(layout, stack, scales, &mut out).unwrap();
    out
}

pub(crate) fn unpermute(
    layout: ScaleLayout,
    stack: Stack,
    element: ScaleElement,
    bytes: &[u8],
) -> Vec<u8> {
    let linear = layout.linear_shape(stack.shape).len().unwrap();
    let mut out = vec![0xa5; stack.matrices * linear * element.bytes()];
    let scales = Scales {
        layout,
        element,
        bytes,
    };
    unpermute_scales(stack, scales, &mut out).unwrap();
    out
}

/// The sizes of a tensor in its last two dimensions, and the bytes of an element.
pub(crate) fn matrix_sizes(tensor: &Tensor) -> ([usize; 2], usize) {
    let dims = tensor.shape[tensor.shape.len() - 2..].try_into().unwrap();
    let elements: usize = tensor.shape.iter().product();
    (dims, tensor.data.len() / elements)
}

/// The same of laid out bytes.
pub(crate) fn memory_sizes(memory: MemoryShape) -> ([usize; 2], usize) {
    let [_, outer, inner] = memory.dims;
    ([outer, inner], memory.element_bytes)
}

/// Lays scales out, compares them with what a peer made, and takes them out of the peer's again.
pub(crate) fn check(
    case: &str,
    layout: ScaleLayout,
    stack: Stack,
    element: ScaleElement,
    linear: &[u8],
    expected: &[u8],
) {
    assert_eq!(permute(layout, stack, element, linear), expected, "{case}");
    assert_eq!(
        unpermute(layout, stack, element, expected),
        linear,
        "{case}"
    );
}

pub(crate) fn permute_code_bytes(layout: ScaleLayout, stack: Stack, linear: &[u8]) -> Vec<u8> {
    let mut out = vec![0xa5; layout.code_bytes(stack).unwrap()];
    let codes = Codes {
        layout: ScaleLayout::Linear,
        bytes: linear,
    };
    permute_codes(layout, stack, codes, &mut out).unwrap();
    out
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The F32 powers of two with these exponent bytes, little-endian.
pub(crate) fn f32_of(exponents: &[u8]) -> Vec<u8> {
    exponents
        .iter()
        .flat_map(|&byte| 2_f32.powi(i32::from(byte) - 127).to_le_bytes())
        .collect()
}
