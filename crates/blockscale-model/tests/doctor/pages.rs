//! Every rule has one page, and every page says what it has to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use blockscale_model::doctor::{RULES, rule};

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn codes_ascend_and_names_are_unique() {
    assert!(RULES.windows(2).all(|pair| pair[0].code < pair[1].code));
    let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), RULES.len());
    for rule in RULES {
        let kebab = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        assert!(rule.name.bytes().all(kebab), "{}", rule.name);
        let digits = rule.code.strip_prefix("BS").unwrap();
        assert!(
            digits.len() == 3 && digits.parse::<u16>().is_ok(),
            "{digits}"
        );
    }
}

#[test]
fn the_first_line_of_a_page_is_code_name_and_title() {
    for rule in RULES {
        let expected = format!("# {} {}: {}", rule.code, rule.name, rule.title());
        assert_eq!(rule.page.lines().next(), Some(expected.as_str()));
        assert!(!rule.title().is_empty(), "{}", rule.code);
    }
}

#[test]
fn pages_say_what_it_means_what_runtimes_do_how_to_mend_it_and_how_it_is_found() {
    for rule in RULES {
        let meaning = rule.page.split("\n\n").nth(1).unwrap();
        assert!(
            meaning.len() > 20 && !meaning.starts_with('#'),
            "{}",
            rule.code
        );
        for heading in ["Runtime", "Fix", "Evidence"] {
            let paragraph = rule.paragraph(heading);
            assert!(paragraph.is_some(), "{}: no `## {heading}`", rule.code);
        }
        assert_eq!(rule.paragraph("Weather"), None);
    }
}

#[test]
fn there_is_no_page_without_a_rule() {
    for entry in fs::read_dir(folder("rules")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let code = name.strip_suffix(".md").unwrap();
        assert!(rule(code).is_some(), "{name}");
    }
}

/// Names of findings in a source file: `code: "name"`, and the first argument of `warning(`.
fn names_in(source: &str) -> Vec<&str> {
    let after = |mark: &'static str| {
        source
            .match_indices(mark)
            .filter_map(move |(at, _)| source[at + mark.len()..].split('"').next())
    };
    let is_name = |name: &&str| {
        let kebab = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        name.contains('-') && name.bytes().all(kebab)
    };
    after("code: \"")
        .chain(after("warning(\""))
        .chain(after("warning(\n            \""))
        .filter(is_name)
        .collect()
}

#[test]
fn every_finding_of_the_code_has_a_rule() {
    let mut folders = vec![folder("src"), folder("../blockscale-convert/src")];
    let mut seen = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            for name in names_in(&source) {
                assert!(rule(name).is_some(), "{}: `{name}`", path.display());
                seen.insert(name.to_owned());
            }
        }
    }
    assert!(
        seen.contains("index-total-size") && seen.len() > 8,
        "{seen:?}"
    );
}
