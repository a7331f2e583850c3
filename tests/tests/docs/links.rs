//! Links and paths in the documents lead to something.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::page::{Line, Page, lines, pages, root, spans};

/// Where the links of a page lead, addresses on the web left out.
fn targets(page: &Page) -> Vec<String> {
    let mut targets = Vec::new();
    for line in lines(&page.text) {
        let Line::Prose(line) = line else { continue };
        // The text of a link may be code.
        for part in line.split("](").skip(1) {
            let (target, _) = part.split_once(')').unwrap();
            if !target.contains("://") {
                targets.push(target.to_owned());
            }
        }
    }
    targets
}

/// The names by which the headings of a page are linked to.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = lines(text).into_iter().filter_map(|line| match line {
        Line::Prose(line) => line.strip_prefix('#'),
        Line::Code(_) => None,
    });
    let slug = |heading: &str| -> String {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        words
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(slug).collect()
}

#[test]
fn relative_links_resolve() {
    let mut checked = 0;
    for page in pages() {
        for target in targets(&page) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = match file {
                "" => root().join(&page.path),
                file => root().join(page.path.parent().unwrap()).join(file),
            };
            let from = page.path.display();
            assert!(
                path.exists(),
                "{from} links to `{target}`, which is not there"
            );
            if !anchor.is_empty() {
                let text = fs::read_to_string(&path).unwrap();
                assert!(
                    anchors(&text).contains(anchor),
                    "{from} links to `{target}`: no such heading"
                );
            }
            checked += 1;
        }
    }
    assert!(checked >= 15, "{checked}");
}

#[test]
fn paths_in_the_text_exist() {
    const FOLDERS: [&str; 4] = ["crates/", "docs/", "tests/", "xtask/"];
    let mut checked = 0;
    for page in pages() {
        for line in lines(&page.text) {
            let Line::Prose(line) = line else { continue };
            let (_, code) = spans(line);
            let is_path = |span: &&str| {
                let pattern = span.contains(['*', '<', ' ']) || span.contains("NAME");
                FOLDERS.iter().any(|folder| span.starts_with(folder)) && !pattern
            };
            for path in code.into_iter().filter(is_path) {
                let there = root().join(path).exists();
                assert!(there, "{} names `{path}`", page.path.display());
                checked += 1;
            }
        }
    }
    assert!(checked >= 10, "{checked}");
}

#[test]
fn headings_have_the_anchors_that_hosts_give_them() {
    let text = "# A page\n## `code`, and *more*\n    # no heading\n### Ten: 128 x 4\n";
    let expected = ["a-page", "code-and-more", "ten-128-x-4"];
    assert_eq!(anchors(text), expected.map(str::to_owned).into());
}

#[test]
fn links_are_found_in_prose_alone() {
    let text = "[a](b.md#c) and [`d`](e)\n\n    [f](g)\n[h](https://example.com)\n";
    let page = Page {
        path: Path::new("x.md").to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(targets(&page), ["b.md#c", "e"]);
}
