//! The order of gate and up, and the axes of stacked experts.

use std::collections::BTreeMap;

use blockscale_model::catalog::{Axes, Catalog, GateUp, ROWS_KEY, RowOrder, Weight};
use blockscale_model::{Checkpoint, Dtype, Header, NewTensor, PREFIX_BYTES, lay_out};
use serde_json::{Value, json};

use crate::common::{assemble, checkpoint, tensor};

const STACK: &str = "model.layers.0.mlp.experts.gate_up_proj";

fn model(kind: &str) -> Value {
    json!({ "model_type": kind })
}

fn weight_of(checkpoint: &Checkpoint, name: &str) -> Weight {
    let catalog = Catalog::of(checkpoint);
    assert_eq!(catalog.refusals, []);
    catalog.weight(name).unwrap().clone()
}

fn order(config: Value, name: &str, tensors: &[NewTensor]) -> GateUp {
    weight_of(&checkpoint(config, &[tensors]), name).gate_up
}

fn bf16(name: &str, shape: &[usize]) -> NewTensor {
    tensor(name, Dtype::BF16, shape)
}

/// A checkpoint of one shard whose metadata speaks of rows.
fn checkpoint_saying(config: Value, said: String, tensors: &[NewTensor]) -> Checkpoint {
    let metadata = BTreeMap::from([(ROWS_KEY.to_owned(), said)]);
    let layout = lay_out(tensors, &metadata).unwrap();
    let header = Header::parse(&layout.bytes[PREFIX_BYTES..], layout.file_len).unwrap();
    assemble(config, vec![(header, layout.file_len)])
}

fn blocks(name: &str) -> [NewTensor; 2] {
    [
        tensor(&format!("{name}_blocks"), Dtype::U8, &[2, 8, 2, 16]),
        tensor(&format!("{name}_scales"), Dtype::U8, &[2, 8, 2]),
    ]
}

#[test]
fn blocks_of_gpt_oss_are_interleaved_whatever_the_config_says() {
    for config in [
        Value::Null,
        model("gpt_oss"),
        model("deepseek_v4"),
        model("x"),
    ] {
        let found = order(config, STACK, &blocks(STACK));
        assert_eq!(found, GateUp::Ordered(RowOrder::Interleaved));
    }
    let name = "block.0.mlp.mlp1_weight";
    let first = [
        tensor("block.0.mlp.mlp1_weight.blocks", Dtype::U8, &[2, 8, 2, 16]),
        tensor("block.0.mlp.mlp1_weight.scales", Dtype::U8, &[2, 8, 2]),
    ];
    let found = order(Value::Null, name, &first);
    assert_eq!(found, GateUp::Ordered(RowOrder::Interleaved));
}

#[test]
fn the_architecture_tells_the_order_of_other_stacks() {
    let stack = [bf16(STACK, &[2, 8, 6])];
    for (config, expected) in [
        (model("deepseek_v4"), GateUp::Ordered(RowOrder::GateFirst)),
        (model("qwen3_moe"), GateUp::Ordered(RowOrder::GateFirst)),
        (model("gpt_oss"), GateUp::Ordered(RowOrder::Interleaved)),
        (
            json!({ "text_config": { "model_type": "llama4_text" } }),
            GateUp::Ordered(RowOrder::GateFirst),
        ),
        (model("something_new"), GateUp::Unknown),
        (Value::Null, GateUp::Unknown),
    ] {
        assert_eq!(order(config.clone(), STACK, &stack), expected, "{config}");
    }
}

#[test]
fn only_weights_that_hold_both_have_an_order() {
    for (name, shape) in [
        ("model.layers.0.mlp.experts.down_proj", &[2, 6, 4][..]),
        ("model.layers.0.mlp.experts.0.gate_proj.weight", &[4, 6]),
        ("layers.0.ffn.experts.0.w3.weight", &[4, 6]),
        ("model.embed_tokens.weight", &[4, 6]),
    ] {
        let found = order(model("deepseek_v3"), name, &[bf16(name, shape)]);
        assert_eq!(found, GateUp::Apart, "{name}");
    }
}

#[test]
fn a_bias_has_the_order_of_its_weight_along_its_last_axis() {
    let name = format!("{STACK}_bias");
    let config = json!({ "quantization_config": { "quant_method": "mxfp4" } });
    let bias = weight_of(&checkpoint(config, &[&[bf16(&name, &[2, 8])]]), &name);
    assert_eq!(bias.gate_up, GateUp::Ordered(RowOrder::Interleaved));
    assert_eq!((bias.is_bias(), bias.outputs()), (true, 8));
}

