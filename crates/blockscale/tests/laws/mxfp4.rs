//! MXFP4 to NVFP4 and to FP8 on the codes, against the numbers of both sides.

use blockscale::decode::{Rows, decode_rows};
use blockscale::transcode::{Mxfp4ToFp8, Mxfp4ToNvfp4, Nvfp4Blocks, mxfp4_to_fp8_block};
use blockscale::{Format, Shape};
use proptest::prelude::*;

fn decode(format: &Format, shape: Shape, codes: &[u8], scales: &[u8], global: f32) -> Vec<f32> {
    let rows = Rows {
        codes,
        scales,
        global,
    };
    let mut out = vec![0.0; shape.len().unwrap()];
    decode_rows(format, shape, rows, &mut out).unwrap();
    out
}

fn rows<'a>(codes: &'a [u8], scales: &'a [u8]) -> Rows<'a> {
    Rows {
        codes,
        scales,
        global: 1.0,
    }
}

fn same(a: &[f32], b: &[f32]) -> bool {
    let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    a.iter().zip(b).all(same)
}

/// Scales near a middle, with a few far from it; codes; odd widths included.
fn any_mxfp4() -> impl Strategy<Value = (Shape, Vec<u8>, Vec<u8>)> {
    (1_usize..5, 1_usize..150, 30_u8..200).prop_flat_map(|(rows, cols, middle)| {
        let shape = Shape::new(rows, cols);
        let scale = prop_oneof![
            8 => middle - 9..middle + 9,
            1 => any::<u8>(),
            1 => Just(0),
        ];
        let codes = prop::collection::vec(any::<u8>(), Format::MXFP4.code_bytes(shape).unwrap());
        let count = Format::MXFP4.scale_bytes(shape).unwrap();
        (Just(shape), codes, prop::collection::vec(scale, count))
    })
}

/// The spare half byte of an odd row is not an element.
fn clear_spare(shape: Shape, codes: &mut [u8]) {
    if !shape.cols.is_multiple_of(2) {
        for row in codes.chunks_mut(shape.cols.div_ceil(2)) {
            *row.last_mut().unwrap() &= 0xf;
        }
    }
}

proptest! {
    #[test]
    fn nvfp4_blocks_said_to_be_lossless_are(
        (shape, mut codes, scales) in any_mxfp4(),
    ) {
        clear_spare(shape, &mut codes);
        let before = decode(&Format::MXFP4, shape, &codes, &scales, 1.0);
        let plan = Mxfp4ToNvfp4::of_scales(&scales);
        let mut new_codes = vec![0; codes.len()];
        let mut new_scales = vec![0; Format::NVFP4.scale_bytes(shape).unwrap()];
        let mut fates = Vec::new();
        let counts = plan
            .rows(shape, rows(&codes, &scales), &mut new_codes, &mut new_scales, |_, lossless| {
                fates.push(lossless);
            })
            .unwrap();
        let after = decode(&Format::NVFP4, shape, &new_codes, &new_scales, plan.global());

        prop_assert_eq!(fates.len(), scales.len());
        prop_assert_eq!(fates.iter().filter(|&&lossless| !lossless).count(), counts.reencoded);
        let told = plan.blocks(&scales);
        prop_assert!(told.lossless <= counts.lossless && told.nan == counts.nan);
        let blocks_a_row = shape.cols.div_ceil(32);
        for (block, &lossless) in fates.iter().enumerate() {
            let first = block / blocks_a_row * shape.cols + block % blocks_a_row * 32;
            let last = (first + 32).min((block / blocks_a_row + 1) * shape.cols);
            let (before, after) = (&before[first..last], &after[first..last]);
            prop_assert_eq!(same(before, after), lossless, "{:?} {:?}", before, after);
        }
    }

    #[test]
    fn fp8_blocks_said_to_be_lossless_are((shape, mut codes, scales) in any_mxfp4()) {
        clear_spare(shape, &mut codes);
        let (from, to) = (Format::MXFP4, Format::FP8_BLOCK_UE8M0);
        let before = decode(&from, shape, &codes, &scales, 1.0);
        let mut new_codes = vec![0; to.code_bytes(shape).unwrap()];
        let mut new_scales = vec![0; to.scale_bytes(shape).unwrap()];
        let mut fates = Vec::new();
        let counts = mxfp4_to_fp8_block(
            shape, rows(&codes, &scales), &mut new_codes, &mut new_scales,
            |_, lossless| fates.push(lossless),
        )
        .unwrap();
        let after = decode(&to, shape, &new_codes, &new_scales, 1.0);
        let told = Mxfp4ToFp8::of_scales(shape, &scales).unwrap();
        prop_assert!(told.lossless <= counts.lossless && told.nan == counts.nan);
        prop_assert_eq!(fates.len(), new_scales.len());
        for (block, &lossless) in fates.iter().enumerate() {
            let cols = block * 128..shape.cols.min(block * 128 + 128);
            let is_same = (0..shape.rows).all(|row| {
                let at = row * shape.cols + cols.start..row * shape.cols + cols.end;
                same(&before[at.clone()], &after[at])
            });
            prop_assert_eq!(is_same, lossless, "block {}", block);
        }
    }
}

