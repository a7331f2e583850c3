//! Formats and schemes as the kernels take them, by value.

use blockscale::element::{EncodePolicy, NanCode, Overflow, Ties, ZeroSign};
use blockscale::encode::{
    ErrorMeasure, GlobalRule, Intermediate, Quotient, ScaleOrder, ScaleRule, Scheme, ZeroScale,
};
use blockscale::format::Packing;
use blockscale::{Block, Element, Format, GlobalScale, ScaleElement, Shape};
use cudarc::driver::DeviceRepr;

use crate::CudaError;
use crate::operand::DeviceReal;

/// `FormatDesc` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormatDesc {
    element: u32,
    packing: u32,
    scale: u32,
    global_kind: u32,
    block_rows: u64,
    block_cols: u64,
    reserved: u64,
}

// SAFETY: `repr(C)`, of plain integers without padding, the same fields in the same order as the
// kernels' struct.
unsafe impl DeviceRepr for FormatDesc {}

const _: () = assert!(size_of::<FormatDesc>() == 40);

/// `SchemeDesc` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SchemeDesc {
    rule: u32,
    rule_argument: u32,
    global_rule: u32,
    order: u32,
    min_scale: f32,
    zero: u32,
    zero_scale: f32,
    quotient: u32,
    ties: u32,
    overflow: u32,
    zero_sign: u32,
    nan: u32,
    nan_code: u32,
    intermediate: u8,
    weight: u8,
    unused: [u8; 2],
}

// SAFETY: as for `FormatDesc`.
unsafe impl DeviceRepr for SchemeDesc {}

const _: () = assert!(size_of::<SchemeDesc>() == 56);

fn not_on_device(what: impl std::fmt::Debug) -> CudaError {
    CudaError::NotOnDevice {
        what: format!("{what:?}"),
    }
}

impl FormatDesc {
    /// `shape` is that of one matrix, whole: it settles the block of formats with one scale a row or
    /// a tensor.
    pub(crate) fn new(format: &Format, shape: Shape) -> Result<Self, CudaError> {
        let element = match format.element {
            Element::E2m1 => 0,
            Element::E2m3 => 1,
            Element::E3m2 => 2,
            Element::E4m3Fn => 3,
            Element::E4m3Fnuz => 4,
            Element::E5m2 => 5,
            other => return Err(not_on_device(other)),
        };
        let (block_rows, block_cols) = match format.block {
            Block::Grid { rows, cols } => (rows.max(1), cols.max(1)),
            Block::Row => (1, shape.cols.max(1)),
            Block::Tensor => (shape.rows.max(1), shape.cols.max(1)),
        };
        Ok(Self {
            element,
            packing: packing(format.packing),
            scale: scale_element(format.scale)?,
            global_kind: global_kind(format),
            block_rows: block_rows as u64,
            block_cols: block_cols as u64,
            reserved: 0,
        })
    }
}

pub(crate) const fn packing(packing: Packing) -> u32 {
    match packing {
        Packing::Dense => 0,
        Packing::Bytes => 1,
    }
}

pub(crate) fn scale_element(element: ScaleElement) -> Result<u32, CudaError> {
    Ok(match element {
        ScaleElement::E4m3Fn => 0,
        ScaleElement::E8m0Fnu => 1,
        ScaleElement::F32 => 2,
        ScaleElement::Bf16 => 3,
        ScaleElement::F16 => 4,
        other => return Err(not_on_device(other)),
    })
}

pub(crate) const fn global_kind(format: &Format) -> u32 {
    match format.global {
        GlobalScale::None => 0,
        GlobalScale::Multiplier => 1,
        GlobalScale::Divisor => 2,
    }
}

impl SchemeDesc {
    /// `T` is the type of the numbers to encode, which some schemes round intermediate results to.
    pub(crate) fn new<T: DeviceReal>(format: &Format, scheme: &Scheme) -> Result<Self, CudaError> {
        let (rule, rule_argument) = rule(scheme.rule)?;
        let (zero, zero_scale) = match scheme.zero {
            ZeroScale::OfZeros(scale) => (0, scale),
            ZeroScale::OfUnderflow(scale) => (1, scale),
            ZeroScale::Epsilon => (2, epsilon(format.scale)?),
            ZeroScale::Smallest => (3, 0.0),
            ZeroScale::Kept => (4, 0.0),
            ZeroScale::InverseOfGlobal => (5, 0.0),
        };
        let EncodePolicy {
            ties,
            overflow,
            zero: zero_sign,
            nan,
        } = scheme.policy;
        let (nan, nan_code) = match nan {
            NanCode::OfType => (0, 0),
            NanCode::Fixed(code) => (1, code),
            NanCode::Signed(code) => (2, code),
            NanCode::Opposite(code) => (3, code),
            NanCode::Payload => (4, 0),
        };
        Ok(Self {
            rule,
            rule_argument,
            global_rule: match scheme.global {
                GlobalRule::Divide => 0,
                GlobalRule::Reciprocal => 1,
            },
            order: match scheme.order {
                ScaleOrder::ProductFirst => 0,
                ScaleOrder::QuotientFirst => 1,
            },
            min_scale: scheme.min_scale,
            zero,
            zero_scale,
            quotient: match scheme.quotient {
                Quotient::Divide => 0,
                Quotient::Reciprocal => 1,
                Quotient::ReciprocalByLevel => 2,
                Quotient::DivideNormal => 3,
                Quotient::ReciprocalNormal => 4,
            },
            ties: match ties {
                Ties::Even => 0,
                Ties::TowardZero => 1,
                Ties::Away => 2,
            },
            overflow: match overflow {
                Overflow::Saturate => 0,
                Overflow::Special => 1,
            },
            zero_sign: match zero_sign {
                ZeroSign::Keep => 0,
                ZeroSign::Drop => 1,
                ZeroSign::DropRounded => 2,
                ZeroSign::Negative => 3,
            },
            nan,
            nan_code: u32::from(nan_code),
            intermediate: match scheme.intermediate {
                Intermediate::F32 => 0,
                Intermediate::Scales => 1,
                Intermediate::ScalesAndQuotients => 2,
            },
            weight: T::NUMBER,
            unused: [0; 2],
        })
    }
}

