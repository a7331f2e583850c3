//! The rows of gate and up from one order to another, and experts that lie on their side.

use std::path::Path;

use blockscale_convert::{ConvertOptions, VerifyOptions, predict_casts};
use blockscale_model::Dtype;
use blockscale_model::catalog::{Axes, GateUp, RowOrder};
use blockscale_model::dialect::Dialect;
use blockscale_model::recipe::{Naming, Recipe, Target, generic};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::checkpoint::{NewTensor, bf16_bytes, write_single};
use crate::files::{self, assert_same, data, sha256};
use crate::run::{Opened, to};

const STACK: &str = "model.layers.0.mlp.experts.gate_up_proj";

fn known(case: &str) -> Value {
    files::json(&data("cases/expected.json"))["decoded"][case].clone()
}

fn c16() -> Opened {
    Opened::new(&data("cases/C16"))
}

fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The experts to `target` as a dialect writes them; not their biases, which have two axes too.
fn experts(target: Target, dialect: Dialect) -> Recipe {
    let names = [
        "*experts*_proj",
        "*experts*_proj.weight",
        "*experts*.w?.weight",
    ];
    let names = names.iter().map(|name| name.parse().unwrap()).collect();
    Recipe {
        dialect: Some(dialect),
        ..generic(target, names, Vec::new())
    }
}

fn converted(source: &Opened, recipe: &Recipe) -> (TempDir, Opened) {
    let out = tempdir().unwrap();
    let options = ConvertOptions::default();
    source
        .convert(&source.plan(recipe), out.path(), &options)
        .unwrap();
    let output = Opened::new(out.path());
    (out, output)
}

/// Every weight of one is in the other, and is the same to the bit.
fn assert_equal(a: &Opened, b: &Opened) {
    for (a, b) in [(a, b), (b, a)] {
        let report = a.verify(b, &VerifyOptions::default());
        let none: [String; 0] = [];
        assert_eq!(
            (&report.only_in_source, &report.only_in_output),
            (&none.into(), &Vec::new())
        );
        assert_eq!(report.failures, []);
        let rounded = report.weights.iter().find(|w| !w.exact);
        assert_eq!(rounded.map(|w| &w.tensor), None);
    }
}

/// Of each matrix of `rows` rows, those of one half, gate first.
fn half(values: &[f32], rows: usize, cols: usize, which: usize) -> Vec<f32> {
    let matrices = values.chunks_exact(rows * cols);
    let half = rows / 2 * cols;
    let of = |matrix: &[f32]| matrix[which * half..(which + 1) * half].to_vec();
    matrices.flat_map(of).collect()
}

#[test]
fn gate_and_up_of_gpt_oss_are_put_on_top_of_each_other_with_their_bias() {
    let source = c16();
    for dialect in [Dialect::CompressedTensors, Dialect::Modelopt] {
        let (_out, output) = converted(&source, &experts(Target::Mxfp4, dialect));
        let name = format!("{STACK}.weight");
        let weight = output.catalog.weight(&name).unwrap();
        assert_eq!(weight.gate_up, GateUp::Ordered(RowOrder::GateFirst));
        let values = output.decode(&name);
        let bias = output.decode(&format!("{STACK}_bias"));
        for (i, which) in ["gate", "up"].into_iter().enumerate() {
            let rows = f32_bytes(&half(&values, 4, 64, i));
            assert_eq!(sha256(&rows), known("C16 halves")[which]["sha256_f32"]);
            let rows = f32_bytes(&half(&bias, 4, 1, i));
            assert_eq!(sha256(&rows), known("C16 bias halves")[which]["sha256_f32"]);
        }
        assert_equal(&source, &output);

        let (_back, back) = converted(&output, &experts(Target::Mxfp4, Dialect::GptOss));
        for part in ["_blocks", "_scales", "_bias"] {
            let name = format!("{STACK}{part}");
            assert_eq!(back.bytes(&name), source.bytes(&name), "{part}");
        }
    }
}

#[test]
fn plain_experts_of_gpt_oss_are_transposed_as_its_class_loads_them() {
    let source = c16();
    for (target, dtype, hash) in [
        (Target::Bf16, Dtype::BF16, "sha256_bf16"),
        (Target::F32, Dtype::F32, "sha256_f32"),
    ] {
        let (_out, output) = converted(&source, &to(target));
        let known = &known("C16 transposed")[STACK];
        let raw = output.checkpoint.tensor(STACK).unwrap();
        assert_eq!(
            (raw.dtype, json!(raw.shape)),
            (dtype, known["shape"].clone())
        );
        assert_eq!(sha256(&output.bytes(STACK)), known[hash]);
        assert_equal(&source, &output);
    }
}

