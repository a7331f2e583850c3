//! Gate and up of experts in one, as kernels of mixtures of experts read them.

use std::sync::atomic::AtomicBool;

use blockscale::layout::{RowShuffle, ScaleLayout, gate_up_eights_source, w13_source};
use blockscale::runtime::Runtime;
use blockscale_convert::{
    Baked, ConvertError, ConvertOptions, RuntimeOptions, RuntimeReport, VerifyOptions,
    runtime_check,
};
use blockscale_model::Dtype;
use blockscale_model::catalog::{GateUp, RowOrder};
use blockscale_model::dialect::Dialect;
use blockscale_model::plan::PlanError;
use blockscale_model::recipe::{Naming, Recipe, Target, generic};
use tempfile::{TempDir, tempdir};

use crate::checkpoint::{NewTensor, write_single};
use crate::files::data;
use crate::run::{Opened, to};

const W13: ScaleLayout = ScaleLayout::TrtllmMoeW13(RowShuffle::By32);

fn checkpoint(folder: &str) -> Opened {
    Opened::new(&data(&format!("checkpoints/{folder}")))
}

fn converted(source: &Opened, recipe: &Recipe, layout: ScaleLayout) -> (TempDir, Opened) {
    let out = tempdir().unwrap();
    let plan = source
        .plan_in(recipe, layout)
        .unwrap_or_else(|error| panic!("{error}"));
    source
        .convert(&plan, out.path(), &ConvertOptions::default())
        .unwrap();
    let output = Opened::new(out.path());
    assert_eq!(output.catalog.refusals, []);
    assert_eq!(
        output
            .catalog
            .findings
            .iter()
            .find(|f| f.code.starts_with("rows")),
        None
    );
    (out, output)
}

fn for_trtllm(opened: &Opened) -> RuntimeReport {
    let stop = AtomicBool::new(false);
    let options = RuntimeOptions::default();
    runtime_check(opened.weights(), Runtime::TrtllmMoe, &options, &(), &stop).unwrap()
}

fn assert_equal(source: &Opened, output: &Opened) {
    let report = source.verify(output, &VerifyOptions::default());
    let none: [String; 0] = [];
    assert_eq!(
        (&report.only_in_source, &report.only_in_output),
        (&none.into(), &Vec::new())
    );
    assert_eq!(report.failures, []);
    let rounded = report.weights.iter().find(|w| !w.exact);
    assert_eq!(rounded.map(|w| &w.tensor), None);
}

/// Every expert's weight in NVFP4, with the gate's global scale for its up.
fn shared_globals(folder: &str) -> (TempDir, Opened) {
    let source = checkpoint(folder);
    let (_dir, plain) = converted(&source, &to(Target::Bf16), ScaleLayout::Linear);
    converted(&plain, &to(Target::Nvfp4), ScaleLayout::Linear)
}

#[test]
fn w1_and_w3_are_laid_out_as_one_and_come_back_as_two() {
    for folder in ["dsv4-nvfp4", "modelopt-nvfp4-dsv4"] {
        let (_dir, source) = shared_globals(folder);
        let (_baked, baked) = converted(&source, &to(Target::Nvfp4), W13);
        let pairs: Vec<_> = baked
            .catalog
            .weights
            .iter()
            .filter(|w| w.layout == W13)
            .collect();
        assert_eq!(pairs.len(), 3, "{folder}");
        for weight in pairs {
            assert_eq!(weight.gate_up, GateUp::Ordered(RowOrder::GateFirst));
            assert_eq!(
                (weight.shape.as_slice(), weight.members.len()),
                (&[256, 128][..], 2)
            );
        }
        let w2 = ScaleLayout::TrtllmMoeW2(RowShuffle::By32);
        let downs = baked.catalog.weights.iter().filter(|w| w.layout == w2);
        assert_eq!(downs.count(), 3, "{folder}");
        assert_equal(&source, &baked);
        assert_equal(&baked, &source);

        let (_undone, undone) = converted(&baked, &to(Target::Nvfp4), ScaleLayout::Linear);
        assert_eq!(undone.tensor_names(), source.tensor_names(), "{folder}");
        for tensor in source.tensor_names() {
            assert_eq!(
                undone.bytes(tensor),
                source.bytes(tensor),
                "{folder}: {tensor}"
            );
        }
    }
}

