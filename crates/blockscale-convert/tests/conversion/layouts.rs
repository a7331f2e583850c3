//! Weights written in a runtime's layout, read back, and never laid out twice.

use blockscale::format::Format;
use blockscale::layout::{RowShuffle, ScaleLayout};
use blockscale_convert::{ConvertError, ConvertOptions, VerifyOptions};
use blockscale_model::catalog::{BAKED_KEY, Encoding};
use blockscale_model::dialect::Dialect;
use blockscale_model::plan::PlanError;
use blockscale_model::recipe::{Target, generic};
use tempfile::tempdir;

use crate::files::data;
use crate::run::{Opened, to};

/// A checkpoint, the format it is to have, and a layout of that format.
const PAIRS: [(&str, Target, ScaleLayout); 5] = [
    (
        "modelopt-nvfp4-llama",
        Target::Nvfp4,
        ScaleLayout::Tiles128x4,
    ),
    ("modelopt-nvfp4-llama", Target::Nvfp4, ScaleLayout::Tiles8x4),
    (
        "modelopt-nvfp4-llama",
        Target::Nvfp4,
        ScaleLayout::TrtllmLinear(RowShuffle::By32),
    ),
    (
        "modelopt-fp8-llama",
        Target::Mxfp8,
        ScaleLayout::DeepGemmPacked,
    ),
    (
        "dsv4-official",
        Target::Fp8BlockUe8m0,
        ScaleLayout::DeepGemmPackedBlocks,
    ),
];

fn source(folder: &str) -> Opened {
    Opened::new(&data(&format!("checkpoints/{folder}")))
}

#[test]
fn what_is_laid_out_reads_back_as_it_was() {
    for (folder, target, layout) in PAIRS {
        let (linear, baked, undone) = (tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap());
        let source = source(folder);
        let options = ConvertOptions::default();
        source
            .convert(&source.plan(&to(target)), linear.path(), &options)
            .unwrap();
        let plan = source.plan_in(&to(target), layout).unwrap();
        source.convert(&plan, baked.path(), &options).unwrap();

        let (linear, baked) = (Opened::new(linear.path()), Opened::new(baked.path()));
        assert_eq!(baked.catalog.refusals, [], "{layout}");
        let report = linear.verify(&baked, &VerifyOptions::default());
        assert!(
            report.passed() && report.weights.iter().all(|w| w.exact),
            "{folder} {layout}"
        );

        // Converting what is laid out, without asking for a layout, undoes it.
        baked
            .convert(&baked.plan(&to(target)), undone.path(), &options)
            .unwrap();
        let undone = Opened::new(undone.path());
        for tensor in linear.tensor_names() {
            assert_eq!(
                undone.bytes(tensor),
                linear.bytes(tensor),
                "{layout}: {tensor}"
            );
        }
    }
}

#[test]
fn scales_lie_where_the_layout_says_and_padding_is_zero() {
    let out = tempdir().unwrap();
    let source = source("modelopt-nvfp4-llama");
    let plan = source
        .plan_in(&to(Target::Nvfp4), ScaleLayout::Tiles128x4)
        .unwrap();
    source
        .convert(&plan, out.path(), &ConvertOptions::default())
        .unwrap();

    let name = "model.layers.0.mlp.gate_proj.weight_scale"; // 128 rows of 16 scales
    let (rows, tiles) = (source.bytes(name), Opened::new(out.path()).bytes(name));
    assert_eq!(tiles.len(), 128 * 16);
    for (row, col) in [(0, 0), (1, 0), (33, 5), (127, 15)] {
        let offset = (col / 4) * 512 + (row % 32) * 16 + (row / 32) * 4 + col % 4;
        assert_eq!(
            tiles[offset],
            rows[row * 16 + col],
            "row {row}, column {col}"
        );
    }
}

#[test]
fn the_metadata_names_the_layout() {
    let out = tempdir().unwrap();
    let source = source("modelopt-nvfp4-llama");
    let plan = source
        .plan_in(&to(Target::Nvfp4), ScaleLayout::Tiles128x4)
        .unwrap();
    source
        .convert(&plan, out.path(), &ConvertOptions::default())
        .unwrap();
    let output = Opened::new(out.path());
    let text = &output.checkpoint.shards[0].header.metadata[BAKED_KEY];
    assert!(text.contains(r#""layout":"tiles-128x4""#), "{text}");
    let weight = output
        .catalog
        .weight("model.layers.0.mlp.gate_proj.weight")
        .unwrap();
    assert_eq!(weight.layout, ScaleLayout::Tiles128x4);
}

#[test]
fn a_layout_is_never_applied_twice() {
    let out = tempdir().unwrap();
    let source = source("modelopt-nvfp4-llama");
    let layout = ScaleLayout::Tiles128x4;
    let plan = source.plan_in(&to(Target::Nvfp4), layout).unwrap();
    source
        .convert(&plan, out.path(), &ConvertOptions::default())
        .unwrap();
    let baked = Opened::new(out.path());
    let error = baked.plan_in(&to(Target::Nvfp4), layout).unwrap_err();
    assert!(
        matches!(error, PlanError::AlreadyInLayout { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("tiles-128x4"), "{error}");
}

#[test]
fn a_layout_of_another_format_is_refused() {
    let source = source("modelopt-nvfp4-llama");
    for layout in [ScaleLayout::DeepGemmF32, ScaleLayout::DeepGemmPackedBlocks] {
        let error = source.plan_in(&to(Target::Nvfp4), layout).unwrap_err();
        assert!(matches!(error, PlanError::LayoutMisfit { .. }), "{error}");
    }
}

#[test]
fn a_limit_that_does_not_hold_a_plane_is_an_error() {
    let out = tempdir().unwrap();
    let source = source("modelopt-nvfp4-llama");
    let plan = source
        .plan_in(&to(Target::Nvfp4), ScaleLayout::Tiles128x4)
        .unwrap();
    let options = ConvertOptions {
        max_memory: 48 << 10,
        ..ConvertOptions::default()
    };
    let error = source.convert(&plan, out.path(), &options).unwrap_err();
    assert!(matches!(error, ConvertError::Memory { .. }), "{error}");
}

#[test]
fn a_divisor_that_is_kept_while_a_layout_is_undone_stays_a_divisor() {
    let (baked, out) = (tempdir().unwrap(), tempdir().unwrap());
    let options = ConvertOptions::default();
    let source = source("modelopt-nvfp4-llama");
    let mut recipe = to(Target::Nvfp4);
    recipe.dialect = Some(Dialect::CompressedTensors);
    let plan = source.plan_in(&recipe, ScaleLayout::Tiles128x4).unwrap();
    source.convert(&plan, baked.path(), &options).unwrap();
    let baked = Opened::new(baked.path());

    let kept = "model.layers.0.mlp.down_proj.weight";
    let decode_the_rest = generic(Target::Bf16, Vec::new(), vec![kept.parse().unwrap()]);
    baked
        .convert(&baked.plan(&decode_the_rest), out.path(), &options)
        .unwrap();
    let output = Opened::new(out.path());
    let weight = output.catalog.weight(kept).unwrap();
    assert_eq!(weight.encoding, Encoding::Block(Format::NVFP4_DIVISOR));
    assert_eq!(weight.layout, ScaleLayout::Linear);
    assert_eq!(output.decode(kept), baked.decode(kept));
    let names = output.tensor_names();
    assert!(
        names.contains(&"model.layers.0.mlp.down_proj.weight_global_scale"),
        "{names:?}"
    );
}
