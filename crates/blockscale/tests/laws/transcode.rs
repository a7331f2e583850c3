//! Steps between formats that work on codes.

use blockscale::decode::{Rows, decode_rows};
use blockscale::element::{E4m3Fn, E8m0Fnu};
use blockscale::transcode::{
    TranscodeError, round_scales_up_to_pow2, spread_tensor_scale, widen_scales,
};
use blockscale::{Block, Format, LenMismatch, ScaleElement, Shape};
use proptest::prelude::*;

use crate::common::{effective_scale, elements, scale_index};

const BLOCK: Block = Block::Grid { rows: 3, cols: 5 };
const FROM: Format = Format {
    block: BLOCK,
    ..Format::FP8_BLOCK
};
const TO: Format = Format {
    block: BLOCK,
    ..Format::FP8_BLOCK_UE8M0
};

fn round_up(
    (from, to): (Format, Format),
    shape: Shape,
    codes: &[u8],
    scales: &[u8],
) -> Result<(usize, Vec<u8>, Vec<u8>), TranscodeError> {
    let mut new_codes = vec![0; to.code_bytes(shape).unwrap()];
    let mut new_scales = vec![0; to.scale_bytes(shape).unwrap()];
    let rows = Rows {
        codes,
        scales,
        global: 1.0,
    };
    round_scales_up_to_pow2(&from, &to, shape, rows, &mut new_codes, &mut new_scales)
        .map(|changed| (changed, new_codes, new_scales))
}

fn decode(format: &Format, shape: Shape, codes: &[u8], scales: &[u8]) -> Vec<f32> {
    let mut out = vec![0.0; shape.len().unwrap()];
    decode_rows(
        format,
        shape,
        Rows {
            codes,
            scales,
            global: 1.0,
        },
        &mut out,
    )
    .unwrap();
    out
}

fn any_weight() -> impl Strategy<Value = (Shape, Vec<u8>, Vec<f32>)> {
    (1_usize..9, 1_usize..14).prop_flat_map(|(rows, cols)| {
        let shape = Shape::new(rows, cols);
        let scale = prop_oneof![1e-3_f32..10.0, (-9_i32..3).prop_map(|e| 2_f32.powi(e))];
        let scales = prop::collection::vec(scale, FROM.scale_shape(shape).len().unwrap());
        (
            Just(shape),
            prop::collection::vec(any::<u8>(), rows * cols),
            scales,
        )
    })
}

fn bytes(scales: &[f32]) -> Vec<u8> {
    scales
        .iter()
        .flat_map(|scale| scale.to_le_bytes())
        .collect()
}

proptest! {
    #[test]
    fn only_blocks_whose_scale_changes_are_requantised((shape, codes, scales) in any_weight()) {
        let scales = bytes(&scales);
        let (changed, new_codes, new_scales) =
            round_up((FROM, TO), shape, &codes, &scales).unwrap();
        let values = decode(&FROM, shape, &codes, &scales);
        let mut changed_blocks = vec![false; new_scales.len()];
        for (i, ((row, col), value)) in elements(shape).zip(values).enumerate() {
            let block = scale_index(&FROM, shape, row, col);
            let old = effective_scale(&FROM, &scales, block, 1.0);
            let new = E8m0Fnu::from_bits(new_scales[block]).to_f32();
            prop_assert!(new >= old && new < 2.0 * old);
            let requantised = E4m3Fn::from_f32(value / new).to_bits();
            let expected = if new == old { codes[i] } else { requantised };
            prop_assert_eq!(new_codes[i], expected);
            changed_blocks[block] = new != old;
        }
        prop_assert_eq!(changed, changed_blocks.iter().filter(|&&changed| changed).count());
    }

    #[test]
    fn powers_of_two_are_the_same_in_f32_and_in_ue8m0((shape, codes, scales) in any_weight()) {
        let to_f32 = Format { scale: ScaleElement::F32, ..TO };
        let scales = bytes(&scales);
        let (_, codes_a, narrow) = round_up((FROM, TO), shape, &codes, &scales).unwrap();
        let (_, codes_b, wide) = round_up((FROM, to_f32), shape, &codes, &scales).unwrap();
        prop_assert_eq!(&codes_a, &codes_b);
        let mut widened = vec![0; wide.len()];
        widen_scales(ScaleElement::E8m0Fnu, &narrow, &mut widened).unwrap();
        prop_assert_eq!(wide, widened);
    }

    #[test]
    fn rounding_up_twice_changes_nothing_more((shape, codes, scales) in any_weight()) {
        let to_f32 = Format { scale: ScaleElement::F32, ..TO };
        let (_, codes, scales) = round_up((FROM, to_f32), shape, &codes, &bytes(&scales)).unwrap();
        let again = round_up((FROM, to_f32), shape, &codes, &scales).unwrap();
        prop_assert_eq!(again, (0, codes, scales));
    }
}

#[test]
fn a_zero_scale_becomes_the_smallest_and_its_block_zeros() {
    let shape = Shape::new(1, 3);
    let (changed, codes, scales) =
        round_up((FROM, TO), shape, &[0x38, 0xb8, 0x7f], &[0; 4]).unwrap();
    assert_eq!(
        (changed, codes, scales),
        (1, vec![0x00, 0x80, 0x7f], vec![0])
    );
}

