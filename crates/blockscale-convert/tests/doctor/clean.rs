//! Nothing is found in what is right.

use blockscale::layout::ScaleLayout;
use blockscale_convert::sample::SampleDialect;
use blockscale_model::dialect::Dialect;
use blockscale_model::plan::PlanOptions;
use blockscale_model::recipe::{Naming, Recipe, Target, builtin, generic};

use crate::opened::{Opened, above_info, findings, sample};

/// Every format in every dialect that has it.
const FORMATS: [(Target, Dialect); 15] = [
    (Target::Fp8Block, Dialect::Deepseek),
    (Target::Fp8Block, Dialect::CompressedTensors),
    (Target::Fp8BlockUe8m0, Dialect::Deepseek),
    (Target::Fp8Channel, Dialect::CompressedTensors),
    (Target::Fp8Channel, Dialect::Modelopt),
    (Target::Fp8Tensor, Dialect::CompressedTensors),
    (Target::Nvfp4, Dialect::Modelopt),
    (Target::Nvfp4, Dialect::CompressedTensors),
    (Target::Mxfp4, Dialect::CompressedTensors),
    (Target::Mxfp4, Dialect::Modelopt),
    (Target::Mxfp4, Dialect::GptOss),
    (Target::Mxfp8, Dialect::CompressedTensors),
    (Target::Mxfp8, Dialect::Modelopt),
    (Target::Bf16, Dialect::CompressedTensors),
    (Target::F32, Dialect::CompressedTensors),
];

fn to(target: Target, dialect: Dialect) -> Recipe {
    let recipe = generic(target, Vec::new(), Vec::new());
    let plain = matches!(target, Target::Bf16 | Target::F16 | Target::F32);
    Recipe {
        dialect: (!plain).then_some(dialect),
        ..recipe
    }
}

/// Converts, and says what the doctor finds in the result.
#[track_caller]
fn assert_clean(source: &Opened, recipe: &Recipe, layout: ScaleLayout) {
    let out = tempfile::tempdir().unwrap();
    let options = PlanOptions {
        layout,
        ..PlanOptions::default()
    };
    source.convert(recipe, &options, out.path());
    let found = above_info(&findings(out.path(), None));
    assert_eq!(found, [""; 0], "{} {:?}", recipe.name, recipe.dialect);
}

#[test]
fn the_sample_has_notes_at_most() {
    for dialect in [SampleDialect::Hf, SampleDialect::Native] {
        let dir = tempfile::tempdir().unwrap();
        sample(dir.path(), dialect);
        let found = findings(dir.path(), Some(dir.path()));
        assert_eq!(above_info(&found), [""; 0]);
    }
}

#[test]
fn conversions_to_every_format_have_notes_at_most() {
    let dir = tempfile::tempdir().unwrap();
    sample(dir.path(), SampleDialect::Hf);
    let source = Opened::new(dir.path());
    for (target, dialect) in FORMATS {
        assert_clean(&source, &to(target, dialect), ScaleLayout::Linear);
    }
}

#[test]
fn conversions_by_recipe_have_notes_at_most() {
    let dir = tempfile::tempdir().unwrap();
    sample(dir.path(), SampleDialect::Native);
    let source = Opened::new(dir.path());
    for name in ["deepseek-v4", "deepseek-v4-bf16"] {
        let recipe = builtin(name).unwrap();
        assert_clean(&source, &recipe, ScaleLayout::Linear);
    }
    let mut fused = builtin("deepseek-v4-bf16").unwrap();
    fused.fuse_modules().unwrap();
    assert_clean(&source, &fused, ScaleLayout::Linear);
    let spellings = [
        Naming::DeepseekV4,
        Naming::DeepseekV4HalfNative,
        Naming::DeepseekV4HfPerExpert,
        Naming::DeepseekV4Modelopt,
    ];
    for naming in spellings {
        let recipe = Recipe {
            naming,
            ..to(Target::Nvfp4, Dialect::Modelopt)
        };
        assert_clean(&source, &recipe, ScaleLayout::Linear);
    }
}

#[test]
fn a_layout_that_the_file_names_is_a_note() {
    let dir = tempfile::tempdir().unwrap();
    sample(dir.path(), SampleDialect::Hf);
    let source = Opened::new(dir.path());
    let recipe = to(Target::Nvfp4, Dialect::Modelopt);
    assert_clean(&source, &recipe, ScaleLayout::Tiles128x4);
}
