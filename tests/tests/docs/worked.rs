//! One row of numbers in the bytes of each format, to hold another reader or writer against.

use blockscale::encode::{Scheme, amax, encode_rows_with, global_scale_with};
use blockscale::ggml::{GgmlType, encode_rows};
use blockscale::{Format, GlobalScale, ScaleElement, Shape};

use crate::page;

/// 0, 0.1, -0.2, 0.3 and so on to 1.5, then zeros: 64 numbers.
fn values() -> [f32; 64] {
    std::array::from_fn(|i| match i {
        0 | 16.. => 0.0,
        _ if i % 2 == 0 => i as f32 / -10.0,
        _ => i as f32 / 10.0,
    })
}

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("`{}`", bytes.join(" "))
}

/// What a scheme stores for the first numbers of the row, two blocks of them.
fn encode(format: &Format, scheme: &Scheme, cols: usize) -> (f32, Vec<u8>, Vec<u8>) {
    let (values, shape) = (&values()[..cols], Shape::new(1, cols));
    let global = global_scale_with(format, scheme, amax(values));
    let mut codes = vec![0; format.code_bytes(shape).unwrap()];
    let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
    let (codes_of, scales_of) = (&mut codes[..], &mut scales[..]);
    encode_rows_with(format, scheme, shape, values, global, codes_of, scales_of).unwrap();
    (global, scales, codes)
}

pub(crate) fn table() -> String {
    let head = ["format", "second level", "scales", "codes"];
    let planes = |name: &str, format: Format, scheme: Scheme| {
        let cols = match format.scale {
            ScaleElement::E4m3Fn => 32,
            _ => 64,
        };
        let (global, scales, codes) = encode(&format, &scheme, cols);
        let second_level = match format.global {
            GlobalScale::None => String::new(),
            _ => hex(&global.to_le_bytes()),
        };
        // The rest of the codes are zeros.
        let first = &codes[..format.row_bytes(16)];
        [name.to_owned(), second_level, hex(&scales), hex(first)]
    };
    let block = |name: &str, ty: GgmlType, scale_bytes: usize| {
        let mut block = vec![0; ty.block_bytes()];
        let shape = Shape::new(1, ty.block_len());
        encode_rows(ty, shape, &values()[..ty.block_len()], &mut block).unwrap();
        let (scales, codes) = block.split_at(scale_bytes);
        let codes = match ty {
            GgmlType::Nvfp4 => &codes[..8],
            _ => codes,
        };
        [name.to_owned(), String::new(), hex(scales), hex(codes)]
    };
    let rows = [
        planes("NVFP4, ModelOpt", Format::NVFP4, Scheme::MODELOPT_NVFP4),
        planes(
            "NVFP4, compressed-tensors",
            Format::NVFP4_DIVISOR,
            Scheme::COMPRESSED_TENSORS_NVFP4,
        ),
        planes("NVFP4, torchao", Format::NVFP4, Scheme::TORCHAO_NVFP4),
        planes(
            "NVFP4, torchao, one level",
            Format::NVFP4_ONE_LEVEL,
            Scheme::TORCHAO_NVFP4,
        ),
        planes("MXFP4, any rule", Format::MXFP4, Scheme::DEFAULT),
        block("GGUF NVFP4", GgmlType::Nvfp4, 4),
        block("GGUF MXFP4", GgmlType::Mxfp4, 1),
        block("GGUF Q4_0", GgmlType::Q4_0, 2),
    ];
    page::table(head, &rows)
}

/// ModelOpt's own bytes of this row, and torchao's and ggml's scales.
#[test]
fn the_row_is_stored_as_published() {
    let codes = [0x10, 0x2a, 0x4b, 0x5c, 0x6d, 0x6e, 0x7e, 0x7f];
    for (format, scheme, global, scales) in [
        (
            Format::NVFP4,
            Scheme::MODELOPT_NVFP4,
            0x3a12_4925,
            [0x7e, 0x38],
        ),
        (
            Format::NVFP4,
            Scheme::TORCHAO_NVFP4,
            0x3a12_4925,
            [0x7e, 0x08],
        ),
        (
            Format::NVFP4_DIVISOR,
            Scheme::COMPRESSED_TENSORS_NVFP4,
            0x44e0_0000,
            [0x7e, 0x20],
        ),
        (
            Format::NVFP4_ONE_LEVEL,
            Scheme::TORCHAO_NVFP4,
            0x3f80_0000,
            [0x28, 0x08],
        ),
    ] {
        let (found, found_scales, found_codes) = encode(&format, &scheme, 32);
        assert_eq!(found.to_bits(), global, "{format}");
        assert_eq!(found_scales, scales, "{format}");
        assert_eq!(found_codes[..8], codes, "{format}");
        assert_eq!(found_codes[8..], [0; 8], "{format}");
    }
    let mut block = [0; 36];
    encode_rows(GgmlType::Nvfp4, Shape::new(1, 64), &values(), &mut block).unwrap();
    assert_eq!(block[..4], [0x28, 0, 0, 0]);
    assert_eq!(
        block[4..12],
        [0xd0, 0x61, 0xea, 0x62, 0xeb, 0x74, 0xfc, 0x75]
    );
}
