//! DeepGEMM's layouts of scales that are given by a formula: MN-major F32, packed, and packed from
//! blocks of 128 rows.

use blockscale::layout::transform_sf::{
    Arch, Dims, Operand, Recipe, Request, ScaleTensor, SfDtype, Ue8m0Cast, plan,
};
use blockscale::layout::{ScaleLayout, Stack};
use blockscale::{ScaleElement, Shape};

use crate::common::{Vectors, check, f32_of, indices, permute, sha256};

pub(crate) const TESTS: [fn(); 3] = [
    f32_scales_column_by_column,
    packed_scales_of_rows,
    packed_scales_of_blocks_of_128_rows,
];

/// Exponent bytes of the input, matrix by matrix.
fn exponents(matrices: usize, rows: usize, cols: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for matrix in 0..matrices {
        for row in 0..rows {
            for col in 0..cols {
                bytes.push(97 + ((17 * matrix + 7 * row + 13 * col) % 61) as u8);
            }
        }
    }
    bytes
}

/// Sizes in a key such as `b2_mn128_k4` or `g1_r3_k5`.
fn sizes(key: &str) -> (usize, usize, usize) {
    let numbers: Vec<usize> = key
        .split('_')
        .map(|part| {
            part.trim_start_matches(char::is_alphabetic)
                .parse()
                .unwrap()
        })
        .collect();
    match numbers[..] {
        [rows, cols] => (1, rows, cols),
        [matrices, rows, cols] => (matrices, rows, cols),
        _ => panic!("{key}"),
    }
}

/// Compares memory, whole or by its ends and hash, and the tensor that DeepGEMM makes of it.
fn check_memory(family: &str, layout: ScaleLayout, request: Request) -> usize {
    let vectors = Vectors::layouts();
    let cases = vectors.cases(family, "shape");
    for case in &cases {
        let key = case.strip_prefix(family).unwrap().trim_start_matches('.');
        let (matrices, rows, cols) = sizes(key);
        let linear = exponents(matrices, rows, cols);
        let floats = f32_of(&linear);
        let rows_of_weight = match layout {
            ScaleLayout::DeepGemmPackedBlocks => rows * 128,
            _ => rows,
        };
        let stack = Stack::new(matrices, Shape::new(rows_of_weight, cols));

        let memory = permute(layout, stack, ScaleElement::F32, &floats);
        if let Some(expected) = vectors.find(&format!("{case}.memory")) {
            check(
                case,
                layout,
                stack,
                ScaleElement::F32,
                &floats,
                &expected.data,
            );
            if layout != ScaleLayout::DeepGemmF32 {
                let bytes = ScaleElement::E8m0Fnu;
                check(case, layout, stack, bytes, &linear, &expected.data);
            }
        } else {
            let head = vectors.get(&format!("{case}.memory_head"));
            let tail = vectors.get(&format!("{case}.memory_tail"));
            assert!(memory.starts_with(&head.data), "{case}");
            assert!(memory.ends_with(&tail.data), "{case}");
            let (_, hash) = SHA_256.iter().find(|(name, _)| name == case).unwrap();
            assert_eq!(sha256(&memory), *hash, "{case}");
        }

        let row_by_row = [rows * cols, cols, 1];
        let shape = [matrices, rows, cols];
        let dims = vectors.get(&format!("{case}.shape")).shape[0];
        let scales = ScaleTensor {
            dtype: SfDtype::F32,
            shape: &shape[3 - dims..],
            strides: &row_by_row[3 - dims..],
        };
        let request = Request {
            rows: rows_of_weight,
            cols: cols * 128,
            groups: (dims == 3).then_some(matrices),
            ..request
        };
        let transform = plan(&scales, &request).unwrap();
        let expected = |field: &str| match indices(vectors.get(&format!("{case}.{field}")))[..] {
            [rows, cols] => Dims::two(rows, cols),
            [groups, rows, cols] => Dims::three(groups, rows, cols),
            _ => panic!("{case}"),
        };
        assert_eq!(transform.shape, expected("shape"), "{case}");
        assert_eq!(transform.strides, expected("strides"), "{case}");
        let mut out = vec![0xa5; transform.memory_bytes().unwrap()];
        transform.execute(&floats, &mut out).unwrap();
        assert_eq!(out, memory, "{case}");
    }
    cases.len()
}

const REQUEST: Request = Request {
    rows: 0,
    cols: 0,
    recipe: Recipe::Product {
        a_rows: 1,
        b_rows: 128,
        cols: 128,
    },
    groups: None,
    operand: Some(Operand::A),
    arch: Arch::Sm90,
    ue8m0_cast: Ue8m0Cast::Enabled,
};

#[test]
fn f32_scales_column_by_column() {
    let count = check_memory("deepgemm_f32", ScaleLayout::DeepGemmF32, REQUEST);
    assert_eq!(count, 22);
}

#[test]
fn packed_scales_of_rows() {
    let sm100 = Request {
        arch: Arch::Sm100,
        ..REQUEST
    };
    let count = check_memory("deepgemm_packed", ScaleLayout::DeepGemmPacked, sm100);
    assert_eq!(count, 22);
}

#[test]
fn packed_scales_of_blocks_of_128_rows() {
    let blocks = Request {
        arch: Arch::Sm100,
        operand: Some(Operand::B),
        ..REQUEST
    };
    let layout = ScaleLayout::DeepGemmPackedBlocks;
    let count = check_memory("deepgemm_broadcast128", layout, blocks);
    assert_eq!(count, 2);
}

/// Of the buffers that are too long to store.
const SHA_256: [(&str, &str); 10] = [
    (
        "deepgemm_f32.mn128_k56",
        "699b5405939a254ac13ff449fded0191f6975c81fc24cefcb5823c5d8bdc0426",
    ),
    (
        "deepgemm_f32.mn130_k56",
        "90682667d3c7166a8fc43c89a42697ceb737473d26c4901999d8f71127559a87",
    ),
    (
        "deepgemm_f32.mn7168_k1",
        "b00ca3d643d1da9a78f99d9599c9740f9616b35fb0520d5746e2aceb63df4123",
    ),
    (
        "deepgemm_f32.mn7168_k4",
        "7591fb2231c0127e1629135a164cc62ec290283403ca288bd8645898f19e4dc0",
    ),
    (
        "deepgemm_f32.mn7168_k56",
        "d8b4be4186860aa0491544452b9c60cd4927db29485bea20ec3d534c45a3d797",
    ),
    (
        "deepgemm_f32.mn7168_k7",
        "6f50fdd1b49be5695c3d359d8432b0a86fac1141e170590411c46e9749edf4f9",
    ),
    (
        "deepgemm_packed.mn7168_k1",
        "c73e069d61a70b84263671d8431743557eb49ed0193a54659987101c39d3efe6",
    ),
    (
        "deepgemm_packed.mn7168_k4",
        "b24f1b2e12354585f55a7c02b95bc40ed67f1b332793fb4b4ac9272e2e64fd6f",
    ),
    (
        "deepgemm_packed.mn7168_k56",
        "b3f9901fd863d4c17af4cb7e6912f7a8bb4437ed0b1627f5ab854bcd5deef187",
    ),
    (
        "deepgemm_packed.mn7168_k7",
        "cbf7cb3d8f6bf6b039229b2baaf49e7f2077fabdf9f8a71138a7df45a6eb1e06",
    ),
];