/// The distance from 1 to the next number of the type.
fn epsilon(element: ScaleElement) -> Result<f32, CudaError> {
    let fraction_bits = match element {
        ScaleElement::E4m3Fn => 3,
        ScaleElement::E8m0Fnu => 0,
        ScaleElement::F32 => 23,
        ScaleElement::Bf16 => 7,
        ScaleElement::F16 => 10,
        other => return Err(not_on_device(other)),
    };
    Ok(f32::from_bits((127 - fraction_bits) << 23))
}

fn rule(rule: ScaleRule) -> Result<(u32, u32), CudaError> {
    Ok(match rule {
        ScaleRule::Amax => (0, 0),
        ScaleRule::AmaxReciprocal => (1, 0),
        ScaleRule::AmaxMin1e4 => (2, 0),
        ScaleRule::Floor => (3, 0),
        ScaleRule::Ceil => (4, 0),
        ScaleRule::Rceil => (5, 0),
        ScaleRule::RceilMin1e4 => (6, 0),
        ScaleRule::Even => (7, 0),
        ScaleRule::EvenAt { mantissa_bits } => (8, u32::from(mantissa_bits)),
        ScaleRule::Nearest => (9, 0),
        ScaleRule::FourOverSix(ErrorMeasure::Absolute) => (10, 0),
        ScaleRule::FourOverSix(ErrorMeasure::Squared) => (10, 1),
        ScaleRule::MseSearch => (11, 0),
        other => return Err(not_on_device(other)),
    })
}

/// Whether the scale of a block is searched for, which needs its values again.
pub(crate) const fn searches(rule: ScaleRule) -> bool {
    matches!(rule, ScaleRule::FourOverSix(_) | ScaleRule::MseSearch)
}

#[cfg(test)]
mod tests {
    use blockscale::bf16;

    use super::*;

    #[test]
    fn a_block_of_a_row_or_a_tensor_takes_its_size_from_the_matrix() {
        let shape = Shape::new(5, 7);
        let of = |format: Format| {
            let desc = FormatDesc::new(&format, shape).unwrap();
            (desc.block_rows, desc.block_cols)
        };
        assert_eq!(of(Format::FP8_CHANNEL), (1, 7));
        assert_eq!(of(Format::FP8_TENSOR), (5, 7));
        assert_eq!(of(Format::FP8_BLOCK), (128, 128));
    }

    #[test]
    fn parts_of_a_scheme_have_the_numbers_of_the_kernels() {
        let desc = SchemeDesc::new::<f32>(&Format::MXFP4, &Scheme::MODELOPT_MXFP4).unwrap();
        assert_eq!((desc.rule, desc.ties, desc.zero_sign), (5, 1, 3));
        let desc = SchemeDesc::new::<bf16>(&Format::NVFP4, &Scheme::TORCHAO_NVFP4).unwrap();
        assert_eq!((desc.order, desc.zero, desc.quotient), (1, 3, 2));
        assert_eq!(desc.min_scale, 0.015625);
        let scheme = Scheme::COMPRESSED_TENSORS_MXFP6;
        let desc = SchemeDesc::new::<bf16>(&Format::MXFP6_E2M3, &scheme).unwrap();
        assert_eq!((desc.rule, desc.nan, desc.nan_code), (7, 1, 0x20));
    }

    #[test]
    fn an_epsilon_is_that_of_the_scale_type() {
        let scheme = Scheme::COMPRESSED_TENSORS_NVFP4;
        let zero_scale = |format| SchemeDesc::new::<f32>(&format, &scheme).unwrap().zero_scale;
        assert_eq!(zero_scale(Format::NVFP4_DIVISOR), 0.125);
        assert_eq!(zero_scale(Format::FP8_BLOCK), f32::EPSILON);
    }

    #[test]
    fn a_scheme_that_computes_in_the_type_of_the_weight_is_told_that_type() {
        let scheme = Scheme::COMPRESSED_TENSORS_NVFP4;
        let desc = SchemeDesc::new::<bf16>(&Format::NVFP4_DIVISOR, &scheme).unwrap();
        assert_eq!((desc.intermediate, desc.weight), (1, 1));
    }
}