#[test]
fn rows_and_scales_of_a_pair_lie_where_the_kernel_looks_for_them() {
    let (_dir, source) = shared_globals("dsv4-nvfp4");
    let (_baked, baked) = converted(&source, &to(Target::Nvfp4), W13);
    let expert = "layers.0.ffn.experts.2";
    let two = |part: &str| {
        let of = |w: &str| source.bytes(&format!("{expert}.{w}.{part}"));
        [of("w1"), of("w3")].concat()
    };
    let codes = baked.bytes(&format!("{expert}.w13.weight"));
    let scales = baked.bytes(&format!("{expert}.w13.weight_scale"));
    let (codes_in_rows, scales_in_rows) = (two("weight"), two("weight_scale"));
    for place in 0..256 {
        let row = w13_source(RowShuffle::By32, 256, place);
        assert_eq!(
            codes[place * 64..][..64],
            codes_in_rows[row * 64..][..64],
            "{place}"
        );
        for col in 0..8 {
            let tile = (place / 128 * 2 + col / 4) * 512;
            let at = tile + place % 32 * 16 + place % 128 / 32 * 4 + col % 4;
            assert_eq!(scales[at], scales_in_rows[row * 8 + col], "{place}, {col}");
        }
    }
}

#[test]
fn what_is_laid_out_for_a_runtime_is_read_by_its_kernels_from_the_file() {
    let (_dir, source) = shared_globals("dsv4-nvfp4");
    let (dir, baked) = converted(&source, &to(Target::Nvfp4), W13);
    let report = for_trtllm(&baked);
    assert!(report.passed(), "{report:#?}");
    let laid_out = report.weights.iter().filter(|w| w.baked == Baked::Stored);
    assert_eq!(laid_out.count(), 6);
    // The kernel's reading and the undone layout agree on damage too: it shows against the source.
    let tensor = "layers.0.ffn.experts.1.w13.weight_scale";
    let raw = baked.checkpoint.tensor(tensor).unwrap();
    let file = dir
        .path()
        .join(baked.checkpoint.shards[raw.shard].name.as_str());
    let mut bytes = std::fs::read(&file).unwrap();
    let at = raw.range.start as usize;
    assert_ne!(bytes[at], bytes[at + 4]);
    bytes.swap(at, at + 4);
    std::fs::write(&file, bytes).unwrap();
    let report = source.verify(&Opened::new(dir.path()), &VerifyOptions::default());
    let rounded: Vec<_> = report
        .weights
        .iter()
        .filter(|w| !w.exact)
        .map(|w| &w.tensor)
        .collect();
    assert_eq!(rounded, ["layers.0.ffn.experts.1.w3.weight"]);
}

#[test]
fn a_pair_is_never_laid_out_twice() {
    let (_dir, source) = shared_globals("dsv4-nvfp4");
    let (_baked, baked) = converted(&source, &to(Target::Nvfp4), W13);
    for layout in [W13, ScaleLayout::TrtllmMoeW2(RowShuffle::By32)] {
        let error = baked.plan_in(&to(Target::Nvfp4), layout).unwrap_err();
        assert!(
            matches!(error, PlanError::AlreadyInLayout { .. }),
            "{error}"
        );
    }
}

