//! Declarations in the source of the core, so that no table can forget one.

use crate::page::read;

/// A constant and the first paragraph of its documentation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) doc: String,
}

/// The public constants of type `Self` in a file of the core.
pub(crate) fn constants(file: &str) -> Vec<Constant> {
    parse(&read(format!("crates/blockscale/src/{file}")))
}

/// The names of [`constants`].
pub(crate) fn names(file: &str) -> Vec<String> {
    let names = constants(file).into_iter().map(|constant| constant.name);
    names.collect()
}

fn parse(source: &str) -> Vec<Constant> {
    let mut constants = Vec::new();
    let mut doc: Vec<&str> = Vec::new();
    for line in source.lines().map(str::trim_start) {
        if let Some(text) = line.strip_prefix("///") {
            doc.push(text.trim());
            continue;
        }
        let declared = line
            .strip_prefix("pub const ")
            .and_then(|rest| rest.split_once(": Self = "));
        if let Some((name, _)) = declared {
            let paragraph: Vec<_> = doc
                .iter()
                .copied()
                .take_while(|line| !line.is_empty())
                .collect();
            constants.push(Constant {
                name: name.to_owned(),
                doc: paragraph.join(" "),
            });
        }
        doc.clear();
    }
    constants
}

#[test]
fn constants_are_found_with_their_documentation() {
    let source = "
        /// One,
        /// two.
        ///
        /// Three.
        pub const A: Self = Self {};
        /// Of another type.
        pub const B: u32 = 1;
        const C: Self = Self {};
    ";
    let (name, doc) = ("A".to_owned(), "One, two.".to_owned());
    assert_eq!(parse(source), [Constant { name, doc }]);
}
