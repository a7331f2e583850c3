//! Conversions that went wrong in the field, with the right answer known.

use blockscale::decode::{Rows, decode_rows};
use blockscale::element::E8m0Fnu;
use blockscale::stats::ErrorStats;
use blockscale::transcode::{round_scales_up_to_pow2, spread_tensor_scale};
use blockscale::{Format, ScaleElement, Shape};
use blockscale_tests::read_tensors;
use sha2::{Digest, Sha256};

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
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

/// A loader that knows only blocks filled the grid with ones: the model ran and talked nonsense.
#[test]
fn the_scale_of_a_tensor_fills_the_grid_of_blocks() {
    let tensors = read_tensors("conformance/field/per_tensor_scale.safetensors");
    let weight = &tensors["layers.0.attn.wo_a.weight"];
    let scale = &tensors["layers.0.attn.wo_a.weight_scale"];
    let shape = Shape::new(130, 129);

    let mut grid = vec![0; Format::FP8_BLOCK.scale_bytes(shape).unwrap()];
    spread_tensor_scale(&Format::FP8_BLOCK, shape, &scale.data, &mut grid).unwrap();
    assert_eq!(grid, 0.01171875_f32.to_le_bytes().repeat(4));

    let values = decode(&Format::FP8_BLOCK, shape, &weight.data, &grid);
    assert_eq!(
        values,
        decode(&Format::FP8_TENSOR, shape, &weight.data, &scale.data)
    );
    assert_eq!(
        (values[0], values[129 * 129 + 128]),
        (-0.328125, 39.0 / 4096.0)
    );
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    assert_eq!(
        sha256(&bytes),
        "cdb16823a4a721563661244532980b265ed083cd669a2a2740f943e4779f845f"
    );
}

/// Only the scales were rounded to powers of two: a block was left a third too large.
#[test]
fn blocks_whose_scale_is_rounded_up_are_requantised() {
    let tensors = read_tensors("conformance/field/block_scales_to_pow2.safetensors");
    let (weight, scale) = (
        &tensors["lin.weight"].data,
        &tensors["lin.weight_scale_inv"].data,
    );
    let shape = Shape::new(128, 256);
    let (from, to) = (Format::FP8_BLOCK, Format::FP8_BLOCK_UE8M0);

    let (mut codes, mut scales) = (vec![0; weight.len()], vec![0; 2]);
    let rows = Rows {
        codes: weight,
        scales: scale,
        global: 1.0,
    };
    let changed = round_scales_up_to_pow2(&from, &to, shape, rows, &mut codes, &mut scales);
    assert_eq!((changed, &scales[..]), (Ok(1), &[124, 122][..]));

    assert_eq!(
        sha256(&codes),
        "3e56cfdc13167e73beb047dbb3d8253e423162898a34fa3b61ed3d3ef85fe83b"
    );
    assert_eq!(
        codes
            .iter()
            .zip(weight)
            .filter(|(new, old)| new != old)
            .count(),
        16023
    );
    for (row, (new, old)) in codes.chunks(256).zip(weight.chunks(256)).enumerate() {
        assert_eq!(new[128..], old[128..], "row {row}");
    }
    let probes = [
        (0, 0, 8),
        (0, 1, 136),
        (1, 5, 249),
        (64, 100, 10),
        (127, 127, 18),
    ];
    for (row, col, code) in probes {
        assert_eq!(codes[row * 256 + col], code, "({row}, {col})");
    }

    let reference = decode(&from, shape, weight, scale);
    let error = |codes: &[u8]| {
        let output = decode(&to, shape, codes, &scales);
        ErrorStats::of_row(&reference, &output).unwrap().max_abs_err
    };
    assert_eq!(error(&codes), 2.0);
    assert_eq!(error(weight), 14.0);
}

#[test]
fn scales_round_up_on_their_bits() {
    let tensors = read_tensors("conformance/field/scales_to_pow2.safetensors");
    let scales = tensors["scales"].f32s();
    let expected: [&[u8]; 14] = [
        &[122],
        &[123],
        &[122],
        &[127],
        &[128],
        &[127],
        &[128],
        &[136],
        &[254],
        &[254],
        &[1],
        &[0, 1],
        &[0, 1],
        &[0, 1],
    ];
    assert_eq!(scales.len(), expected.len());
    for (&scale, expected) in scales.iter().zip(expected) {
        let code = E8m0Fnu::from_f32_ceil(scale).to_bits();
        assert!(
            expected.contains(&code),
            "{scale:e}: {code}, expected one of {expected:?}"
        );

        // The same through the conversion of a weight of one element.
        let from = Format {
            scale: ScaleElement::F32,
            ..Format::FP8_BLOCK_UE8M0
        };
        let bytes = scale.to_le_bytes();
        let rows = Rows {
            codes: &[0x38],
            scales: &bytes,
            global: 1.0,
        };
        let (mut codes, mut scales) = ([0], [0]);
        let (to, shape) = (Format::FP8_BLOCK_UE8M0, Shape::new(1, 1));
        round_scales_up_to_pow2(&from, &to, shape, rows, &mut codes, &mut scales).unwrap();
        assert_eq!(scales, [code]);
    }
}
