//! Every fault of the sample.

use blockscale_convert::sample::{FAULTS, Fault, SampleDialect, SampleOptions, write_sample};
use blockscale_model::Severity;
use blockscale_model::doctor::{RULES, rule};

use crate::opened::{by_rules, faulty, findings};

/// What a fault brings with it beside its own rule.
const ALSO: [(&str, &str); 5] = [
    // The second tensor is counted by the sample's index.
    ("tensor-twice", "BS006"),
    // Scales of a refused weight belong to nothing.
    ("layout-misfit", "BS013"),
    // A list of the config has an entry for each layer.
    ("layer-too-many", "BS075"),
    // Native configs have entries for more layers.
    ("layer-too-many", "BS070"),
    // Codes of five bits of exponent are whole numbers to one of four.
    ("other-element", "BS045"),
];

fn all() -> impl Iterator<Item = &'static Fault> {
    FAULTS.iter().flat_map(|family| family.iter())
}

fn each_is_found(dialect: SampleDialect) {
    let dir = tempfile::tempdir().unwrap();
    let clean = dir.path().join("clean");
    faulty(&clean, dialect, None);
    for fault in all() {
        let path = dir.path().join(fault.name);
        faulty(&path, dialect, Some(fault));
        // Only beside the right weights can it be seen that two were exchanged, and the like.
        let beside = ["BS051", "BS067", "BS068", "BS069"].contains(&fault.rule);
        let reference = beside.then_some(clean.as_path());
        // Trying other readings takes its time.
        let found = match fault.rule.starts_with("BS06") {
            true => findings(&path, reference),
            false => by_rules(&path, reference, None),
        };
        let own = found.iter().filter(|d| d.rule.code == fault.rule);
        let expected = rule(fault.rule).unwrap().severity;
        assert!(
            own.clone().any(|d| d.severity >= expected),
            "{}: {found:?}",
            fault.name
        );
        for other in found.iter().filter(|d| d.severity > Severity::Info) {
            let code = other.rule.code;
            let also = ALSO.contains(&(fault.name, code));
            assert!(code == fault.rule || also, "{}: {other}", fault.name);
        }
    }
}

#[test]
fn each_fault_is_found_under_its_own_code_in_hugging_face_names() {
    each_is_found(SampleDialect::Hf);
}

#[test]
fn each_fault_is_found_under_its_own_code_in_native_names() {
    each_is_found(SampleDialect::Native);
}

/// Rules without a fault: for GGUF files, for consumers, for conversions.
const WITHOUT: [&str; 6] = ["BS054", "BS090", "BS091", "BS092", "BS100", "BS101"];

#[test]
fn every_rule_has_a_fault() {
    for rule in RULES.iter().filter(|rule| !WITHOUT.contains(&rule.code)) {
        let has = all().any(|fault| fault.rule == rule.code);
        assert!(has, "{} {}", rule.code, rule.name);
    }
}

#[test]
fn names_of_faults_are_unique() {
    let mut names: Vec<&str> = all().map(|fault| fault.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

#[test]
fn a_fault_without_anything_to_damage_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let options = SampleOptions {
        layers: 1,
        // Only the third layer has an indexer.
        fault: blockscale_convert::sample::fault("compressor-for-indexer"),
        ..SampleOptions::default()
    };
    let error = write_sample(dir.path(), &options).unwrap_err();
    assert!(error.to_string().contains("more layers"), "{error}");
}
