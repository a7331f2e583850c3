//! Checkpoints that other tools wrote.

use std::collections::BTreeMap;

use blockscale_model::catalog::{Catalog, PartRole, QuantConfig};

use crate::common::Field;

fn count_by_encoding(catalog: &Catalog) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for weight in &catalog.weights {
        *counts.entry(weight.encoding.to_string()).or_insert(0) += 1;
    }
    counts
}

#[test]
fn every_tensor_of_other_tools_belongs_to_exactly_one_weight() {
    use Field::*;
    for field in [Dsv4Official, Dsv4Nvfp4, ModeloptNvfp4Dsv4, ModeloptFp8Llama] {
        let checkpoint = field.checkpoint();
        let catalog = Catalog::of(&checkpoint);
        assert_eq!(catalog.refusals, [], "{field:?}");
        assert_eq!(catalog.findings, [], "{field:?}");
        let mut parts: Vec<usize> = catalog
            .weights
            .iter()
            .flat_map(|w| w.parts.iter().map(|p| p.tensor))
            .collect();
        parts.sort_unstable();
        assert_eq!(
            parts,
            (0..checkpoint.tensors.len()).collect::<Vec<_>>(),
            "{field:?}"
        );
    }
}

#[test]
fn formats_of_other_tools_are_recognised() {
    let expected: [(Field, &[(&str, usize)]); 4] = [
        (
            Field::Dsv4Official,
            &[
                ("BF16", 28),
                ("F32", 29),
                ("FP8 128x128 UE8M0", 25),
                ("I64", 1),
                ("MXFP4", 27),
            ],
        ),
        (
            Field::Dsv4Nvfp4,
            &[
                ("BF16", 15),
                ("F32", 13),
                ("FP8 128x128 UE8M0", 9),
                ("NVFP4", 9),
            ],
        ),
        (
            Field::ModeloptNvfp4Dsv4,
            &[("BF16", 4), ("F32", 20), ("NVFP4", 22)],
        ),
        (
            Field::ModeloptFp8Llama,
            &[("BF16", 5), ("FP8 per tensor", 7)],
        ),
    ];
    for (field, counts) in expected {
        let found = count_by_encoding(&Catalog::of(&field.checkpoint()));
        let counts: BTreeMap<String, usize> = counts
            .iter()
            .map(|&(name, n)| (name.to_owned(), n))
            .collect();
        assert_eq!(found, counts, "{field:?}");
    }
}

#[test]
fn i8_experts_hold_two_elements_a_byte() {
    let catalog = Catalog::of(&Field::Dsv4Official.checkpoint());
    let expert = catalog.weight("layers.2.ffn.experts.1.w1.weight").unwrap();
    assert_eq!(expert.shape, [128, 128]);
    assert_eq!(expert.elements(), 128 * 128);
}

#[test]
fn scale_that_multiplies_a_residual_stream_is_a_weight() {
    let catalog = Catalog::of(&Field::ModeloptNvfp4Dsv4.checkpoint());
    let scale = catalog.weight("model.layers.0.attn_hc.scale").unwrap();
    assert!(scale.encoding.is_plain_float());
    assert_eq!(scale.module(), "model.layers.0.attn_hc.scale");
}

#[test]
fn activation_scale_is_kept_with_its_weight() {
    let catalog = Catalog::of(&Field::ModeloptFp8Llama.checkpoint());
    let projection = catalog
        .weight("model.layers.0.self_attn.q_proj.weight")
        .unwrap();
    assert!(projection.part(PartRole::InputScale).is_some());
    assert_eq!(projection.part(PartRole::GlobalScale), None);
}

#[test]
fn quantisation_config_gives_method_algorithm_and_block() {
    let read = |field: Field| QuantConfig::of(&field.checkpoint());
    let official = read(Field::Dsv4Official);
    assert_eq!(official.method.as_deref(), Some("fp8"));
    assert_eq!(official.block, Some([128, 128]));
    let mixed = read(Field::Dsv4Nvfp4);
    assert_eq!(mixed.algo.as_deref(), Some("MIXED_PRECISION"));
    let modelopt = read(Field::ModeloptNvfp4Dsv4);
    assert_eq!(modelopt.algo.as_deref(), Some("NVFP4"));
    assert_eq!(modelopt.block, None);
    assert!(modelopt.is_quantised());
}
