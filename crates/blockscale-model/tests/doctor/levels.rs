//! What the user makes of rules.

use blockscale_model::Severity;
use blockscale_model::doctor::{Diagnosis, Level, Levels, RULES, rule};

fn one(code: &str) -> Vec<Diagnosis> {
    vec![Diagnosis::new(rule(code).unwrap(), "seen").of_tensor("a.weight")]
}

fn severity(levels: &[(&str, Level)], code: &str) -> Option<Severity> {
    let mut all = Levels::default();
    for (word, level) in levels {
        all.set(*word, *level);
    }
    all.apply(one(code)).first().map(|d| d.severity)
}

#[test]
fn code_and_name_mean_the_same_rule() {
    for rule in RULES {
        assert_eq!(severity(&[(rule.code, Level::Allow)], rule.code), None);
        assert_eq!(severity(&[(rule.name, Level::Allow)], rule.code), None);
    }
}

#[test]
fn the_last_entry_counts() {
    let levels = [("BS006", Level::Deny), ("index-total-size", Level::Warn)];
    assert_eq!(severity(&levels, "BS006"), Some(Severity::Warning));
    let levels = [("BS006", Level::Allow), ("BS006", Level::Deny)];
    assert_eq!(severity(&levels, "BS006"), Some(Severity::Error));
}

#[test]
fn all_warnings_can_be_denied_and_one_of_them_allowed() {
    let levels = [("warnings", Level::Deny), ("BS006", Level::Allow)];
    assert_eq!(severity(&levels, "BS005"), Some(Severity::Error));
    assert_eq!(severity(&levels, "BS006"), None);
    assert_eq!(severity(&levels, "BS009"), Some(Severity::Info));
}

#[test]
fn a_fix_names_path_and_tensor() {
    let found = one("BS080").remove(0);
    let fix = found.fix("dir/model").unwrap();
    assert!(fix.contains("convert dir/model out"), "{fix}");
    assert!(fix.contains("'a.weight'"), "{fix}");
    let other = found.with_fix("look at TENSOR in PATH");
    assert_eq!(other.fix("x").unwrap(), "look at a.weight in x");
}

#[test]
fn json_has_every_field_under_its_name() {
    let json = serde_json::to_value(&one("BS021")[0]).unwrap();
    assert_eq!(json["code"], "BS021");
    assert_eq!(json["name"], "scale-plane-ones");
    assert_eq!(json["severity"], "error");
    assert_eq!(json["tensor"], "a.weight");
    assert_eq!(json["message"], "seen");
    assert!(json["file"].is_null());
    assert!(json["runtime"].as_str().unwrap().contains("cosine"));
    assert!(json["fix"].as_str().unwrap().contains("scales"));
}
