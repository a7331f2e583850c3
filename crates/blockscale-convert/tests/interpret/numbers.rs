//! Signs and second-level scales, from bytes alone.

use blockscale::Format;
use blockscale_convert::interpret::{
    Certainty, Channels, GlobalUse, Interpretation, NibbleOrder, SignForm, orders,
};

use crate::matrices::{damaged, minilm};

const FORMATS: [Format; 4] = [
    Format::NVFP4,
    Format::MXFP4,
    Format::MXFP8_E4M3,
    Format::FP8_BLOCK,
];

#[test]
fn twos_complement_shows_in_how_often_codes_occur() {
    let Some(matrices) = minilm() else {
        return;
    };
    for format in FORMATS {
        for matrix in &matrices {
            let encoded = matrix.encoded(&format);
            for sign in [SignForm::Magnitude, SignForm::TwosComplement] {
                let meant = Interpretation {
                    sign,
                    ..Interpretation::AS_STORED
                };
                let answer = damaged(&format, matrix.shape, &encoded, &meant, 16).sign();
                assert_eq!(
                    answer.certainty(),
                    Certainty::Decided,
                    "{} {format}",
                    matrix.name
                );
                assert_eq!(answer.best(), meant, "{} {format}", matrix.name);
            }
        }
    }
}

#[test]
fn an_inverted_global_scale_makes_numbers_that_no_weight_has() {
    let Some(matrices) = minilm() else {
        return;
    };
    for format in [Format::NVFP4, Format::NVFP4_DIVISOR] {
        for matrix in &matrices {
            let (codes, scales, global) = matrix.encoded(&format);
            for (stored, meant) in [
                (global, GlobalUse::AsStored),
                (1.0 / global, GlobalUse::Inverted),
            ] {
                let encoded = (codes.clone(), scales.clone(), stored);
                let sample = damaged(
                    &format,
                    matrix.shape,
                    &encoded,
                    &Interpretation::AS_STORED,
                    16,
                );
                let answer = sample.global_use(&Interpretation::AS_STORED).unwrap();
                assert_eq!(answer.best().global, meant, "{} {format}", matrix.name);
                assert_eq!(
                    answer.certainty(),
                    Certainty::Decided,
                    "{} {format}",
                    matrix.name
                );
            }
        }
    }
}

#[test]
fn two_damages_at_once_are_told_apart() {
    let Some(matrices) = minilm() else {
        return;
    };
    let matrix = &matrices[0];
    let format = Format::NVFP4;
    let (codes, scales, global) = matrix.encoded(&format);
    let encoded = (codes, scales, 1.0 / global);
    for order in orders(&format, matrix.shape) {
        let meant = Interpretation {
            sign: SignForm::TwosComplement,
            ..order
        };
        let sample = damaged(&format, matrix.shape, &encoded, &meant, 32);
        let (found, answers) = sample.judge(&Channels::default());
        let order = &answers[1];
        assert!(found.scales == meant.scales || order.equals().any(|o| o.scales == meant.scales));
        assert_eq!(found.sign, SignForm::TwosComplement, "{meant}");
        assert_eq!(found.global, GlobalUse::Inverted, "{meant}");
        assert_eq!(found.nibbles, NibbleOrder::Pairs, "{meant}");
    }
}

#[test]
fn a_right_matrix_is_read_as_stored() {
    let Some(matrices) = minilm() else {
        return;
    };
    for format in FORMATS {
        for matrix in &matrices {
            let encoded = matrix.encoded(&format);
            let sample = damaged(
                &format,
                matrix.shape,
                &encoded,
                &Interpretation::AS_STORED,
                16,
            );
            let (found, _) = sample.judge(&Channels::default());
            assert!(found.is_as_stored(), "{} {format}: {found}", matrix.name);
        }
    }
}

#[test]
fn restoring_undoes_every_damage_byte_for_byte() {
    let shape = blockscale::Shape::new(256, 512);
    for format in FORMATS {
        let fill = |len: Option<usize>| -> Vec<u8> {
            let bytes = 0..len.unwrap() as u32;
            bytes
                .map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8 % 253)
                .collect()
        };
        let (codes, scales) = (
            fill(format.code_bytes(shape)),
            fill(format.scale_bytes(shape)),
        );
        for order in orders(&format, shape) {
            for nibbles in [
                NibbleOrder::Pairs,
                NibbleOrder::Swapped,
                NibbleOrder::Halves,
            ] {
                for sign in [SignForm::Magnitude, SignForm::TwosComplement] {
                    let meant = Interpretation {
                        nibbles,
                        sign,
                        ..order
                    };
                    let damaged = meant.damage_codes(&format, shape, codes.clone()).unwrap();
                    let back = meant.restore_codes(&format, shape, damaged).unwrap();
                    assert!(back == codes, "{format} {meant}");
                    let damaged = meant.damage_scales(&format, shape, scales.clone()).unwrap();
                    let back = meant.restore_scales(&format, shape, damaged).unwrap();
                    assert!(back == scales, "{format} {meant}");
                }
            }
        }
    }
}
