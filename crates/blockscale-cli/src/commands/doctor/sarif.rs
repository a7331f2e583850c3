//! Diagnoses as SARIF 2.1.0, which code hosts and editors read.

use std::collections::BTreeMap;
use std::path::Path;

use blockscale_model::Severity;
use blockscale_model::doctor::{Diagnosis, Rule};
use serde_json::{Value, json};

/// A log of one run on the checkpoint at `path`.
pub(super) fn log(path: &Path, found: &[Diagnosis]) -> Value {
    let path = path.display().to_string();
    let rules: BTreeMap<&str, &Rule> = found.iter().map(|d| (d.rule.code, d.rule)).collect();
    let index = |code: &str| rules.keys().position(|known| *known == code);
    let results: Vec<Value> = found
        .iter()
        .map(|d| {
            let mut result = json!({
                "ruleId": d.rule.code,
                "ruleIndex": index(d.rule.code),
                "level": level(d.severity),
                "message": { "text": d.message },
                "properties": { "runtime": d.runtime(), "fix": d.fix(&path) },
            });
            if d.file.is_some() || d.tensor.is_some() {
                result["locations"] = json!([location(d)]);
            }
            result
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "blockscale",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.values().map(|rule| describe(rule)).collect::<Vec<_>>(),
            }},
            "results": results,
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn location(diagnosis: &Diagnosis) -> Value {
    let mut location = json!({});
    if let Some(file) = &diagnosis.file {
        location["physicalLocation"] = json!({ "artifactLocation": { "uri": file } });
    }
    if let Some(tensor) = &diagnosis.tensor {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": tensor, "kind": "member" }]);
    }
    location
}

fn describe(rule: &Rule) -> Value {
    json!({
        "id": rule.code,
        "name": rule.name,
        "shortDescription": { "text": rule.title() },
        "help": { "text": rule.page, "markdown": rule.page },
        "defaultConfiguration": { "level": level(rule.severity) },
    })
}