/// The known answer as a checkpoint of its own, as transformers saves it.
fn transposed(dir: &Path) -> Opened {
    let rows = c16().decode(STACK);
    let mut turned = Vec::with_capacity(rows.len());
    for matrix in rows.chunks_exact(4 * 64) {
        for col in 0..64 {
            turned.extend((0..4).map(|row| matrix[row * 64 + col]));
        }
    }
    let bytes = bf16_bytes(&turned);
    assert_eq!(
        sha256(&bytes),
        known("C16 transposed")[STACK]["sha256_bf16"]
    );
    let bias: Vec<f32> = (0..8).map(|i| i as f32).collect();
    let tensors = [
        NewTensor::new(STACK, Dtype::BF16, &[2, 64, 4], bytes),
        NewTensor::bf16(&format!("{STACK}_bias"), &[2, 4], &bias),
    ];
    write_single(dir, &tensors);
    let config = json!({ "model_type": "gpt_oss", "hidden_size": 64 });
    std::fs::write(dir.join("config.json"), config.to_string()).unwrap();
    Opened::new(dir)
}

#[test]
fn the_transposed_form_is_read_by_itself_as_the_same_numbers() {
    let (dir, blocks) = (tempdir().unwrap(), c16());
    let source = transposed(dir.path());
    let weight = source.catalog.weight(STACK).unwrap();
    assert_eq!((weight.axes, &weight.shape), (Axes::InOut, &vec![2, 4, 64]));
    assert_eq!(weight.gate_up, GateUp::Ordered(RowOrder::Interleaved));
    let known = &known("C16")[STACK];
    assert_eq!(
        sha256(&f32_bytes(&source.decode(STACK))),
        known["sha256_f32"]
    );
    assert_equal(&source, &blocks);

    // Codes are powers of two apart from each other: encoding them again loses nothing.
    let (_out, encoded) = converted(&source, &experts(Target::Mxfp4, Dialect::GptOss));
    assert_equal(&encoded, &blocks);
    let (_out, stacked) = converted(&source, &experts(Target::Mxfp4, Dialect::CompressedTensors));
    assert_equal(&stacked, &blocks);
}

#[test]
fn a_transposed_stack_that_is_kept_is_copied() {
    let dir = tempdir().unwrap();
    let source = transposed(dir.path());
    let (_out, output) = converted(&source, &to(Target::Bf16));
    assert_eq!(output.bytes(STACK), source.bytes(STACK));
    let (_out, widened) = converted(&source, &crate::run::everything_to(Target::F32));
    assert_eq!(widened.checkpoint.tensor(STACK).unwrap().shape, [2, 64, 4]);
    assert_equal(&source, &widened);
}

#[test]
fn gate_first_rows_of_a_real_stack_are_every_second_row_of_its_source() {
    let source = Opened::new(&data("checkpoints/gptoss-mxfp4"));
    let before = source.decode(STACK);
    let (_out, output) = converted(&source, &experts(Target::Nvfp4, Dialect::Modelopt));
    let after = output.decode(&format!("{STACK}.weight"));
    for expert in 0..3 {
        for row in 0..256 {
            let at = |row: usize| (expert * 256 + row) * 256..(expert * 256 + row + 1) * 256;
            let from = RowOrder::Interleaved.place(256, row);
            assert_eq!(
                after[at(row)],
                before[at(from)],
                "expert {expert} row {row}"
            );
        }
    }
    assert_equal(&source, &output);
}

