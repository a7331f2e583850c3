//! Blocks, rows and whole weights of zeros, of which a careless division makes NaN.

use blockscale::format::ScaleElement;
use blockscale_convert::Run;
use blockscale_model::catalog::Encoding;
use blockscale_model::recipe::Target;

use crate::checkpoint::{NewTensor, write_single};
use crate::run::{Opened, converted, to};

const NAME: &str = "lin.weight";

const FP8: [Target; 4] = [
    Target::Fp8Block,
    Target::Fp8BlockUe8m0,
    Target::Fp8Channel,
    Target::Fp8Tensor,
];

const BLOCKS: [Target; 7] = [
    Target::Fp8Block,
    Target::Fp8BlockUe8m0,
    Target::Fp8Channel,
    Target::Fp8Tensor,
    Target::Nvfp4,
    Target::Mxfp4,
    Target::Mxfp8,
];

/// Converts a BF16 matrix, checks codes and scales of the result, and that zeros are zeros; returns
/// the numbers it decodes to.
fn convert_with_zeros(rows: usize, cols: usize, values: &[f32], target: Target) -> Vec<f32> {
    let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_single(dir.path(), &[NewTensor::bf16(NAME, &[rows, cols], values)]);
    let (_, output) = converted(dir.path(), &to(target), out.path());
    assert_sound(&output, target);
    let decoded = output.decode(NAME);
    let pairs = values.iter().zip(&decoded);
    for (at, (value, decoded)) in pairs.enumerate().filter(|(_, (value, _))| **value == 0.0) {
        assert_eq!(decoded, value, "{target}: element {at}");
    }
    decoded
}

/// No code and no scale is NaN, no scale is zero.
fn assert_sound(output: &Opened, target: Target) {
    let run = Run {
        weight: output.catalog.position(NAME).unwrap(),
        matrix: 0,
        rows: 0..output.catalog.weight(NAME).unwrap().matrices().shape.rows,
    };
    let weights = output.weights();
    let Encoding::Block(format) = weights.weight(&run).encoding else {
        panic!("{target} wrote plain numbers");
    };
    let bytes = weights.read(&run).unwrap();
    if format.element.bits() == 8 {
        let nan = bytes
            .codes
            .iter()
            .position(|&code| format.element.decode(code).is_nan());
        assert_eq!(nan, None, "{target}: code");
    }
    let usable = |x: f32| x.is_finite() && x > 0.0;
    for (at, stored) in bytes.scales.chunks(format.scale.bytes()).enumerate() {
        let scale = format.scale.decode(stored);
        assert!(usable(scale), "{target}: scale {at} is {scale}");
        let is_nan_byte = format.scale == ScaleElement::E4m3Fn && stored[0] & 0x7f == 0x7f;
        assert!(!is_nan_byte, "{target}: scale {at} is {stored:x?}");
    }
    assert!(
        usable(bytes.global),
        "{target}: global scale {}",
        bytes.global
    );
}

#[test]
fn one_number_among_zeros_comes_back_and_stays_alone() {
    let mut values = vec![0.0; 130 * 130];
    values[0] = 1.0;
    for target in FP8 {
        let decoded = convert_with_zeros(130, 130, &values, target);
        assert!((decoded[0] - 1.0).abs() <= 1e-6, "{target}: {}", decoded[0]);
    }
}

#[test]
fn zero_blocks_and_a_zero_row_beside_others_stay_zero() {
    let mut values = vec![0.0; 4 * 64];
    // Row 0 begins with zeros, row 1 has nothing else, row 3 ends with them.
    (16..64).for_each(|col| values[col] = (col as f32 - 39.5) / 12.0);
    (0..64).for_each(|col| values[2 * 64 + col] = (col as f32 - 31.5) / 10.5);
    values[3 * 64..][..32].fill(0.001);
    for target in BLOCKS {
        let decoded = convert_with_zeros(4, 64, &values, target);
        assert!(decoded[16..64].iter().any(|x| *x != 0.0), "{target}");
        assert!(
            decoded[2 * 64..3 * 64].iter().any(|x| *x != 0.0),
            "{target}"
        );
    }
}

#[test]
fn a_weight_of_zeros_stays_a_weight_of_zeros() {
    for target in BLOCKS {
        assert_eq!(convert_with_zeros(2, 32, &[0.0; 64], target), [0.0; 64]);
    }
}
