//! The table of element types, from what their codes decode to.

use blockscale::Element;
use blockscale::element::E8m0Fnu;

use crate::page::{self, number, root};

const ELEMENTS: [Element; 6] = [
    Element::E2m1,
    Element::E2m3,
    Element::E3m2,
    Element::E4m3Fn,
    Element::E4m3Fnuz,
    Element::E5m2,
];

pub(crate) fn table() -> String {
    let head = [
        "type",
        "in Rust",
        "bits",
        "bias",
        "largest",
        "smallest normal",
        "smallest",
        "-0",
        "infinity",
        "NaN",
    ];
    let mut rows = Vec::from(ELEMENTS.map(row));
    rows.push(row_of_e8m0());
    page::table(head, &rows)
}

fn row(element: Element) -> [String; 10] {
    let mantissa_bits = element.mantissa_bits() as usize;
    let exponent_bits = element.bits() - 1 - mantissa_bits;
    let smallest_normal = element.decode(1 << mantissa_bits);
    // The smallest normal number is 2^(1 - bias).
    let bias = 128 - (smallest_normal.to_bits() >> 23) as i32;
    [
        element.to_string(),
        format!("`{element:?}`"),
        format!(
            "`S{}{}`",
            "E".repeat(exponent_bits),
            "M".repeat(mantissa_bits)
        ),
        bias.to_string(),
        number(element.max_finite()),
        number(smallest_normal),
        number(element.decode(1)),
        codes(element, |x| x == 0.0 && x.is_sign_negative()),
        codes(element, f32::is_infinite),
        codes(element, f32::is_nan),
    ]
}

fn row_of_e8m0() -> [String; 10] {
    let value = |code: u8| E8m0Fnu::from_bits(code).to_f32();
    let one = (0..=u8::MAX).find(|&code| value(code) == 1.0).unwrap();
    let all = || (0..=u8::MAX).map(|code| (code, value(code)));
    [
        "E8M0".to_owned(),
        "`E8m0Fnu`".to_owned(),
        format!("`{}`", "E".repeat(8)),
        one.to_string(),
        number(E8m0Fnu::MAX.to_f32()),
        String::new(),
        number(E8m0Fnu::MIN_POSITIVE.to_f32()),
        hex(all().filter(|(_, x)| *x == 0.0).map(|(code, _)| code)),
        hex(all().filter(|(_, x)| x.is_infinite()).map(|(code, _)| code)),
        hex(all().filter(|(_, x)| x.is_nan()).map(|(code, _)| code)),
    ]
}

fn codes(element: Element, wanted: impl Fn(f32) -> bool) -> String {
    let last = u8::MAX >> (8 - element.bits());
    hex((0..=last).filter(|&code| wanted(element.decode(code))))
}

/// Codes in hexadecimal, more than two in a row as a range.
fn hex(codes: impl Iterator<Item = u8>) -> String {
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for code in codes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == code => *last = code,
            _ => runs.push((code, code)),
        }
    }
    let run = |(first, last): (u8, u8)| match last - first {
        0 => format!("`{first:02X}`"),
        1 => format!("`{first:02X}`, `{last:02X}`"),
        _ => format!("`{first:02X}`..`{last:02X}`"),
    };
    let text: Vec<_> = runs.into_iter().map(run).collect();
    match text.is_empty() {
        true => "none".to_owned(),
        false => text.join(", "),
    }
}

/// Each type has a file, and a row.
#[test]
fn every_element_type_has_a_row() {
    let mut files: Vec<_> = std::fs::read_dir(root().join("crates/blockscale/src/element"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.as_encoded_bytes()[0] == b'e')
        })
        .collect();
    files.sort();
    let table = table();
    for file in &files {
        let source = std::fs::read_to_string(file).unwrap();
        let (_, rest) = source.split_once("pub struct ").unwrap();
        let (name, _) = rest.split_once('(').unwrap();
        assert!(table.contains(&format!("`{name}`")), "`{name}`");
    }
    assert_eq!(files.len(), ELEMENTS.len() + 1);
}
