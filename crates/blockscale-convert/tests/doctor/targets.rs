//! What a consumer does with a checkpoint.

use blockscale_convert::sample::SampleDialect;
use blockscale_model::dialect::Dialect;
use blockscale_model::doctor::Target as Consumer;
use blockscale_model::plan::PlanOptions;
use blockscale_model::recipe::{Recipe, Target, builtin, generic};

use crate::opened::{Opened, by_rules, data, sample};

fn codes(path: &std::path::Path, consumer: &str) -> Vec<&'static str> {
    let target = Consumer::named(consumer).unwrap();
    let found = by_rules(path, None, Some(&target));
    let of_target = found.iter().map(|d| d.rule.code);
    of_target.filter(|code| code.starts_with("BS09")).collect()
}

#[test]
fn what_was_measured_of_consumers_is_said() {
    let expected = [
        ("ct-nvfp4a16-llama", "transformers", vec!["BS092"]),
        ("modelopt-fp8-llama", "transformers@5.24.0", vec!["BS090"]),
        ("modelopt-nvfp4-llama", "transformers", vec!["BS091"]),
        ("ct-nvfp4-dsv4", "transformers", vec!["BS090", "BS091"]),
        ("dsv4-nvfp4", "transformers", vec!["BS091", "BS092"]),
        ("dsv4-official", "transformers", vec!["BS092"]),
        ("modelopt-nvfp4-llama", "mlx-lm", vec!["BS091"]),
        ("mlx-nvfp4-llama", "mlx-lm", vec!["BS092"]),
        ("dsv4-nvfp4", "vllm", vec!["BS092"]),
        ("ct-nvfp4a16-llama", "llama.cpp", vec!["BS091"]),
        ("modelopt-nvfp4-llama", "llama.cpp", vec!["BS092"]),
        ("ct-nvfp4a16-llama", "tensorrt-llm", vec!["BS091"]),
        ("modelopt-nvfp4-llama", "compressed-tensors", vec!["BS092"]),
    ];
    for (folder, consumer, codes_of_case) in expected {
        let mut found = codes(&data("checkpoints").join(folder), consumer);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, codes_of_case, "{folder} for {consumer}");
    }
}

#[test]
fn e8m0_block_scales_are_read_as_numbers_by_mlx() {
    let dir = tempfile::tempdir().unwrap();
    let (plain, out) = (dir.path().join("a"), dir.path().join("b"));
    let source = Opened::new(&data("checkpoints/hf-fp8-dsv3"));
    let to = |target| generic(target, Vec::new(), Vec::new());
    source.convert(&to(Target::Fp8BlockUe8m0), &PlanOptions::default(), &plain);
    assert!(codes(&plain, "mlx-lm").contains(&"BS090"));
    let made = Opened::new(&plain);
    made.convert(&to(Target::Fp8Block), &PlanOptions::default(), &out);
    assert!(!codes(&out, "mlx-lm").contains(&"BS090"));
}

#[test]
fn the_recipe_named_for_vllm_is_one_that_it_loads() {
    let dir = tempfile::tempdir().unwrap();
    let (source, out) = (dir.path().join("source"), dir.path().join("out"));
    sample(&source, SampleDialect::Native);
    let before = codes(&source, "vllm");
    assert!(before.contains(&"BS091"), "{before:?}");
    let recipe = builtin("deepseek-v4").unwrap();
    Opened::new(&source).convert(&recipe, &PlanOptions::default(), &out);
    let after = codes(&out, "vllm");
    assert!(after.iter().all(|code| *code == "BS092"), "{after:?}");
}

#[test]
fn the_dialect_named_for_llama_cpp_is_one_that_it_loads() {
    let out = tempfile::tempdir().unwrap();
    let source = Opened::new(&data("checkpoints/ct-nvfp4a16-llama"));
    let recipe = Recipe {
        dialect: Some(Dialect::Modelopt),
        ..generic(Target::Nvfp4, Vec::new(), Vec::new())
    };
    source.convert(&recipe, &PlanOptions::default(), out.path());
    assert_eq!(codes(out.path(), "llama.cpp"), ["BS092"]);
}