#[test]
fn halves_of_an_interleaved_stack_become_tensors_and_a_stack_again() {
    let source = Opened::new(&data("checkpoints/gptoss-mxfp4"));
    let mut apart = experts(Target::Mxfp4, Dialect::CompressedTensors);
    apart.naming = Naming::DeepseekV4HfPerExpert;
    let (_middle, middle) = converted(&source, &apart);
    let name = |expert: usize, half: &str| {
        format!("model.layers.1.mlp.experts.{expert}.{half}.weight_packed")
    };
    let blocks = source.bytes("model.layers.1.mlp.experts.gate_up_proj_blocks");
    for expert in 0..3 {
        let matrix = blocks[expert * 256 * 128..][..256 * 128].chunks_exact(128);
        for (first, half) in ["gate_proj", "up_proj"].into_iter().enumerate() {
            let rows: Vec<u8> = matrix
                .clone()
                .skip(first)
                .step_by(2)
                .flatten()
                .copied()
                .collect();
            assert_eq!(middle.bytes(&name(expert, half)), rows, "{expert} {half}");
        }
    }
    assert_equal(&source, &middle);

    let mut back = experts(Target::Mxfp4, Dialect::GptOss);
    back.naming = Naming::DeepseekV4Hf;
    let (_out, output) = converted(&middle, &back);
    for layer in 0..2 {
        for part in [
            "gate_up_proj_blocks",
            "gate_up_proj_scales",
            "down_proj_blocks",
            "down_proj_scales",
        ] {
            let name = format!("model.layers.{layer}.mlp.experts.{part}");
            assert_eq!(output.bytes(&name), source.bytes(&name), "{name}");
            let shape = |o: &Opened| o.checkpoint.tensor(&name).unwrap().shape.clone();
            assert_eq!(shape(&output), shape(&source), "{name}");
        }
    }
    let stack = output.catalog.weight(STACK).unwrap();
    assert_eq!(stack.gate_up, GateUp::Ordered(RowOrder::Interleaved));
}

#[test]
fn small_memory_moves_rows_to_the_same_bytes() {
    let source = Opened::new(&data("checkpoints/gptoss-mxfp4"));
    let mut apart = experts(Target::Nvfp4, Dialect::Modelopt);
    apart.naming = Naming::DeepseekV4HfPerExpert;
    for recipe in [
        experts(Target::Mxfp4, Dialect::CompressedTensors),
        experts(Target::Nvfp4, Dialect::Modelopt),
        to(Target::Bf16),
        apart,
    ] {
        let (large, small) = (tempdir().unwrap(), tempdir().unwrap());
        let plan = source.plan(&recipe);
        source
            .convert(&plan, large.path(), &ConvertOptions::default())
            .unwrap();
        let options = ConvertOptions {
            max_memory: 64 << 10,
            ..ConvertOptions::default()
        };
        source.convert(&plan, small.path(), &options).unwrap();
        assert_same(large.path(), small.path());
    }
}

#[test]
fn predictions_of_casts_count_the_rows_of_each_part() {
    let source = Opened::new(&data("checkpoints/gptoss-mxfp4"));
    let stacked = experts(Target::Nvfp4, Dialect::Modelopt);
    let mut apart = stacked.clone();
    apart.naming = Naming::DeepseekV4HfPerExpert;
    for (recipe, weights) in [(stacked, 4), (apart, 18)] {
        let plan = source.plan(&recipe);
        let predicted = predict_casts(source.weights(), &plan).unwrap();
        assert_eq!(predicted.len(), weights);
        let out = tempdir().unwrap();
        let options = ConvertOptions::default();
        let manifest = source.convert(&plan, out.path(), &options).unwrap();
        for prediction in predicted {
            let found = crate::run::comparison(&manifest, &prediction.tensor);
            assert_eq!(
                found.blocks,
                Some(prediction.blocks),
                "{}",
                prediction.tensor
            );
        }
    }
}

#[test]
fn experts_of_an_fp8_stack_take_their_scales_along() {
    let dir = tempdir().unwrap();
    let codes: Vec<u8> = (0..2 * 512 * 128).map(|i| (i * 37 % 101) as u8).collect();
    let scales = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    write_single(
        dir.path(),
        &[
            NewTensor::new(STACK, Dtype::F8_E4M3, &[2, 512, 128], codes),
            NewTensor::f32(&format!("{STACK}_scales_inv"), &[2, 4, 1], &scales),
        ],
    );
    let source = Opened::new(dir.path());
    let mut keep = generic(Target::Keep, Vec::new(), Vec::new());
    keep.naming = Naming::DeepseekV4HfPerExpert;
    let (_out, output) = converted(&source, &keep);
    let up = "model.layers.0.mlp.experts.1.up_proj";
    assert_eq!(output.f32s(&format!("{up}.weight_scale_inv")), [32.0, 64.0]);
    let rows = &source.decode(STACK)[(512 + 256) * 128..];
    assert_eq!(output.decode(&format!("{up}.weight")), rows);
    assert_equal(&source, &output);
}