#[test]
fn bf16_scales_are_rounded_up_too() {
    let from = Format {
        scale: ScaleElement::Bf16,
        ..FROM
    };
    // 1.5 and 0.25, in two blocks of five columns.
    let scales = [0xc0, 0x3f, 0x80, 0x3e];
    let (changed, codes, scales) =
        round_up((from, TO), Shape::new(1, 10), &[0x38; 10], &scales).unwrap();
    assert_eq!((changed, scales), (1, vec![128, 125]));
    assert_eq!(codes, [[0x34; 5], [0x38; 5]].concat());
}

#[test]
fn a_scale_that_no_power_of_two_can_stand_for_is_named() {
    let shape = Shape::new(1, 10);
    for bad in [-1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        match round_up((FROM, TO), shape, &[0; 10], &bytes(&[1.0, bad])) {
            Err(TranscodeError::Scale { index: 1, value }) => {
                assert!(value == bad || value.is_nan() && bad.is_nan());
            }
            other => panic!("{bad}: {other:?}"),
        }
    }
}

#[test]
fn formats_that_differ_in_more_than_the_scale_are_refused() {
    let shape = Shape::new(1, 10);
    let e5m2 = Format {
        element: Format::MXFP8_E5M2.element,
        ..TO
    };
    let refused = [
        (FROM, e5m2),
        (
            FROM,
            Format {
                block: Block::Row,
                ..TO
            },
        ),
        (
            FROM,
            Format {
                scale: ScaleElement::Bf16,
                ..TO
            },
        ),
        (
            FROM,
            Format {
                global: Format::NVFP4.global,
                ..TO
            },
        ),
        (Format::NVFP4, Format::NVFP4),
    ];
    for (from, to) in refused {
        let codes = vec![0; from.code_bytes(shape).unwrap()];
        let scales = vec![0; from.scale_bytes(shape).unwrap()];
        let error = round_up((from, to), shape, &codes, &scales).unwrap_err();
        assert_eq!(error, TranscodeError::Formats { from, to });
    }
}

#[test]
fn a_wrong_length_names_the_slice() {
    let shape = Shape::new(1, 10);
    let (codes, scales) = ([0; 10], bytes(&[1.0, 1.0]));
    let round = |codes_len: usize, scales_len: usize, new_codes: usize, new_scales: usize| {
        let rows = Rows {
            codes: &codes[..codes_len],
            scales: &scales[..scales_len],
            global: 1.0,
        };
        let (mut new_codes, mut new_scales) = (vec![0; new_codes], vec![0; new_scales]);
        round_scales_up_to_pow2(&FROM, &TO, shape, rows, &mut new_codes, &mut new_scales)
    };
    let error = |what, expected, found| {
        Err(TranscodeError::Len(LenMismatch {
            what,
            expected,
            found,
        }))
    };
    assert_eq!(round(10, 8, 10, 2), Ok(0));
    assert_eq!(round(9, 8, 10, 2), error("codes", 10, 9));
    assert_eq!(round(10, 4, 10, 2), error("scales", 8, 4));
    assert_eq!(round(10, 8, 11, 2), error("new codes", 10, 11));
    assert_eq!(round(10, 8, 10, 1), error("new scales", 2, 1));

    let error = |what, expected, found| {
        Err(LenMismatch {
            what,
            expected,
            found,
        })
    };
    assert_eq!(
        widen_scales(ScaleElement::E8m0Fnu, &[127; 2], &mut [0; 7]),
        error("scales", 8, 7)
    );
    let spread = |scale: &[u8], scales: &mut [u8]| {
        spread_tensor_scale(&Format::FP8_BLOCK, Shape::new(130, 129), scale, scales)
    };
    assert_eq!(spread(&[0; 2], &mut [0; 16]), error("scale", 4, 2));
    assert_eq!(spread(&[0; 4], &mut [0; 12]), error("scales", 16, 12));
}

#[test]
fn scales_of_every_type_widen_to_the_same_number() {
    let widen = |from, stored: &[u8]| {
        let mut scale = [0; 4];
        widen_scales(from, stored, &mut scale).map(|()| f32::from_le_bytes(scale))
    };
    assert_eq!(widen(ScaleElement::E4m3Fn, &[0x39]), Ok(1.125));
    assert_eq!(widen(ScaleElement::Bf16, &[0x90, 0x3f]), Ok(1.125));
    assert_eq!(widen(ScaleElement::F16, &[0x80, 0x3c]), Ok(1.125));
    assert_eq!(
        widen(ScaleElement::F32, &1.125_f32.to_le_bytes()),
        Ok(1.125)
    );
    let what = "stored scales";
    let error = LenMismatch {
        what,
        expected: 2,
        found: 3,
    };
    assert_eq!(widen(ScaleElement::Bf16, &[0; 3]), Err(error));
}

#[test]
fn widening_keeps_the_edges_of_the_range() {
    let mut scales = [0; 12];
    widen_scales(ScaleElement::E8m0Fnu, &[0, 254, 255], &mut scales).unwrap();
    let [smallest, largest, nan] = *scales.as_chunks::<4>().0 else {
        panic!("three scales")
    };
    assert_eq!(f32::from_le_bytes(smallest), 2_f32.powi(-127));
    assert_eq!(f32::from_le_bytes(largest), 2_f32.powi(127));
    assert!(f32::from_le_bytes(nan).is_nan());
}
