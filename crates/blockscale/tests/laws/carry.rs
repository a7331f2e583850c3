//! Steps between formats that leave every value as it is: scales in another type or direction,
//! codes moved.

use blockscale::decode::{Rows, decode_rows};
use blockscale::format::Packing;
use blockscale::transcode::{
    TranscodeError, invert_global_scale, narrow_scales_to_e8m0, repack_codes, widen_scales,
};
use blockscale::{Element, Format, LenMismatch, ScaleElement, Shape};
use proptest::prelude::*;

use crate::common::{any_shape, code_at, elements};

#[test]
fn every_power_of_two_goes_to_e8m0_and_back() {
    let codes: Vec<u8> = (0..255).collect();
    for element in [ScaleElement::F32, ScaleElement::Bf16, ScaleElement::E8m0Fnu] {
        let mut wide = vec![0; codes.len() * 4];
        widen_scales(ScaleElement::E8m0Fnu, &codes, &mut wide).unwrap();
        let stored: Vec<u8> = match element {
            ScaleElement::F32 => wide,
            ScaleElement::Bf16 => wide
                .chunks(4)
                .flat_map(|bytes| bytes[2..].to_vec())
                .collect(),
            _ => codes.clone(),
        };
        let mut narrow = vec![0xaa; codes.len()];
        narrow_scales_to_e8m0(element, &stored, &mut narrow).unwrap();
        assert_eq!(narrow, codes, "{element}");
    }
}

#[test]
fn a_scale_that_is_no_power_of_two_is_named_and_not_rounded() {
    for value in [0.75_f32, 3.0, 0.0, -1.0, f32::from_bits(1), f32::INFINITY] {
        let stored = [1.0, value].map(f32::to_le_bytes);
        let error = narrow_scales_to_e8m0(ScaleElement::F32, stored.as_flattened(), &mut [0; 2]);
        assert_eq!(
            error,
            Err(TranscodeError::NotPowerOfTwo { index: 1, value })
        );
        let text = error.unwrap_err().to_string();
        assert!(
            text.starts_with("scale 1 is ") && text.contains("requantise"),
            "{text}"
        );
    }
    let error = narrow_scales_to_e8m0(ScaleElement::F32, &[0; 7], &mut [0; 2]);
    let (what, expected, found) = ("stored scales", 4, 7);
    assert_eq!(
        error,
        Err(LenMismatch {
            what,
            expected,
            found
        }
        .into())
    );
}

#[test]
fn a_global_scale_without_a_reciprocal_is_refused() {
    for value in [0.0, -1.0, f32::INFINITY, f32::MIN_POSITIVE / 8.0] {
        let error = TranscodeError::Scale { index: 0, value };
        assert_eq!(invert_global_scale(value), Err(error));
    }
    assert!(invert_global_scale(f32::NAN).is_err());
}

#[test]
fn some_global_scales_do_not_come_back_and_say_so() {
    let scales = (0..1000).map(|i| 1.0 + i as f32 / 1000.0);
    let (back, off): (Vec<f32>, Vec<f32>) =
        scales.partition(|&scale| invert_global_scale(scale).unwrap().comes_back);
    for scale in &back {
        assert_eq!(1.0 / (1.0 / scale), *scale);
    }
    for scale in &off {
        assert_eq!((1.0 / (1.0 / scale)).to_bits().abs_diff(scale.to_bits()), 1);
    }
    assert!(
        back.len() > 500 && off.len() > 50,
        "{} {}",
        back.len(),
        off.len()
    );
    assert!(back.contains(&1.0) && back.contains(&1.5));
}

proptest! {
    /// ModelOpt and compressed-tensors on the same codes and block scales.
    #[test]
    fn a_scale_in_the_other_direction_moves_values_by_two_ulps_at_most(
        codes in prop::collection::vec(any::<u8>(), 8),
        scale in 1_u8..0x7f,
        global in 1e-6_f32..1e6,
    ) {
        let values = |format: &Format, global| {
            let rows = Rows { codes: &codes, scales: &[scale], global };
            let mut out = [0.0_f32; 16];
            decode_rows(format, Shape::new(1, 16), rows, &mut out).map(|()| out)
        };
        let multiplied = values(&Format::NVFP4, global).unwrap();
        let inverse = invert_global_scale(global).unwrap().value;
        let divided = values(&Format::NVFP4_DIVISOR, inverse).unwrap();
        for (multiplied, divided) in multiplied.into_iter().zip(divided) {
            prop_assert!(multiplied.to_bits().abs_diff(divided.to_bits()) <= 2);
        }
    }

    #[test]
    fn codes_moved_apart_and_together_are_the_same_codes(
        element in prop::sample::select(&[Element::E2m1, Element::E2m3, Element::E4m3Fn][..]),
        shape in any_shape(),
        seed in any::<u8>(),
    ) {
        let dense = Format { element, ..Format::MXFP4 };
        let apart = dense.packed(Packing::Bytes);
        let bytes: Vec<u8> = (0..dense.code_bytes(shape).unwrap())
            .map(|i| (i as u8).wrapping_mul(73).wrapping_add(seed))
            .collect();
        let mut moved = vec![0xaa; apart.code_bytes(shape).unwrap()];
        repack_codes(&dense, &apart, shape, &bytes, &mut moved).unwrap();
        for (row, col) in elements(shape) {
            let code = code_at(&dense, shape, &bytes, row, col);
            prop_assert_eq!(moved[row * shape.cols + col], code);
        }
        let mut again = vec![0xaa; bytes.len()];
        repack_codes(&apart, &dense, shape, &moved, &mut again).unwrap();
        for (row, col) in elements(shape) {
            prop_assert_eq!(
                code_at(&dense, shape, &again, row, col),
                code_at(&dense, shape, &bytes, row, col)
            );
        }
    }
}

#[test]
fn codes_of_another_width_are_refused() {
    let (from, to) = (Format::MXFP6_E2M3, Format::MXFP4);
    let error = repack_codes(&from, &to, Shape::new(1, 4), &[0; 3], &mut [0; 2]);
    let (what, expected, found) = ("element bits", 4, 6);
    assert_eq!(
        error,
        Err(LenMismatch {
            what,
            expected,
            found
        })
    );
}