#[test]
fn seventeen_binades_stay_and_the_next_is_encoded_anew() {
    let scales = [140, 123, 122, 0xff, 0];
    let plan = Mxfp4ToNvfp4::of_scales(&scales);
    assert_eq!(plan.global(), 2_f32.powi(140 - 127 - 8));
    let told = plan.blocks(&scales);
    let (lossless, reencoded, nan) = (2, 2, 1);
    assert_eq!(
        told,
        Nvfp4Blocks {
            lossless,
            reencoded,
            nan
        }
    );

    // 6 in each column; of the last block nothing but zeros.
    let mut codes = [0x77; 80];
    codes[64..].fill(0x80);
    let shape = Shape::new(1, 160);
    let (mut new_codes, mut new_scales) = ([0; 80], [0; 10]);
    let counts = plan
        .rows(
            shape,
            rows(&codes, &scales),
            &mut new_codes,
            &mut new_scales,
            |_, _| (),
        )
        .unwrap();
    // 6 x 2^-10 is 3 x 2^-9.
    let (lossless, reencoded) = (4, 0);
    assert_eq!(
        counts,
        Nvfp4Blocks {
            lossless,
            reencoded,
            nan
        }
    );
    assert_eq!(
        new_scales,
        [0x78, 0x78, 0x01, 0x01, 0x01, 0x01, 0x7f, 0x7f, 0x38, 0x38]
    );
    assert_eq!(new_codes[32..48], [0x55; 16]);
    assert_eq!(new_codes[64..], codes[64..]);
}

#[test]
fn parts_of_a_tensor_agree_on_the_largest_scale() {
    let parts = [&[100, 90][..], &[0xff, 120], &[0]];
    let merged = parts
        .map(Mxfp4ToNvfp4::of_scales)
        .into_iter()
        .reduce(Mxfp4ToNvfp4::merge);
    assert_eq!(merged.unwrap(), Mxfp4ToNvfp4::of_scales(&parts.concat()));
    assert_eq!(Mxfp4ToNvfp4::of_scales(&[0, 0xff]).global(), 1.0);
}

#[test]
fn fourteen_binades_fit_a_block_of_fp8_and_the_fifteenth_does_not() {
    let told = |low| Mxfp4ToFp8::of_scales(Shape::new(1, 64), &[120, low]).unwrap();
    assert_eq!((told(106).lossless, told(106).rounded), (1, 0));
    assert_eq!((told(105).lossless, told(105).rounded), (0, 1));
    // Code 1, the smallest, under each.
    let result = |low| {
        let (mut codes, mut scales) = ([0; 64], [0]);
        let counts = mxfp4_to_fp8_block(
            Shape::new(1, 64),
            rows(&[0x17; 32], &[120, low]),
            &mut codes,
            &mut scales,
            |_, _| (),
        );
        (counts.unwrap().lossless, scales[0], codes[0], codes[33])
    };
    assert_eq!(result(106), (1, 114, 0x7c, 0x01));
    assert_eq!(result(105), (0, 114, 0x7c, 0x00));
}
