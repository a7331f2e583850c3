//! Integers in groups and packed 6-bit floats, as the packing code of AutoAWQ, AutoGPTQ, GPTQModel and
//! Quark stores them.

use blockscale::decode::{Rows, decode_rows as decode_planes};
use blockscale::encode::encode_codes;
use blockscale::int::{IntFormat, IntLayout, IntParts, IntPartsMut, IntRule, decode_rows, encode};
use blockscale::{Format, ScaleElement, Shape, f16};
use blockscale_tests::{Dtype, Tensor};

use crate::vectors::{Vectors, stack};

pub(crate) const TESTS: [fn(); 5] = [
    weights_of_autoawq,
    weights_of_autogptq,
    weights_of_gptqmodel,
    weights_on_the_grid_encode_to_the_words_of_autoawq,
    six_bit_codes_of_quark_lie_as_in_compressed_tensors,
];

/// What a tool stores for one weight, and the numbers that it reads there.
struct Weight<'a> {
    vectors: &'a Vectors,
    case: &'a str,
    format: IntFormat,
}

impl<'a> Weight<'a> {
    fn new(
        vectors: &'a Vectors,
        case: &'a str,
        layout: IntLayout,
        bits: u8,
        groups: usize,
    ) -> Self {
        let format = IntFormat {
            bits,
            group_cols: groups,
            scale: ScaleElement::F16,
            layout,
        };
        Self {
            vectors,
            case,
            format,
        }
    }

    fn find(&self, field: &str) -> Option<&'a Tensor> {
        self.vectors.find(&format!("{}.{field}", self.case))
    }

    fn bytes(&self, field: &str) -> &'a [u8] {
        &self.find(field).unwrap().data
    }

    fn decode(&self, shape: Shape) -> Vec<f16> {
        let parts = IntParts {
            codes: self.bytes("qweight"),
            scales: self.bytes("scales"),
            zeros: Some(self.bytes("qzeros")),
            groups: self.find("g_idx").map(|tensor| &tensor.data[..]),
        };
        let mut out = vec![f16::NAN; shape.len().unwrap()];
        decode_rows(&self.format, shape, parts, 0..shape.rows, &mut out).unwrap();
        out
    }

    /// Compares with the numbers that the tool decodes to, in F16 too.
    fn check(&self) {
        let expected = self.find("dequant").unwrap();
        assert_eq!(expected.dtype, Dtype::F16);
        let (_, shape) = stack(expected);
        let expected = halves(expected);
        for (at, (value, expected)) in self.decode(shape).iter().zip(expected).enumerate() {
            assert_eq!(*value, expected, "{} {at}", self.case);
        }
    }
}

fn halves(tensor: &Tensor) -> Vec<f16> {
    let halves = tensor.data.as_chunks::<2>().0.iter();
    halves.map(|&bytes| f16::from_le_bytes(bytes)).collect()
}

const AWQ: [(&str, usize); 3] = [
    ("awq_32x16_row", 0),
    ("awq_32x32_g8", 8),
    ("awq_64x64_g32", 32),
];

#[test]
fn weights_of_autoawq() {
    let vectors = Vectors::read("integers");
    for (case, groups) in AWQ {
        Weight::new(&vectors, case, IntLayout::AwqGemm, 4, groups).check();
    }
}

#[test]
fn weights_of_autogptq() {
    let vectors = Vectors::read("integers");
    for bits in [2, 4, 8] {
        for order in ["plain", "sorted"] {
            let case = format!("gptq_v1_{bits}_{order}");
            Weight::new(&vectors, &case, IntLayout::Gptq, bits, 16).check();
        }
    }
}

/// The codes and zero points that went into the packing come out of it.
#[test]
fn weights_of_gptqmodel() {
    let vectors = Vectors::read("integers");
    for bits in [2, 4, 8] {
        let case = format!("gptq_v2_{bits}");
        let weight = Weight::new(&vectors, &case, IntLayout::GptqV2, bits, 16);
        let codes = weight.find("codes").unwrap();
        let (_, shape) = stack(codes);
        let (zeros, scales) = (
            weight.bytes("zeros"),
            halves(weight.find("scales").unwrap()),
        );
        for (at, value) in weight.decode(shape).into_iter().enumerate() {
            let (row, group) = (at / shape.cols, at % shape.cols / 16);
            let zero = zeros[row * (shape.cols / 16) + group];
            let steps = f32::from(codes.data[at]) - f32::from(zero);
            let scale = scales[group * shape.rows + row].to_f32();
            assert_eq!(value, f16::from_f32(steps * scale), "{case} {at}");
        }
    }
}

/// Where every group reaches from 0 to 15, scale and zero point follow from its numbers.
#[test]
fn weights_on_the_grid_encode_to_the_words_of_autoawq() {
    let vectors = Vectors::read("integers");
    let (case, groups) = ("awq_64x64_g32", 32);
    let weight = Weight::new(&vectors, case, IntLayout::AwqGemm, 4, groups);
    let shape = Shape::new(64, 64);
    let values = weight.decode(shape);
    let format = weight.format;
    let mut codes = vec![0; format.code_bytes(shape).unwrap()];
    let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
    let mut zeros = vec![0; format.zero_bytes(shape).unwrap()];
    let parts = IntPartsMut {
        codes: &mut codes,
        scales: &mut scales,
        zeros: Some(&mut zeros),
    };
    encode(&format, IntRule::Affine, shape, &values, parts).unwrap();
    assert_eq!(zeros, weight.bytes("qzeros"));
    assert_eq!(codes, weight.bytes("qweight"));
}

/// Four codes in three bytes, the first in the low bits; two E2M1 codes in one.
#[test]
fn six_bit_codes_of_quark_lie_as_in_compressed_tensors() {
    let vectors = Vectors::read("integers");
    let cases = [
        ("quark_e2m1", Format::MXFP4),
        ("quark_e2m3", Format::MXFP6_E2M3),
        ("quark_e3m2", Format::MXFP6_E3M2),
    ];
    for (case, format) in cases {
        let packed = &vectors.get(&format!("{case}.packed")).data;
        let expected = vectors.get(&format!("{case}.dequant"));
        let (_, shape) = stack(expected);
        let expected = expected.f32s();
        // Quark packs codes alone, without scales.
        let scales = vec![127; format.scale_bytes(shape).unwrap()];
        let rows = Rows {
            codes: packed,
            scales: &scales,
            global: 1.0,
        };
        let mut values = vec![f32::NAN; shape.len().unwrap()];
        decode_planes(&format, shape, rows, &mut values).unwrap();
        let mut codes = vec![0xaa; packed.len()];
        encode_codes(&format, shape, &expected, &scales, 1.0, &mut codes).unwrap();
        assert_eq!((&values, &codes), (&expected, packed), "{case}");
    }
}
