//! Values of configs.

use std::collections::BTreeMap;

use blockscale_model::Checkpoint;
use serde_json::Value;

use super::StructureDifference;

/// Values that differ between the configs of two checkpoints.
pub(super) fn differences(a: &Checkpoint, b: &Checkpoint) -> Vec<StructureDifference> {
    let files = [
        ("config.json", &a.config, &b.config),
        (
            "hf_quant_config.json",
            &a.hf_quant_config,
            &b.hf_quant_config,
        ),
    ];
    files
        .into_iter()
        .flat_map(|(file, a, b)| of_file(file, a.as_ref(), b.as_ref()))
        .collect()
}

fn of_file(file: &'static str, a: Option<&Value>, b: Option<&Value>) -> Vec<StructureDifference> {
    let mut pairs: BTreeMap<String, (Option<Value>, Option<Value>)> = BTreeMap::new();
    let leaves = |value: Option<&Value>| value.map(flat).unwrap_or_default();
    for (key, value) in leaves(a) {
        pairs.entry(key).or_default().0 = Some(value);
    }
    for (key, value) in leaves(b) {
        pairs.entry(key).or_default().1 = Some(value);
    }
    let differing = pairs.into_iter().filter(|(_, (a, b))| a != b);
    differing
        .map(|(key, (a, b))| StructureDifference::Config { file, key, a, b })
        .collect()
}

/// Every value that is no object, under its keys joined by dots.
fn flat(value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(entries) if !entries.is_empty() => entries
            .iter()
            .flat_map(|(key, value)| {
                flat(value)
                    .into_iter()
                    .map(move |(rest, value)| match rest.as_str() {
                        "" => (key.clone(), value),
                        rest => (format!("{key}.{rest}"), value),
                    })
            })
            .collect(),
        value => vec![(String::new(), value.clone())],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_values_that_differ_are_named_with_their_keys() {
        let a = json!({ "hidden": 4, "quant": { "algo": "NVFP4", "group": 16 } });
        let b = json!({ "hidden": 4, "quant": { "algo": "FP8" }, "new": [] });
        let found = of_file("config.json", Some(&a), Some(&b));
        let key = |difference: &StructureDifference| match difference {
            StructureDifference::Config { key, a, b, .. } => (key.clone(), a.clone(), b.clone()),
            _ => unreachable!(),
        };
        let found: Vec<_> = found.iter().map(key).collect();
        assert_eq!(
            found,
            [
                ("new".to_owned(), None, Some(json!([]))),
                (
                    "quant.algo".to_owned(),
                    Some(json!("NVFP4")),
                    Some(json!("FP8"))
                ),
                ("quant.group".to_owned(), Some(json!(16)), None),
            ]
        );
    }
}
