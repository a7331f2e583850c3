//! How a dialect writes a block format: names, dtypes and shapes of the parts.

use blockscale::format::{Block, Element, Format, GlobalScale, ScaleElement};
use safetensors::Dtype;

use super::Dialect;

/// The parts of a written weight, as suffixes of its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Suffix of the codes.
    pub(crate) codes: &'static str,
    /// Dtype of FP4 codes.
    pub(crate) packed_dtype: Dtype,
    /// Whether the blocks of a row have an axis of their own.
    pub(crate) block_axis: BlockAxis,
    /// Suffix of the block scale.
    pub(crate) scale: &'static str,
    /// Dtype of power-of-two scales.
    pub(crate) exponent_dtype: Dtype,
    /// Shape of a scale for each row.
    pub(crate) rows: RowScale,
    /// Suffix and shape of the global scale.
    pub(crate) global: (&'static str, &'static [usize]),
    /// Shape of one scale for the tensor.
    pub(crate) single: &'static [usize],
}

/// Axes of a row of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockAxis {
    /// `[.., bytes]`
    Flat,
    /// `[.., blocks, bytes of a block]`
    Blocks,
}

/// Shape of a scale plane with one scale for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowScale {
    /// `[rows]`
    Vector,
    /// `[rows, 1]`
    Column,
}

const MODELOPT: Written = Written {
    codes: ".weight",
    packed_dtype: Dtype::U8,
    block_axis: BlockAxis::Flat,
    scale: ".weight_scale",
    exponent_dtype: Dtype::U8,
    rows: RowScale::Vector,
    global: (".weight_scale_2", &[]),
    single: &[],
};

const COMPRESSED_TENSORS: Written = Written {
    codes: ".weight",
    packed_dtype: Dtype::U8,
    block_axis: BlockAxis::Flat,
    scale: ".weight_scale",
    exponent_dtype: Dtype::U8,
    rows: RowScale::Column,
    global: (".weight_global_scale", &[1]),
    single: &[1],
};

const DEEPSEEK: Written = Written {
    codes: ".weight",
    packed_dtype: Dtype::I8,
    block_axis: BlockAxis::Flat,
    scale: ".weight_scale_inv",
    exponent_dtype: Dtype::F8_E8M0,
    rows: RowScale::Column,
    global: ("", &[]),
    single: &[],
};

const GPT_OSS: Written = Written {
    codes: "_blocks",
    packed_dtype: Dtype::U8,
    block_axis: BlockAxis::Blocks,
    scale: "_scales",
    exponent_dtype: Dtype::U8,
    rows: RowScale::Column,
    global: ("", &[]),
    single: &[],
};

impl Dialect {
    /// The dialect in which a format is usually written.
    pub(crate) fn usual(format: &Format) -> Self {
        match (format.element, format.block) {
            (Element::E2m1, _) if format.global == GlobalScale::Multiplier => Self::Modelopt,
            (Element::E4m3Fn, Block::Grid { rows, .. }) if rows > 1 => Self::Deepseek,
            _ => Self::CompressedTensors,
        }
    }

    /// The format as this dialect has it: which way the global scale is applied,
    /// and the type of float scales, which compressed-tensors keeps in the
    /// model's own dtype. `None` if the dialect has no such format.
    pub(crate) fn variant(self, format: Format, model_dtype: ScaleElement) -> Option<Format> {
        let fp8 = format.element == Element::E4m3Fn;
        let one_scale_in = |block| format.block == block;
        match self {
            Self::Modelopt => {
                let known = format.global == GlobalScale::Multiplier
                    || format.scale == ScaleElement::E8m0Fnu && !is_square(&format)
                    || fp8 && one_scale_in(Block::Row);
                known.then_some(format)
            }
            Self::CompressedTensors => Some(match (format.global, format.scale) {
                (GlobalScale::Multiplier, _) => Format::NVFP4_DIVISOR,
                (_, ScaleElement::F32) => Format {
                    scale: model_dtype,
                    ..format
                },
                _ => format,
            })
            .filter(|f| f.scale != ScaleElement::E8m0Fnu || !is_square(f)),
            Self::Deepseek => (fp8 && is_square(&format)).then_some(format),
            Self::GptOss => (format == Format::MXFP4).then_some(format),
            _ => None,
        }
    }

    /// The parts as this dialect writes them.
    pub(crate) fn written(self, format: &Format) -> Written {
        match self {
            Self::CompressedTensors if format.element == Element::E2m1 => Written {
                codes: ".weight_packed",
                ..COMPRESSED_TENSORS
            },
            Self::CompressedTensors => COMPRESSED_TENSORS,
            Self::Deepseek => DEEPSEEK,
            Self::GptOss => GPT_OSS,
            _ => MODELOPT,
        }
    }
}

/// A block that covers several rows and columns.
fn is_square(format: &Format) -> bool {
    matches!(format.block, Block::Grid { rows, .. } if rows > 1)
}
