//! MXFP4 cast on its codes: what dry runs announce, manifests prove.

use blockscale::format::Format;
use blockscale_convert::{CastBlocks, ConvertOptions, VerifyOptions, predict_casts};
use blockscale_model::Dtype;
use blockscale_model::catalog::Encoding;
use blockscale_model::dialect::Dialect;
use blockscale_model::recipe::Target;
use tempfile::tempdir;

use crate::checkpoint::{NewTensor, noise, write_single};
use crate::files::data;
use crate::run::{Opened, to};

/// One MXFP4 weight of 128 rows and four blocks, whose scales are `scales` in turn.
fn mxfp4(scales: [u8; 4]) -> (tempfile::TempDir, Opened) {
    let codes: Vec<u8> = noise(7, 128 * 64)
        .iter()
        .map(|v| (v * 1e6) as i32 as u8)
        .collect();
    let dir = tempdir().unwrap();
    let tensors = [
        NewTensor::new("a.weight", Dtype::U8, &[128, 64], codes),
        NewTensor::new("a.weight_scale", Dtype::U8, &[128, 4], scales.repeat(128)),
    ];
    write_single(dir.path(), &tensors);
    let opened = Opened::new(dir.path());
    (dir, opened)
}

#[test]
fn experts_of_gpt_oss_become_nvfp4_and_fp8_without_loss() {
    let source = Opened::new(&data("checkpoints/gptoss-mxfp4"));
    for (target, dialect) in [
        (Target::Nvfp4, Dialect::Modelopt),
        (Target::Nvfp4, Dialect::CompressedTensors),
        (Target::Fp8BlockUe8m0, Dialect::Deepseek),
    ] {
        let mut recipe = to(target);
        recipe.dialect = Some(dialect);
        let plan = source.plan(&recipe);
        let predicted = predict_casts(source.weights(), &plan).unwrap();
        assert_eq!(predicted.len(), 4);
        assert!(
            predicted
                .iter()
                .all(|p| p.blocks.rounded == 0 && p.blocks.lossless > 0)
        );

        let out = tempdir().unwrap();
        let manifest = source
            .convert(&plan, out.path(), &ConvertOptions::default())
            .unwrap();
        let cast: Vec<_> = manifest
            .weights
            .iter()
            .filter(|w| w.blocks.is_some())
            .collect();
        assert_eq!(cast.len(), 4);
        assert!(cast.iter().all(|w| w.exact), "{dialect}");
        let output = Opened::new(out.path());
        assert!(source.verify(&output, &VerifyOptions::default()).passed());
    }
}

#[test]
fn nibbles_are_kept() {
    let (_dir, source) = mxfp4([120, 118, 121, 110]);
    let out = tempdir().unwrap();
    source
        .convert(
            &source.plan(&to(Target::Nvfp4)),
            out.path(),
            &ConvertOptions::default(),
        )
        .unwrap();
    let output = Opened::new(out.path());
    assert_eq!(output.bytes("a.weight"), source.bytes("a.weight"));
    assert_eq!(output.f32s("a.weight_scale_2"), [2_f32.powi(121 - 127 - 8)]);
    let scales = output.bytes("a.weight_scale");
    assert_eq!(
        scales[..8],
        [0x70, 0x70, 0x60, 0x60, 0x78, 0x78, 0x20, 0x20]
    );
}

#[test]
fn blocks_beyond_the_scale_range_are_announced_and_counted() {
    // 2^-9 is the smallest E4M3 scale: 18 below the largest is out of range.
    let (_dir, source) = mxfp4([120, 120, 120, 102]);
    let plan = source.plan(&to(Target::Nvfp4));
    let predicted = predict_casts(source.weights(), &plan).unwrap();
    assert_eq!(
        predicted[0].blocks,
        CastBlocks {
            lossless: 384,
            rounded: 128
        }
    );
    let out = tempdir().unwrap();
    let manifest = source
        .convert(&plan, out.path(), &ConvertOptions::default())
        .unwrap();
    let blocks = manifest.weights[0].blocks.unwrap();
    assert_eq!(blocks.lossless + blocks.rounded, 512);
    assert!(blocks.lossless >= 384);
}

#[test]
fn several_runs_cast_by_the_scales_of_all() {
    let (_dir, source) = mxfp4([120, 118, 121, 110]);
    let plan = source.plan(&to(Target::Nvfp4));
    let whole = tempdir().unwrap();
    source
        .convert(&plan, whole.path(), &ConvertOptions::default())
        .unwrap();
    let pieces = tempdir().unwrap();
    let options = ConvertOptions {
        max_memory: 64 << 10,
        ..ConvertOptions::default()
    };
    source.convert(&plan, pieces.path(), &options).unwrap();
    crate::files::assert_same(whole.path(), pieces.path());
}

#[test]
fn the_output_says_what_it_is() {
    let (_dir, source) = mxfp4([120; 4]);
    let out = tempdir().unwrap();
    source
        .convert(
            &source.plan(&to(Target::Nvfp4)),
            out.path(),
            &ConvertOptions::default(),
        )
        .unwrap();
    let weight = Opened::new(out.path()).catalog.weights[0].clone();
    assert_eq!(weight.encoding, Encoding::Block(Format::NVFP4));
}
