//! Every checkpoint to every format, and verified.

use blockscale_model::catalog::{Axes, Encoding};
use blockscale_model::dialect::Dialect;
use blockscale_model::recipe::{Recipe, Target, generic};

use crate::checkpoints::{FOLDERS, open, transposed};
use crate::support::bf16_bytes;

/// What each is converted to.
fn recipes() -> Vec<Recipe> {
    let usual = [
        Target::Nvfp4,
        Target::Mxfp4,
        Target::Mxfp8,
        Target::Fp8Block,
        Target::Fp8BlockUe8m0,
        Target::Fp8Channel,
        Target::Fp8Tensor,
    ];
    let mut recipes: Vec<Recipe> = usual.map(|to| generic(to, Vec::new(), Vec::new())).into();
    recipes.push(Recipe {
        dialect: Some(Dialect::CompressedTensors),
        ..generic(Target::Nvfp4, Vec::new(), Vec::new())
    });
    recipes
}

#[test]
fn every_checkpoint_converts_to_every_format_and_verifies() {
    for (folder, _) in FOLDERS {
        let source = open(folder);
        for recipe in recipes() {
            let out = tempfile::tempdir().unwrap();
            let output = source.converted(&recipe, out.path());
            assert_eq!(output.catalog.refusals, [], "{folder} {}", recipe.name);
            let report = source.verify(&output);
            assert!(
                report.passed(),
                "{folder} {}: {:?}",
                recipe.name,
                report.failures
            );
        }
    }
}

#[test]
fn every_checkpoint_becomes_bf16_as_it_decodes() {
    for (folder, _) in FOLDERS {
        let source = open(folder);
        let out = tempfile::tempdir().unwrap();
        let to_bf16 = generic(Target::Bf16, Vec::new(), Vec::new());
        let output = source.converted(&to_bf16, out.path());
        assert!(source.verify(&output).passed(), "{folder}");
        for weight in &source.catalog.weights {
            if !weight.encoding.is_scaled() {
                continue;
            }
            let written = output.bytes(&weight.name);
            let mut values = source.decode(&weight.name);
            if output.catalog.weight(&weight.name).unwrap().axes == Axes::InOut {
                values = transposed(&values, weight.shape.as_slice().try_into().unwrap());
            }
            assert_eq!(written, bf16_bytes(&values), "{folder}: {}", weight.name);
        }
        let left = output
            .catalog
            .weights
            .iter()
            .find(|w| w.encoding.is_scaled());
        assert_eq!(left.map(|w| w.name.as_str()), None, "{folder}");
    }
}

#[test]
fn integers_that_are_kept_keep_every_part_under_its_name() {
    for folder in ["ct-int-mxfp6", "mlx-affine"] {
        let source = open(folder);
        let out = tempfile::tempdir().unwrap();
        let text = "version = 1\nname = \"keep\"\n[[rule]]\nmatch = [\"*\"]\nto = \"keep\"";
        let output = source.converted(&Recipe::parse(text).unwrap(), out.path());
        for raw in &source.checkpoint.tensors {
            let copy = output.checkpoint.tensor(&raw.name);
            let copy = copy.unwrap_or_else(|| panic!("{folder}: no `{}`", raw.name));
            assert_eq!(
                (copy.dtype, &copy.shape),
                (raw.dtype, &raw.shape),
                "{}",
                raw.name
            );
            assert_eq!(
                output.bytes(&raw.name),
                source.bytes(&raw.name),
                "{}",
                raw.name
            );
        }
        let encodings = |opened: &crate::support::Opened| -> Vec<(String, Encoding)> {
            let weights = opened.catalog.weights.iter();
            let mut all: Vec<_> = weights.map(|w| (w.name.clone(), w.encoding)).collect();
            all.sort_by(|a, b| a.0.cmp(&b.0));
            all
        };
        assert_eq!(encodings(&output), encodings(&source), "{folder}");
    }
}
