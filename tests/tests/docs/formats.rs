//! The tables of formats, from the parts of each.

use blockscale::format::Packing;
use blockscale::ggml::GgmlType;
use blockscale::layout::ScaleLayout;
use blockscale::{Block, Format, GlobalScale};

use crate::page::{self, read};
use crate::source;

macro_rules! formats {
    ($($name:ident)*) => {
        [$((stringify!($name), Format::$name)),*]
    };
}

const FORMATS: [(&str, Format); 14] = formats![
    NVFP4 NVFP4_DIVISOR NVFP4_ONE_LEVEL MXFP4 MXFP6_E2M3 MXFP6_E3M2 MXFP8_E4M3 MXFP8_E5M2
    FP8_BLOCK FP8_BLOCK_UE8M0 FP8_TOKEN FP8_TOKEN_UE8M0 FP8_CHANNEL FP8_TENSOR
];

pub(crate) fn table() -> String {
    let head = [
        "`Format::`",
        "codes",
        "one scale for",
        "scale",
        "second level",
        "value",
        "bits a weight",
    ];
    let row = |(name, format): (&str, Format)| {
        [
            format!("`{name}`"),
            codes(&format),
            block(format.block),
            format.scale.to_string(),
            second_level(format.global).to_owned(),
            value(format.global).to_owned(),
            bits_a_weight(&format),
        ]
    };
    page::table(head, &FORMATS.map(row))
}

fn codes(format: &Format) -> String {
    let packed = match (format.element.bits(), format.packing) {
        (4, Packing::Dense) => ", 2 a byte",
        (6, Packing::Dense) => ", 4 in 3 bytes",
        _ => "",
    };
    format!("{}{packed}", format.element)
}

fn block(block: Block) -> String {
    match block {
        Block::Grid { rows: 1, cols } => format!("{cols} columns"),
        Block::Grid { rows, cols } => format!("{rows} x {cols}"),
        Block::Row => "a row".to_owned(),
        Block::Tensor => "the tensor".to_owned(),
    }
}

fn second_level(global: GlobalScale) -> &'static str {
    match global {
        GlobalScale::None => "",
        GlobalScale::Multiplier => "F32, multiplies",
        GlobalScale::Divisor => "F32, divides",
    }
}

fn value(global: GlobalScale) -> &'static str {
    match global {
        GlobalScale::None => "`e * s`",
        GlobalScale::Multiplier => "`e * (s * g)`",
        GlobalScale::Divisor => "`e * (s / g)`",
    }
}

/// Of codes and block scales; what there is one of in a row or a tensor comes to nothing.
fn bits_a_weight(format: &Format) -> String {
    let scale = match format.block {
        Block::Grid { rows, cols } => format.scale.bytes() as f64 * 8.0 / (rows * cols) as f64,
        Block::Row | Block::Tensor => 0.0,
    };
    short(format.element.bits() as f64 + scale)
}

/// To four decimals at most.
fn short(x: f64) -> String {
    let text = format!("{x:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(crate) fn ggml_table() -> String {
    let head = [
        "type",
        "id",
        "elements a block",
        "bytes a block",
        "bits a weight",
    ];
    let row = |ty: GgmlType| {
        let bits = ty.block_bytes() as f64 * 8.0 / ty.block_len() as f64;
        let numbers = [ty.id() as usize, ty.block_len(), ty.block_bytes()];
        let [id, elements, bytes] = numbers.map(|n| n.to_string());
        [ty.to_string(), id, elements, bytes, short(bits)]
    };
    page::table(head, &GgmlType::ALL.map(row))
}

#[test]
fn every_format_has_a_row() {
    assert_eq!(
        FORMATS.map(|(name, _)| name).as_slice(),
        source::names("format/mod.rs")
    );
}

#[test]
fn every_layout_has_a_row() {
    let page = read("docs/layouts.md");
    let (table, _) = page.split_once("## Three rules").unwrap();
    for layout in ScaleLayout::ALL {
        // Which blocks of rows are shuffled is told in the text.
        let name = layout.name().trim_end_matches("-shuffle16");
        assert!(table.contains(&format!("`{name}`")), "{layout}");
    }
    assert!(page.contains("-shuffle16"));
}