#[test]
fn halves_under_unlike_global_scales_are_refused_before_anything_is_written() {
    let dir = tempdir().unwrap();
    let expert = |name: &str, global: f32| {
        let name = |part: &str| format!("experts.0.{name}.{part}");
        let scales = vec![0x38; 128 * 4];
        [
            NewTensor::new(&name("weight"), Dtype::U8, &[128, 32], vec![0x12; 128 * 32]),
            NewTensor::new(&name("weight_scale"), Dtype::F8_E4M3, &[128, 4], scales),
            NewTensor::f32(&name("weight_scale_2"), &[], &[global]),
        ]
    };
    let write = |up: f32| {
        write_single(dir.path(), &[expert("w1", 0.5), expert("w3", up)].concat());
        Opened::new(dir.path())
    };
    let source = write(0.75);
    let out = tempdir().unwrap();
    let plan = source.plan_in(&to(Target::Nvfp4), W13).unwrap();
    let error = source
        .convert(&plan, out.path(), &ConvertOptions::default())
        .unwrap_err();
    assert!(
        matches!(error, ConvertError::GlobalScales { .. }),
        "{error}"
    );
    let text = error.to_string();
    for part in [
        "experts.0.w13.weight",
        "`experts.0.w1.weight` has 5e-1",
        "7.5e-1",
        "bf16 first",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
    let source = write(0.5);
    let (_out, baked) = converted(&source, &to(Target::Nvfp4), W13);
    assert_equal(&source, &baked);
}

#[test]
fn mxfp4_experts_are_laid_out_for_mega_moe() {
    let source = checkpoint("dsv4-official");
    let keep = generic(Target::Keep, Vec::new(), Vec::new());
    let (_baked, baked) = converted(&source, &keep, ScaleLayout::MegaMoeL1);
    let name = "layers.1.ffn.experts.0.w13.weight";
    let pair = baked.catalog.weight(name).unwrap();
    assert_eq!(
        (pair.layout, pair.shape.as_slice()),
        (ScaleLayout::MegaMoeL1, &[256, 128][..])
    );
    let half = |w: &str| source.bytes(&format!("layers.1.ffn.experts.0.{w}.weight"));
    let (rows, laid_out) = ([half("w1"), half("w3")].concat(), baked.bytes(name));
    for place in 0..256 {
        let row = gate_up_eights_source(256, place);
        assert_eq!(
            laid_out[place * 64..][..64],
            rows[row * 64..][..64],
            "{place}"
        );
    }
}

#[test]
fn experts_that_are_kept_come_back_from_their_layout_byte_for_byte() {
    let keep = generic(Target::Keep, Vec::new(), Vec::new());
    for (folder, layout) in [
        ("dsv4-official", ScaleLayout::MegaMoeL1),
        ("dsv4-nvfp4", W13),
    ] {
        let source = checkpoint(folder);
        let (_baked, baked) = converted(&source, &keep, layout);
        assert_equal(&source, &baked);
        let (_undone, undone) = converted(&baked, &keep, ScaleLayout::Linear);
        assert_eq!(undone.tensor_names(), source.tensor_names(), "{folder}");
        for tensor in source.tensor_names() {
            let raw = |o: &Opened| {
                let raw = o.checkpoint.tensor(tensor).unwrap();
                (raw.dtype, raw.shape.clone())
            };
            assert_eq!(raw(&undone), raw(&source), "{folder}: {tensor}");
            assert_eq!(
                undone.bytes(tensor),
                source.bytes(tensor),
                "{folder}: {tensor}"
            );
        }
    }
}

#[test]
fn an_interleaved_stack_is_put_gate_first_into_the_layout() {
    let source = checkpoint("gptoss-mxfp4");
    let experts = vec!["*experts*_proj".parse().unwrap()];
    let recipe = generic(Target::Nvfp4, experts, Vec::new());
    let (_baked, baked) = converted(&source, &recipe, W13);
    let name = "model.layers.0.mlp.experts.gate_up_proj";
    let codes = baked.bytes(&format!("{name}.weight"));
    let rows = source.bytes(&format!("{name}_blocks"));
    for expert in 0..3 {
        for place in 0..256 {
            let gate_first = w13_source(RowShuffle::By32, 256, place);
            let row = RowOrder::Interleaved.place(256, gate_first);
            let at = |row: usize| (expert * 256 + row) * 128..(expert * 256 + row + 1) * 128;
            assert_eq!(
                codes[at(place)],
                rows[at(row)],
                "expert {expert}, place {place}"
            );
        }
    }
    assert_equal(&source, &baked);
    let report = for_trtllm(&baked);
    assert!(report.passed() && report.weights.len() == 4, "{report:#?}");
}

#[test]
fn a_pair_joined_in_another_spelling_comes_back_in_any() {
    let (_dir, source) = shared_globals("modelopt-nvfp4-dsv4");
    let mut recipe = to(Target::Nvfp4);
    recipe.naming = Naming::DeepseekV4;
    recipe.dialect = Some(Dialect::Modelopt);
    let (_baked, baked) = converted(&source, &recipe, W13);
    assert!(
        baked
            .catalog
            .weight("layers.0.ffn.experts.0.w13.weight")
            .is_some()
    );
    assert_equal(&source, &baked);
    recipe.naming = Naming::DeepseekV4HfPerExpert;
    let (_undone, undone) = converted(&baked, &recipe, ScaleLayout::Linear);
    let gate = "model.layers.0.mlp.experts.0.gate_proj.weight";
    assert_eq!(undone.bytes(gate), source.bytes(gate));
    assert_equal(&source, &undone);
}