#[test]
fn an_odd_number_of_rows_has_no_order() {
    let found = order(model("deepseek_v3"), STACK, &[bf16(STACK, &[2, 7, 6])]);
    assert_eq!(found, GateUp::Unknown);
}

#[test]
fn plain_experts_of_two_models_are_stored_inputs_before_outputs() {
    let down = "model.layers.0.mlp.experts.down_proj";
    for (kind, expected) in [
        ("gpt_oss", Axes::InOut),
        ("llama4", Axes::InOut),
        ("qwen3_moe", Axes::OutIn),
    ] {
        let config = json!({ "model_type": kind, "hidden_size": 6 });
        let tensors = [bf16(STACK, &[2, 6, 8]), bf16(down, &[2, 4, 6])];
        let checkpoint = checkpoint(config, &[&tensors]);
        for (name, stored) in [(STACK, [2, 6, 8]), (down, [2, 4, 6])] {
            let weight = weight_of(&checkpoint, name);
            let [experts, first, second] = stored;
            assert_eq!(weight.axes, expected, "{kind}: {name}");
            let logical = match expected {
                Axes::InOut => [experts, second, first],
                Axes::OutIn => stored,
            };
            assert_eq!(weight.shape, logical, "{kind}: {name}");
        }
    }
}

#[test]
fn hidden_size_tells_that_another_tool_turned_the_experts_around() {
    let config = json!({ "model_type": "gpt_oss", "hidden_size": 6 });
    let turned = weight_of(&checkpoint(config, &[&[bf16(STACK, &[2, 8, 6])]]), STACK);
    assert_eq!((turned.axes, turned.shape), (Axes::OutIn, vec![2, 8, 6]));
}

#[test]
fn what_the_file_says_comes_first() {
    let said = json!({ STACK: { "gate_up": "up-first", "axes": "in-out" } }).to_string();
    let stack = [bf16(STACK, &[2, 6, 8])];
    let checkpoint = checkpoint_saying(model("gpt_oss"), said, &stack);
    let weight = weight_of(&checkpoint, STACK);
    assert_eq!(weight.gate_up, GateUp::Ordered(RowOrder::UpFirst));
    assert_eq!((weight.axes, weight.shape), (Axes::InOut, vec![2, 8, 6]));
}

#[test]
fn what_the_file_says_is_held_against_shapes_and_a_misfit_is_reported() {
    let fused = "a.fused.weight";
    for (name, shape, said) in [
        (STACK, &[2, 7, 6][..], json!({ "gate_up": "interleaved" })),
        (
            fused,
            &[8, 6],
            json!({ "members": [{ "name": "a.b.weight", "rows": 7 }] }),
        ),
        (
            fused,
            &[8, 6],
            json!({ "members": [{ "name": "b", "rows": u64::MAX }, { "name": "c", "rows": 9 }] }),
        ),
    ] {
        let text = json!({ name: said }).to_string();
        let tensors = [bf16(name, shape)];
        let checkpoint = checkpoint_saying(Value::Null, text, &tensors);
        let catalog = Catalog::of(&checkpoint);
        assert!(
            catalog
                .findings
                .iter()
                .any(|f| f.code == "rows-not-as-stated"),
            "{said}: {:?}",
            catalog.findings
        );
        let weight = catalog.weight(name).unwrap();
        assert!(weight.members.is_empty() && weight.gate_up.order().is_none());
    }
    let checkpoint = checkpoint_saying(Value::Null, "[]".to_owned(), &[bf16(STACK, &[2, 8, 6])]);
    let catalog = Catalog::of(&checkpoint);
    assert_eq!(catalog.findings[0].code, "rows-not-understood");
}

#[test]
fn a_stated_order_fills_in_what_nothing_tells_and_nothing_else() {
    let mut tensors = blocks("a.experts.gate_up_proj").to_vec();
    tensors.push(bf16("b.experts.gate_up_proj", &[2, 8, 6]));
    tensors.push(bf16("b.experts.down_proj", &[2, 8, 6]));
    let mut catalog = Catalog::of(&checkpoint(Value::Null, &[&tensors]));
    catalog.state_gate_up(RowOrder::UpFirst);
    let found = |name: &str| catalog.weight(name).unwrap().gate_up;
    let interleaved = GateUp::Ordered(RowOrder::Interleaved);
    assert_eq!(found("a.experts.gate_up_proj"), interleaved);
    let stated = GateUp::Ordered(RowOrder::UpFirst);
    assert_eq!(found("b.experts.gate_up_proj"), stated);
    assert_eq!(found("b.experts.down_proj"), GateUp::Apart);
}
