//! One block, number by number, of every kind of weight.

use blockscale::explain::{ElementSteps, Fields, ScaleSteps, code_at};
use blockscale::{Block as Covers, Format, ScaleElement, bf16};
use blockscale_model::catalog::PartRole;
use blockscale_model::view::{GgmlRows, Groups};
use blockscale_wgpu::{Number as NumberType, Window};
use serde::Serialize;

use crate::Sight;
use crate::held::Held;
use crate::js::{Number, SightError};
use crate::region::global_word;

/// One row of a block, with each step from bytes to numbers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Block {
    kind: &'static str,
    /// The first column that it covers.
    first_col: usize,
    /// The codes as they lie in the file; none where they do not lie together.
    bytes: Vec<u8>,
    bytes_at: Option<At>,
    pub(crate) scale: Option<Scale>,
    elements: Vec<Element>,
}

#[derive(Debug, Serialize)]
struct At {
    file: String,
    start: u64,
    end: u64,
}

/// A scale, with each step to what numbers are multiplied by.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scale {
    bytes: Vec<u8>,
    bytes_at: Option<At>,
    element: &'static str,
    fields: Option<FieldsJson>,
    block: Number,
    direction: &'static str,
    global: Option<Number>,
    unrounded: Number,
    scale: Number,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Element {
    code: u32,
    fields: Option<FieldsJson>,
    element: Number,
    zero: Option<i32>,
    bias: Option<Number>,
    factor: Number,
    unrounded: Number,
    value: Number,
    bf16: Number,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FieldsJson {
    sign: Option<u32>,
    exponent: u32,
    exponent_bits: u32,
    mantissa: u32,
    mantissa_bits: u32,
}

impl From<Fields> for FieldsJson {
    fn from(fields: Fields) -> Self {
        Self {
            sign: fields.sign,
            exponent: fields.exponent,
            exponent_bits: fields.exponent_bits,
            mantissa: fields.mantissa,
            mantissa_bits: fields.mantissa_bits,
        }
    }
}

/// The most elements of a block that are explained: a row of one scale may have any number.
const MOST_ELEMENTS: usize = 1024;

/// Columns that are shown at a time where nothing shares a scale.
const PLAIN_COLS: usize = 16;

impl Block {
    /// `block` counts scales along the row, or sixteen columns where there are none.
    pub(crate) fn of(sight: &Sight, row: usize, block: usize) -> Result<Self, SightError> {
        sight.values()?;
        let missing = SightError::NoBlock { row, block };
        if row >= sight.shape.rows {
            return Err(missing);
        }
        let found = match &sight.held {
            Held::Blocks(format) => sight.float_block(format, row, block),
            Held::Integers(groups) => sight.integers(groups, row, block),
            Held::Ggml(rows) => sight.ggml_block(rows, row, block),
            Held::Plain(Some(number)) => sight.plain(*number, row, block),
            Held::Plain(None) => None,
        };
        found.ok_or(missing)
    }
}

impl Scale {
    /// Of the scale in a row and a column of the plane.
    pub(crate) fn of(sight: &Sight, row: usize, col: usize) -> Result<Self, SightError> {
        let scales = sight.scales()?;
        let missing = SightError::NoScale { row, col };
        let bytes = scales.at(row, col).ok_or(missing)?;
        let at = row * scales.shape.cols + col;
        let bytes_at = sight.place(PartRole::BlockScale).map(|place| {
            let start = place.start + (at * scales.size) as u64;
            At {
                file: place.file.clone(),
                start,
                end: start + scales.size as u64,
            }
        });
        let number = || {
            let at = Window::new(row..row + 1, col..col + 1);
            let found = sight.numbers_of(crate::Layer::Scales, &at)?;
            Ok::<f32, SightError>(found.first().copied().unwrap_or(f32::NAN))
        };
        let element = scales.counted_as();
        let scale = match sight.format() {
            Ok((format, global)) => {
                let steps = ScaleSteps::of(format, bytes, global);
                Self {
                    bytes: bytes.to_vec(),
                    bytes_at,
                    element: scales.name,
                    fields: Fields::of_scale(element, bytes).map(FieldsJson::from),
                    block: steps.block.into(),
                    direction: global_word(format.global),
                    global: (format.global != blockscale::GlobalScale::None).then(|| global.into()),
                    unrounded: Number(steps.unrounded),
                    scale: steps.scale.into(),
                }
            }
            Err(_) => {
                let value = number()?;
                let fields = (element.bytes() == bytes.len())
                    .then(|| Fields::of_scale(element, bytes))
                    .flatten();
                Self {
                    bytes: bytes.to_vec(),
                    bytes_at,
                    element: scales.name,
                    fields: fields.map(FieldsJson::from),
                    block: value.into(),
                    direction: "none",
                    global: None,
                    unrounded: value.into(),
                    scale: value.into(),
                }
            }
        };
        Ok(scale)
    }
}

impl Sight {
    fn float_block(&self, format: &Format, row: usize, block: usize) -> Option<Block> {
        let scale_row = match format.block {
            Covers::Tensor => 0,
            _ => row / format.block_rows(self.shape.rows),
        };
        let scale = Scale::of(self, scale_row, block).ok()?;
        let factor = scale.scale.0 as f32;
        let row_bytes = format.row_bytes(self.shape.cols);
        let codes = self.values.as_ref()?.codes();
        let codes = codes.get(row * row_bytes..(row + 1) * row_bytes)?;
        let wide = format.block_cols(self.shape.cols);
        let first_col = block * wide;
        let cols = first_col..self.shape.cols.min(first_col + wide.min(MOST_ELEMENTS));
        let elements = cols.clone().filter_map(|col| {
            let code = code_at(format, codes, col)?;
            let of = ElementSteps::of(format, code, factor);
            Some(Element {
                code: u32::from(code),
                fields: Some(Fields::of_element(format.element, code).into()),
                element: of.element.into(),
                zero: None,
                bias: None,
                factor: scale.scale,
                unrounded: Number(of.unrounded),
                value: of.value.into(),
                bf16: of.bf16.to_f32().into(),
            })
        });
        // The bytes of whole blocks: a code of six bits may begin in the byte of another.
        let within = format.row_bytes(cols.start)..format.row_bytes(cols.end);
        let mut stored = codes.to_vec();
        self.reading.damage_in_rows(format, row_bytes, &mut stored);
        Some(Block {
            kind: "block",
            first_col,
            bytes_at: self.bytes_at(row, row_bytes, &within),
            bytes: stored.get(within)?.to_vec(),
            elements: elements.collect(),
            scale: Some(scale),
        })
    }

    fn integers(&self, groups: &Groups, row: usize, block: usize) -> Option<Block> {
        let scale = Scale::of(self, row, block).ok()?;
        // Columns may be in any group.
        let cols = 0..self.shape.cols;
        let mut first_col = None;
        let mut elements = Vec::new();
        for col in cols {
            let steps = groups.steps(row, col).ok()?;
            if steps.group != block {
                continue;
            }
            first_col.get_or_insert(col);
            elements.push(Element {
                code: u32::from(steps.stored),
                fields: None,
                element: Number(f64::from(steps.integer)),
                zero: steps.zero,
                bias: steps.bias.map(Number::from),
                factor: steps.scale.into(),
                unrounded: Number(steps.unrounded),
                value: steps.value.into(),
                bf16: bf16::from_f32(steps.value).to_f32().into(),
            });
            if elements.len() == MOST_ELEMENTS {
                break;
            }
        }
        Some(Block {
            kind: "integers",
            first_col: first_col?,
            bytes: Vec::new(),
            bytes_at: None,
            scale: Some(scale),
            elements,
        })
    }

    fn ggml_block(&self, rows: &GgmlRows, row: usize, block: usize) -> Option<Block> {
        let cols = rows.kind.scale_cols()?;
        let mut scale = Scale::of(self, row, block).ok()?;
        let first_col = block * cols;
        let mut elements = Vec::new();
        for col in first_col..first_col + cols {
            let steps = rows.steps(row, col)?;
            scale.block = steps.scale.into();
            scale.unrounded = Number(f64::from(steps.scale) * f64::from(rows.global));
            let value = steps.value * rows.global;
            elements.push(Element {
                code: u32::from(steps.code),
                fields: None,
                element: Number(f64::from(steps.integer)),
                zero: None,
                bias: None,
                factor: steps.factor.into(),
                unrounded: Number(steps.unrounded),
                value: value.into(),
                bf16: bf16::from_f32(value).to_f32().into(),
            });
        }
        scale.direction = if rows.global == 1.0 {
            "none"
        } else {
            "multiplier"
        };
        scale.global = (rows.global != 1.0).then(|| rows.global.into());
        let (len, size) = (rows.kind.block_len(), rows.kind.block_bytes());
        let start = first_col / len * size;
        let within = start..start + size;
        Some(Block {
            kind: "ggml",
            first_col,
            bytes_at: self.bytes_at(row, rows.kind.row_bytes(self.shape.cols)?, &within),
            bytes: rows.row(row)?.get(within)?.to_vec(),
            scale: Some(scale),
            elements,
        })
    }

    fn plain(&self, number: NumberType, row: usize, block: usize) -> Option<Block> {
        let first_col = block.checked_mul(PLAIN_COLS)?;
        let size = number.bytes();
        let element = match number {
            NumberType::F32 => ScaleElement::F32,
            NumberType::Bf16 => ScaleElement::Bf16,
            NumberType::F16 => ScaleElement::F16,
        };
        let cols = first_col..self.shape.cols.min(first_col + PLAIN_COLS);
        let row_bytes = self.shape.cols * size;
        let within = cols.start * size..cols.end * size;
        let all = self.values.as_ref()?.codes();
        let bytes = all.get(row * row_bytes..)?.get(within.clone())?;
        let elements = bytes.chunks_exact(size).map(|bytes| {
            let value = element.decode(bytes);
            let code = bytes
                .iter()
                .rev()
                .fold(0, |code, &b| code << 8 | u32::from(b));
            Element {
                code,
                fields: Fields::of_scale(element, bytes).map(FieldsJson::from),
                element: value.into(),
                zero: None,
                bias: None,
                factor: Number(1.0),
                unrounded: value.into(),
                value: value.into(),
                bf16: bf16::from_f32(value).to_f32().into(),
            }
        });
        (!cols.is_empty()).then(|| Block {
            kind: "plain",
            first_col,
            bytes_at: self.bytes_at(row, row_bytes, &within),
            bytes: bytes.to_vec(),
            scale: None,
            elements: elements.collect(),
        })
    }

    fn bytes_at(
        &self,
        row: usize,
        row_bytes: usize,
        within: &std::ops::Range<usize>,
    ) -> Option<At> {
        let place = self.place(PartRole::Codes)?;
        let row = place.start + (row * row_bytes) as u64;
        Some(At {
            file: place.file.clone(),
            start: row + within.start as u64,
            end: row + within.end as u64,
        })
    }
}
