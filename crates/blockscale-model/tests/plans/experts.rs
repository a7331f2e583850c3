//! Stacked experts taken apart.

use blockscale_model::catalog::{Catalog, Encoding};
use blockscale_model::plan::Step;
use blockscale_model::recipe::Recipe;
use blockscale_model::{Checkpoint, Dtype, comparables};
use serde_json::Value;

use crate::common::{checkpoint, tensor};
use crate::{plan, weight};

/// Three experts with 4 rows of w1, 4 of w3 and 6 of w2, in BF16.
fn stacked() -> Checkpoint {
    let tensors = [
        tensor(
            "model.layers.0.mlp.experts.gate_up_proj",
            Dtype::BF16,
            &[3, 8, 6],
        ),
        tensor(
            "model.layers.0.mlp.experts.down_proj",
            Dtype::BF16,
            &[3, 6, 4],
        ),
    ];
    checkpoint(Value::Null, &[&tensors])
}

fn recipe(to: &str) -> Recipe {
    let text = format!(
        "version = 1\nname = \"r\"\nnaming = \"deepseek-v4\"\n[[rule]]\nmatch = [\"*\"]\nto = \"{to}\""
    );
    Recipe::parse(&text).unwrap()
}

#[test]
fn kept_experts_are_byte_ranges_of_the_stack() {
    let checkpoint = stacked();
    let plan = plan(&checkpoint, &recipe("keep"));
    assert_eq!(plan.weights.len(), 9);
    for expert in 0..3 {
        // Rows of 6 and of 4 elements of 2 bytes; w1 above w3 in each matrix.
        let parts = [
            ("w1", "gate_up_proj", [4, 6], expert * 8 * 12, 4 * 12),
            (
                "w3",
                "gate_up_proj",
                [4, 6],
                expert * 8 * 12 + 4 * 12,
                4 * 12,
            ),
            ("w2", "down_proj", [6, 4], expert * 6 * 8, 6 * 8),
        ];
        for (name, stack, shape, start, len) in parts {
            let name = format!("layers.0.ffn.experts.{expert}.{name}.weight");
            let part = weight(&plan, &name);
            assert_eq!(part.step, Step::Copy);
            assert_eq!(part.shape, shape);
            let [tensor] = part.tensors.as_slice() else {
                panic!("{part:?}")
            };
            assert_eq!((&tensor.name, &tensor.shape), (&name, &shape.to_vec()));
            let [from] = tensor.copied_from.as_slice() else {
                panic!("{tensor:?}")
            };
            assert!(
                checkpoint.tensors[from.tensor].name.ends_with(stack),
                "{name}"
            );
            assert_eq!(from.range, start..start + len, "{name}");
            assert_eq!(part.bytes(), len, "{name}");
        }
    }
}

#[test]
fn converted_experts_are_rows_of_the_stack() {
    let plan = plan(&stacked(), &recipe("f32"));
    let third = weight(&plan, "layers.0.ffn.experts.2.w3.weight");
    assert_eq!(third.step, Step::Decode(Dtype::F32));
    assert_eq!(third.pieces.len(), 1);
    assert_eq!(third.pieces[0].rows, 20..24);
    assert_eq!(third.tensors[0].copied_from, []);
    assert_eq!(third.bytes(), 4 * 6 * 4);
}

#[test]
fn stack_is_compared_expert_by_expert() {
    let source = stacked();
    let apart: Vec<_> = comparables(&Catalog::of(&source));
    let names: Vec<&str> = apart.iter().map(|c| c.name.as_str()).collect();
    assert!(names.contains(&"layers.0.ffn.experts.1.w3.weight"));
    assert_eq!(names.len(), 9);
    let w3 = apart
        .iter()
        .find(|c| c.name.ends_with("experts.1.w3.weight"))
        .unwrap();
    assert_eq!(w3.rows, 12..16);
}

#[test]
fn stack_of_two_axes_is_no_stack() {
    let tensors = [tensor(
        "model.layers.0.mlp.experts.down_proj",
        Dtype::BF16,
        &[6, 4],
    )];
    let plan = plan(&checkpoint(Value::Null, &[&tensors]), &recipe("keep"));
    assert_eq!(plan.weights.len(), 1);
    assert_eq!(plan.weights[0].shape, [6, 4]);
    assert_eq!(
        plan.weights[0].step.result(&Encoding::Plain(Dtype::BF16)),
        Encoding::Plain(Dtype::BF16)
    );
}
