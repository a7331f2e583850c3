//! One block, number by number.

use blockscale::explain::{ElementSteps, Fields, ScaleSteps, code_at};
use blockscale::{Block as Covers, GlobalScale};
use serde::Serialize;

use crate::Sight;
use crate::js::{Number, SightError};

/// One row of a block, with each step from bytes to numbers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Block {
    /// The first column that it covers.
    first_col: usize,
    scale: Scale,
    elements: Vec<Element>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Scale {
    bytes: Vec<u8>,
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
    code: u8,
    fields: FieldsJson,
    element: Number,
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
        let Fields {
            sign,
            exponent,
            exponent_bits,
            mantissa,
            mantissa_bits,
        } = fields;
        Self {
            sign,
            exponent,
            exponent_bits,
            mantissa,
            mantissa_bits,
        }
    }
}

/// The most elements of a block that are explained: a row of one scale may have any number.
const MOST_ELEMENTS: usize = 1024;

impl Block {
    pub(crate) fn of(sight: &Sight, row: usize, block: usize) -> Result<Self, SightError> {
        sight.values()?;
        let (plane, shape) = (&sight.scales()?.plane, sight.shape);
        let format = &plane.format;
        let missing = SightError::NoBlock { row, block };
        if row >= shape.rows || block >= plane.shape.cols {
            return Err(missing);
        }
        let scale_row = match format.block {
            Covers::Tensor => 0,
            _ => row / format.block_rows(shape.rows),
        };
        let size = format.scale.bytes();
        let first = (scale_row * plane.shape.cols + block) * size;
        let Some(scale) = plane.bytes.get(first..first + size) else {
            return Err(missing);
        };
        let steps = ScaleSteps::of(format, scale, plane.global);

        let row_bytes = format.row_bytes(shape.cols);
        let Some(codes) = sight.codes.get(row * row_bytes..(row + 1) * row_bytes) else {
            return Err(missing);
        };
        let wide = format.block_cols(shape.cols);
        let first_col = block * wide;
        let cols = first_col..shape.cols.min(first_col + wide.min(MOST_ELEMENTS));
        let elements = cols.filter_map(|col| {
            let code = code_at(format, codes, col)?;
            let of = ElementSteps::of(format, code, steps.scale);
            Some(Element {
                code,
                fields: Fields::of_element(format.element, code).into(),
                element: of.element.into(),
                unrounded: Number(of.unrounded),
                value: of.value.into(),
                bf16: of.bf16.to_f32().into(),
            })
        });
        Ok(Self {
            first_col,
            elements: elements.collect(),
            scale: Scale {
                bytes: scale.to_vec(),
                element: format.scale.name(),
                fields: Fields::of_scale(format.scale, scale).map(FieldsJson::from),
                block: steps.block.into(),
                direction: match format.global {
                    GlobalScale::None => "none",
                    GlobalScale::Multiplier => "multiplier",
                    GlobalScale::Divisor => "divisor",
                },
                global: (format.global != GlobalScale::None).then(|| plane.global.into()),
                unrounded: Number(steps.unrounded),
                scale: steps.scale.into(),
            },
        })
    }
}
