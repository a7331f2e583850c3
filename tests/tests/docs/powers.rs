//! The table of scales that are powers of two: what each rule makes of a block's largest magnitude.

use blockscale::encode::{ScaleRule, choose_scales};
use blockscale::{Format, Shape};

use crate::page;

const LARGEST: [f32; 13] = [
    1.0, 1.5, 1.74, 1.75, 2.0, 3.0, 3.4, 3.5, 4.0, 6.0, 6.1, 7.0, 8.0,
];

/// Rules, and who uses them.
const RULES: [(&str, ScaleRule, &str); 5] = [
    (
        "Floor",
        ScaleRule::Floor,
        "OCP, torchao FLOOR, microxcaling, ggml",
    ),
    ("Ceil", ScaleRule::Ceil, "torchao CEIL"),
    (
        "Rceil",
        ScaleRule::Rceil,
        "ModelOpt, DeepSeek, TransformerEngine, FlashInfer, torchao RCEIL, MLX 0.32",
    ),
    (
        "Even",
        ScaleRule::Even,
        "compressed-tensors, Quark, torchao EVEN",
    ),
    ("Nearest", ScaleRule::Nearest, "older MLX on Metal and CPU"),
];

/// The E8M0 byte of an MXFP4 block.
fn byte(rule: ScaleRule, largest: f32) -> u8 {
    let mut scales = [0];
    choose_scales(
        &Format::MXFP4,
        rule,
        Shape::new(1, 1),
        &[largest],
        1.0,
        &mut scales,
    )
    .unwrap();
    scales[0]
}

pub(crate) fn table() -> String {
    let mut head: [String; LARGEST.len() + 2] = std::array::from_fn(|_| String::new());
    head[0] = "`ScaleRule::`".to_owned();
    for (cell, largest) in head[1..].iter_mut().zip(LARGEST) {
        *cell = largest.to_string();
    }
    head[LARGEST.len() + 1] = "who".to_owned();
    let rows = RULES.map(|(name, rule, who)| {
        let mut row: [String; LARGEST.len() + 2] = std::array::from_fn(|_| String::new());
        row[0] = format!("`{name}`");
        for (cell, largest) in row[1..].iter_mut().zip(LARGEST) {
            *cell = byte(rule, largest).to_string();
        }
        row[LARGEST.len() + 1] = who.to_owned();
        row
    });
    page::table(head.each_ref().map(String::as_str), &rows)
}

/// As the libraries gave them.
#[test]
fn bytes_are_those_published() {
    let published = [
        (
            ScaleRule::Floor,
            [
                125, 125, 125, 125, 126, 126, 126, 126, 127, 127, 127, 127, 128,
            ],
        ),
        (
            ScaleRule::Rceil,
            [
                125, 125, 126, 126, 126, 126, 127, 127, 127, 127, 128, 128, 128,
            ],
        ),
        (
            ScaleRule::Even,
            [
                125, 125, 125, 126, 126, 126, 126, 127, 127, 127, 127, 128, 128,
            ],
        ),
        (
            ScaleRule::Nearest,
            [
                124, 125, 125, 125, 125, 126, 126, 126, 126, 127, 127, 127, 127,
            ],
        ),
    ];
    for (rule, bytes) in published {
        assert_eq!(
            LARGEST.map(|largest| byte(rule, largest)),
            bytes,
            "{rule:?}"
        );
    }
}
