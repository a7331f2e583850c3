//! Sections that the code writes: `<!-- generated: NAME -->` to `<!-- end -->`.

use std::{env, fs};

use crate::page::{read, root};
use crate::{elements, formats, peers, policies, powers, schemes, sqnr, worked};

const PAGE: &str = "docs/formats.md";
const BEGIN: &str = "<!-- generated: ";
const BEGIN_CLOSES: &str = " -->\n";
const END: &str = "<!-- end -->";

/// What each section has to be.
fn sections() -> [(&'static str, String); 9] {
    [
        ("elements", elements::table()),
        ("formats", formats::table()),
        ("ggml", formats::ggml_table()),
        ("policies", policies::table()),
        ("powers", powers::table()),
        ("worked", worked::table()),
        ("schemes", schemes::table()),
        ("peers", peers::table()),
        ("sqnr", sqnr::table()),
    ]
}

/// The page with what `section` gives for each name in place of what stands there.
fn regenerate(page: &str, mut section: impl FnMut(&str, &str) -> String) -> String {
    let mut fresh = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) = after.split_once(BEGIN_CLOSES).unwrap();
        let (found, after) = after
            .split_once(END)
            .unwrap_or_else(|| panic!("section `{name}` has no end"));
        let found = found.trim_end();
        let new = section(name, found);
        fresh += &format!("{before}{BEGIN}{name}{BEGIN_CLOSES}{new}\n{END}");
        rest = after;
    }
    fresh + rest
}

#[test]
fn generated_sections_are_what_the_code_says() {
    let bless = env::var_os("BLOCKSCALE_BLESS").is_some_and(|value| value == "1");
    let page = read(PAGE);
    let mut sections = Vec::from(sections());
    let fresh = regenerate(&page, |name, found| {
        let position = sections.iter().position(|(known, _)| *known == name);
        let position = position.unwrap_or_else(|| panic!("`{name}` is unknown, or there twice"));
        let (_, expected) = sections.swap_remove(position);
        if !bless {
            for (found, expected) in found.lines().zip(expected.lines()) {
                assert_eq!(found, expected, "`{name}`: run with BLOCKSCALE_BLESS=1");
            }
            assert_eq!(found, expected, "`{name}`: run with BLOCKSCALE_BLESS=1");
        }
        expected
    });
    let missing: Vec<_> = sections.iter().map(|(name, _)| name).collect();
    assert!(missing.is_empty(), "`{PAGE}` lacks {missing:?}");
    if bless && fresh != page {
        fs::write(root().join(PAGE), fresh).unwrap();
    }
}

#[test]
fn only_what_is_between_the_marks_is_replaced() {
    let page = "a\n<!-- generated: x -->\nold\n<!-- end -->\nb\n";
    let fresh = regenerate(page, |name, found| format!("{name}, not {found}"));
    assert_eq!(
        fresh,
        "a\n<!-- generated: x -->\nx, not old\n<!-- end -->\nb\n"
    );
}
