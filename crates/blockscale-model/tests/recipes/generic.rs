//! The recipe behind a target format alone.

use blockscale::format::Format;
use blockscale_model::Dtype;
use blockscale_model::catalog::Encoding;
use blockscale_model::recipe::{Naming, Pattern, Target, generic};

use crate::{BF16, MATRIX, NVFP4, target};

const FP8: Encoding = Encoding::Block(Format::FP8_BLOCK);

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

const LEFT_ALONE: [&str; 8] = [
    "model.norm.weight",
    "model.layers.0.input_layernorm.weight",
    "model.embed_tokens.weight",
    "embed.weight",
    "lm_head.weight",
    "head.weight",
    "layers.0.ffn.gate.weight",
    "model.layers.0.mlp.router.weight",
];

#[test]
fn generic_recipe_leaves_norms_embeddings_heads_and_routers_alone() {
    for to in Target::CONVERSIONS {
        let recipe = generic(to, vec![], vec![]);
        assert_eq!(recipe.naming, Naming::Keep);
        for name in LEFT_ALONE {
            assert_eq!(
                target(&recipe, name, BF16, &MATRIX),
                Target::Keep,
                "{to}: {name}"
            );
        }
        for name in [
            "model.layers.0.mlp.gate_proj.weight",
            "layers.0.attn.wq_a.weight",
        ] {
            assert_eq!(target(&recipe, name, BF16, &MATRIX), to, "{name}");
        }
    }
}

#[test]
fn generic_recipe_decodes_block_scaled_weights_whatever_their_name() {
    for to in [Target::Bf16, Target::F16, Target::F32] {
        let recipe = generic(to, vec![], vec![]);
        for name in LEFT_ALONE {
            assert_eq!(target(&recipe, name, NVFP4, &MATRIX), to, "{name}");
            assert_eq!(target(&recipe, name, FP8, &MATRIX), to, "{name}");
        }
    }
}

#[test]
fn scaled_weights_that_are_left_alone_do_not_stay_in_a_second_format() {
    let recipe = generic(Target::Fp8Block, vec![], vec![]);
    let of = |encoding| target(&recipe, "lm_head.weight", encoding, &MATRIX);
    assert_eq!(of(NVFP4), Target::Bf16);
    assert_eq!(of(FP8), Target::Fp8Block);
    assert_eq!(of(BF16), Target::Keep);
}

#[test]
fn generic_recipe_leaves_vectors_and_integers_alone() {
    for to in Target::CONVERSIONS {
        let recipe = generic(to, vec![], vec![]);
        assert_eq!(target(&recipe, "a.scale", BF16, &[256]), Target::Keep);
        assert_eq!(target(&recipe, "a.scalar", BF16, &[]), Target::Keep);
        assert_eq!(
            target(&recipe, "a.tid2eid", Encoding::Plain(Dtype::I64), &MATRIX),
            Target::Keep
        );
        assert_eq!(target(&recipe, "a.weight", BF16, &[4, 256, 256]), to);
    }
}

#[test]
fn exclude_wins_over_include_and_include_over_the_names_left_alone() {
    let include = patterns(&["*.wq_a.weight", "lm_head.weight"]);
    let recipe = generic(Target::Fp8Block, include, patterns(&["layers.0.*"]));
    assert_eq!(
        target(&recipe, "layers.1.wq_a.weight", BF16, &MATRIX),
        Target::Fp8Block
    );
    assert_eq!(
        target(&recipe, "lm_head.weight", BF16, &MATRIX),
        Target::Fp8Block
    );
    assert_eq!(
        target(&recipe, "layers.0.wq_a.weight", BF16, &MATRIX),
        Target::Keep
    );
    assert_eq!(
        target(&recipe, "layers.1.wq_b.weight", BF16, &MATRIX),
        Target::Keep
    );

    let recipe = generic(Target::Bf16, vec![], patterns(&["lm_head.weight"]));
    assert_eq!(
        target(&recipe, "lm_head.weight", NVFP4, &MATRIX),
        Target::Keep
    );
}
