//! The tables of `docs/doctor.md`, which come from the code.
//!
//! Run with `BLOCKSCALE_BLESS=1` to write them again.

use std::path::{Path, PathBuf};
use std::{env, fs};

use blockscale_convert::sample::FAULTS;
use blockscale_model::doctor::{RULES, Target};

const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end -->";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md")
}

fn rules() -> String {
    let mut table = String::from(
        "| code | rule | finds | severity | `sample --fault` |\n| --- | --- | --- | --- | --- |\n",
    );
    for rule in RULES {
        let faults = FAULTS.iter().flat_map(|family| family.iter());
        let faults = faults.filter(|fault| fault.rule == rule.code);
        let names: Vec<String> = faults.map(|fault| format!("`{}`", fault.name)).collect();
        let cell = match names.is_empty() {
            true => "| |".to_owned(),
            false => format!("| {} |", names.join(", ")),
        };
        table += &format!(
            "| [{code}](../crates/blockscale-model/rules/{code}.md) | `{}` | {} | {} {cell}\n",
            rule.name,
            rule.title(),
            rule.severity,
            code = rule.code,
        );
    }
    table
}

fn consumers() -> String {
    let mut table = String::from("| `--target` | known from |\n| --- | --- |\n");
    for target in Target::all() {
        table += &format!("| `{}` | {} |\n", target.describe(), target.source());
    }
    table
}

/// The page with the section of that name replaced.
fn with_section(page: &str, name: &str, table: &str) -> String {
    let mark = format!("{BEGIN}{name} -->\n");
    let (before, rest) = page
        .split_once(&mark)
        .unwrap_or_else(|| panic!("no `{name}`"));
    let (_, after) = rest
        .split_once(END)
        .unwrap_or_else(|| panic!("`{name}` has no end"));
    format!("{before}{mark}{table}{END}{after}")
}

#[test]
fn tables_of_the_page_are_what_the_code_says() {
    let found = fs::read_to_string(page()).unwrap();
    let fresh = with_section(&found, "rules", &rules());
    let fresh = with_section(&fresh, "consumers", &consumers());
    if env::var_os("BLOCKSCALE_BLESS").is_some_and(|value| value == "1") {
        fs::write(page(), fresh).unwrap();
        return;
    }
    for (found, fresh) in found.lines().zip(fresh.lines()) {
        assert_eq!(found, fresh, "run with BLOCKSCALE_BLESS=1");
    }
    assert_eq!(found, fresh, "run with BLOCKSCALE_BLESS=1");
}
