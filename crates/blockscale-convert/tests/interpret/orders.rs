//! The order of scales, from bytes alone.

use blockscale::Format;
use blockscale_convert::interpret::{Certainty, Interpretation, ScaleUse, SignForm, orders};

use crate::matrices::{Rate, damaged, minilm};

/// Blocks of rows that are looked at, of the 384 or 1536 of a matrix.
const BLOCKS: usize = 24;

#[test]
fn the_order_of_scales_of_trained_matrices_is_told_from_bytes_alone() {
    let Some(matrices) = minilm() else {
        return;
    };
    for format in [Format::NVFP4, Format::MXFP4, Format::MXFP8_E4M3] {
        let mut rate = Rate::default();
        for matrix in &matrices {
            let encoded = matrix.encoded(&format);
            for meant in orders(&format, matrix.shape) {
                let sample = damaged(&format, matrix.shape, &encoded, &meant, BLOCKS);
                let answer = sample.scale_order(SignForm::Magnitude);
                // Where all rows are moved alike, no matrix shows by itself how.
                let right = answer.best() == meant || answer.equals().any(|other| other == meant);
                rate.add(&answer, right, || format!("{} {meant}", matrix.name));
            }
        }
        rate.print(&format!("scale order, {format}"));
        assert!(rate.right * 100 >= rate.cases * 95, "{format}");
        assert!(rate.right_of_decided * 100 >= rate.decided * 99, "{format}");
        assert!(rate.decided * 100 >= rate.cases * 95, "{format}");
    }
}

#[test]
fn nine_blocks_of_128_tell_a_transposed_plane_or_are_undecided() {
    let Some(matrices) = minilm() else {
        return;
    };
    let mut rate = Rate::default();
    for format in [Format::FP8_BLOCK, Format::FP8_BLOCK_UE8M0] {
        for matrix in &matrices {
            let encoded = matrix.encoded(&format);
            for meant in orders(&format, matrix.shape) {
                let sample = damaged(&format, matrix.shape, &encoded, &meant, usize::MAX);
                if sample.scales == encoded.1 && !meant.is_as_stored() {
                    continue; // As many powers of two this way as that: no damage.
                }
                let answer = sample.scale_order(SignForm::Magnitude);
                rate.add(&answer, answer.best() == meant, || {
                    format!("{} {meant}", matrix.name)
                });
            }
        }
        rate.print(&format!("transposed, {format}"));
    }
    assert!(rate.right_of_decided * 100 >= rate.decided * 99);
    assert!(rate.decided * 100 >= rate.cases * 30);
}

#[test]
fn whether_scales_multiply_or_divide_shows() {
    let Some(matrices) = minilm() else {
        return;
    };
    let divides = Interpretation {
        scale_use: ScaleUse::Divides,
        ..Interpretation::AS_STORED
    };
    for format in [
        Format::MXFP4,
        Format::MXFP8_E4M3,
        Format::FP8_BLOCK,
        Format::FP8_BLOCK_UE8M0,
    ] {
        let mut rate = Rate::default();
        for matrix in &matrices {
            let encoded = matrix.encoded(&format);
            for meant in [Interpretation::AS_STORED, divides] {
                let sample = damaged(&format, matrix.shape, &encoded, &meant, BLOCKS);
                let answer = sample.scale_order(SignForm::Magnitude);
                let right = answer.best().scale_use == meant.scale_use;
                rate.add(&answer, right, || format!("{} {meant}", matrix.name));
            }
        }
        rate.print(&format!("scale direction, {format}"));
        assert!(rate.right_of_decided * 100 >= rate.decided * 99, "{format}");
    }
}

#[test]
fn scales_that_are_all_alike_decide_nothing() {
    let shape = blockscale::Shape::new(128, 512);
    let format = Format::NVFP4;
    let codes = (0..128 * 256_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8);
    let sample = blockscale_convert::interpret::Sample::whole(
        format,
        shape,
        codes.collect(),
        vec![0x38; 128 * 32],
        1.0,
    );
    let answer = sample.scale_order(SignForm::Magnitude);
    assert_eq!(answer.certainty(), Certainty::Undecided);
    assert_eq!(answer.best(), Interpretation::AS_STORED);
}
