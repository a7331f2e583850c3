//! Sizes and names of the formats.

use crate::common::{NAMED, any_format, any_shape, elements, scale_index};
use blockscale::format::Packing;
use blockscale::{Block, Element, Format, GlobalScale, ScaleElement, Shape};
use proptest::prelude::*;

proptest! {
    #[test]
    fn every_element_has_a_scale_and_every_scale_an_element(
        format in any_format(),
        shape in any_shape(),
    ) {
        let scales = format.scale_shape(shape).len().unwrap();
        let mut covered = vec![false; scales];
        for (row, col) in elements(shape) {
            covered[scale_index(&format, shape, row, col)] = true;
        }
        // Without elements a row or tensor still has its scale.
        let empty = shape.len() == Some(0);
        prop_assert!(empty || covered.iter().all(|&covered| covered));
        prop_assert_eq!(format.scale_bytes(shape), Some(scales * format.scale.bytes()));
    }

    #[test]
    fn scales_of_runs_add_up_to_those_of_the_whole(
        format in any_format().prop_filter("one scale is not split", |f| f.block != Block::Tensor),
        shape in any_shape(),
        blocks in 0_usize..4,
    ) {
        let first = (blocks * format.block_rows(shape.rows)).min(shape.rows);
        let rows = |rows| format.scale_shape(Shape::new(rows, shape.cols)).rows;
        prop_assert_eq!(rows(first) + rows(shape.rows - first), rows(shape.rows));
    }
}

#[test]
fn a_lone_last_nibble_takes_a_byte() {
    let bytes = |cols| Format::NVFP4.row_bytes(cols);
    assert_eq!([bytes(0), bytes(1), bytes(2), bytes(3)], [0, 1, 1, 2]);
    assert_eq!(Format::NVFP4.code_bytes(Shape::new(3, 5)), Some(9));
    assert_eq!(Format::FP8_BLOCK.code_bytes(Shape::new(3, 5)), Some(15));
}

#[test]
fn four_codes_of_six_bits_take_three_bytes() {
    let bytes = |cols| Format::MXFP6_E2M3.row_bytes(cols);
    assert_eq!([0, 1, 2, 3, 4, 5, 32].map(bytes), [0, 1, 2, 3, 3, 4, 24]);
    let format = Format::MXFP6_E2M3.packed(Packing::Bytes);
    assert_eq!(format.code_bytes(Shape::new(3, 5)), Some(15));
    // The number of bits of this row overflows, that of its bytes does not.
    assert_eq!(bytes(usize::MAX), usize::MAX / 8 * 6 + 6);
}

#[test]
fn edge_blocks_count_as_blocks() {
    let shape = Shape::new(130, 140);
    assert_eq!(Format::FP8_BLOCK.scale_shape(shape), Shape::new(2, 2));
    assert_eq!(Format::MXFP4.scale_shape(shape), Shape::new(130, 5));
    assert_eq!(Format::NVFP4.scale_shape(shape), Shape::new(130, 9));
    assert_eq!(Format::FP8_CHANNEL.scale_shape(shape), Shape::new(130, 1));
    assert_eq!(Format::FP8_TENSOR.scale_shape(shape), Shape::new(1, 1));
    assert_eq!(Format::FP8_BLOCK.scale_bytes(shape), Some(16));
}

#[test]
fn a_run_starts_at_a_multiple_of_the_rows_of_a_block() {
    assert_eq!(Format::NVFP4.block_rows(300), 1);
    assert_eq!(Format::FP8_BLOCK.block_rows(300), 128);
    assert_eq!(Format::FP8_CHANNEL.block_rows(300), 1);
    assert_eq!(Format::FP8_TENSOR.block_rows(300), 300);
    assert_eq!(Format::FP8_TENSOR.block_rows(0), 1);
}

#[test]
fn a_block_of_no_size_is_read_as_one_element() {
    let format = Format {
        block: Block::Grid { rows: 0, cols: 0 },
        ..Format::FP8_BLOCK
    };
    assert_eq!(format.scale_shape(Shape::new(3, 5)), Shape::new(3, 5));
    assert_eq!(format.block_rows(3), 1);
}

#[test]
fn sizes_that_overflow_are_none() {
    let shape = Shape::new(usize::MAX, 3);
    assert_eq!(shape.len(), None);
    for format in [Format::NVFP4, Format::FP8_BLOCK, Format::MXFP8_E5M2] {
        assert_eq!(format.code_bytes(shape), None, "{format}");
    }
    assert_eq!(Format::FP8_CHANNEL.scale_bytes(shape), None);
    assert_eq!(Format::FP8_TENSOR.scale_bytes(shape), Some(4));
}

#[test]
fn named_formats_are_told_apart_by_their_names() {
    let names = NAMED.map(|format| format.to_string());
    assert_eq!(
        names,
        [
            "NVFP4",
            "NVFP4 (divisor)",
            "NVFP4 (one level)",
            "MXFP4",
            "MXFP6 E2M3",
            "MXFP6 E3M2",
            "MXFP8 E4M3",
            "MXFP8 E5M2",
            "FP8 128x128",
            "FP8 128x128 UE8M0",
            "FP8 1x128",
            "FP8 1x128 UE8M0",
            "FP8 per channel",
            "FP8 per tensor",
        ]
    );
}

#[test]
fn a_format_without_a_name_is_described_by_its_parts() {
    let format = Format {
        element: Element::E5m2,
        packing: Packing::Dense,
        block: Block::Grid { rows: 1, cols: 64 },
        scale: ScaleElement::Bf16,
        global: GlobalScale::Divisor,
    };
    assert_eq!(format.to_string(), "E5M2 1x64, BF16 scale / global");
    let format = Format {
        scale: ScaleElement::F16,
        ..Format::FP8_CHANNEL
    };
    assert_eq!(format.to_string(), "E4M3 per channel, F16 scale");
    assert_eq!(
        Format::MXFP6_E3M2.packed(Packing::Bytes).to_string(),
        "E3M2 1x32, UE8M0 scale, one code a byte"
    );
}

#[test]
fn a_scale_is_read_from_its_little_endian_bytes() {
    let one = |scale: ScaleElement, bytes: &[u8]| {
        assert_eq!(bytes.len(), scale.bytes(), "{scale}");
        assert_eq!(scale.decode(bytes), 1.0, "{scale}");
    };
    one(ScaleElement::E4m3Fn, &[0x38]);
    one(ScaleElement::E8m0Fnu, &[127]);
    one(ScaleElement::F32, &[0, 0, 0x80, 0x3f]);
    one(ScaleElement::Bf16, &[0x80, 0x3f]);
    one(ScaleElement::F16, &[0, 0x3c]);
    assert!(ScaleElement::F32.decode(&[0, 0, 0x80]).is_nan());
}
