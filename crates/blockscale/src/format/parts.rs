use std::fmt;

use half::{bf16, f16};

use crate::element::{E2m1, E2m3, E3m2, E4m3Fn, E4m3Fnuz, E5m2, E8m0Fnu, EncodePolicy};

/// Type of the codes of a block format: the types of [`element`](crate::element) as a value.
///
/// ```
/// use blockscale::Element;
///
/// let element = Element::E2m1;
/// assert_eq!((element.bits(), element.max_finite()), (4, 6.0));
/// assert_eq!(element.encode(-2.9), 0xd);
/// assert_eq!(element.decode(0xd), -3.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Element {
    /// [`E2m1`].
    E2m1,
    /// [`E2m3`].
    E2m3,
    /// [`E3m2`].
    E3m2,
    /// [`E4m3Fn`].
    E4m3Fn,
    /// [`E4m3Fnuz`].
    E4m3Fnuz,
    /// [`E5m2`].
    E5m2,
}

impl Element {
    /// Bits of one code.
    pub const fn bits(self) -> usize {
        match self {
            Self::E2m1 => 4,
            Self::E2m3 | Self::E3m2 => 6,
            Self::E4m3Fn | Self::E4m3Fnuz | Self::E5m2 => 8,
        }
    }

    /// The largest finite value.
    pub const fn max_finite(self) -> f32 {
        match self {
            Self::E2m1 => E2m1::MAX.to_f32(),
            Self::E2m3 => E2m3::MAX.to_f32(),
            Self::E3m2 => E3m2::MAX.to_f32(),
            Self::E4m3Fn => E4m3Fn::MAX.to_f32(),
            Self::E4m3Fnuz => E4m3Fnuz::MAX.to_f32(),
            Self::E5m2 => E5m2::MAX.to_f32(),
        }
    }

    /// The exact value of a code, which lies in the low [`bits`](Self::bits) of `code`.
    pub const fn decode(self, code: u8) -> f32 {
        match self {
            Self::E2m1 => E2m1::from_bits(code).to_f32(),
            Self::E2m3 => E2m3::from_bits(code).to_f32(),
            Self::E3m2 => E3m2::from_bits(code).to_f32(),
            Self::E4m3Fn => E4m3Fn::from_bits(code).to_f32(),
            Self::E4m3Fnuz => E4m3Fnuz::from_bits(code).to_f32(),
            Self::E5m2 => E5m2::from_bits(code).to_f32(),
        }
    }

    /// The code nearest to `value`: `from_f32` of the element type.
    pub const fn encode(self, value: f32) -> u8 {
        match self {
            Self::E2m1 => E2m1::from_f32(value).to_bits(),
            Self::E2m3 => E2m3::from_f32(value).to_bits(),
            Self::E3m2 => E3m2::from_f32(value).to_bits(),
            Self::E4m3Fn => E4m3Fn::from_f32(value).to_bits(),
            Self::E4m3Fnuz => E4m3Fnuz::from_f32(value).to_bits(),
            Self::E5m2 => E5m2::from_f32(value).to_bits(),
        }
    }

    /// The code that `policy` gives `value`: `from_f32_with` of the element type.
    pub const fn encode_with(self, value: f32, policy: &EncodePolicy) -> u8 {
        match self {
            Self::E2m1 => E2m1::from_f32_with(value, policy).to_bits(),
            Self::E2m3 => E2m3::from_f32_with(value, policy).to_bits(),
            Self::E3m2 => E3m2::from_f32_with(value, policy).to_bits(),
            Self::E4m3Fn => E4m3Fn::from_f32_with(value, policy).to_bits(),
            Self::E4m3Fnuz => E4m3Fnuz::from_f32_with(value, policy).to_bits(),
            Self::E5m2 => E5m2::from_f32_with(value, policy).to_bits(),
        }
    }

    /// Stored bits of the fraction.
    pub const fn mantissa_bits(self) -> u32 {
        match self {
            Self::E2m1 => 1,
            Self::E3m2 | Self::E5m2 => 2,
            Self::E2m3 | Self::E4m3Fn | Self::E4m3Fnuz => 3,
        }
    }

    /// Exponent of the largest finite value, `floor(log2(max))`: the `emax` of the OCP rules.
    ///
    /// ```
    /// use blockscale::Element;
    ///
    /// assert_eq!((Element::E2m1.max_exponent(), Element::E5m2.max_exponent()), (2, 15));
    /// ```
    pub const fn max_exponent(self) -> i32 {
        (self.max_finite().to_bits() >> 23) as i32 - 127
    }

    /// Short name, such as `E2M1` or `E4M3`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E2m1 => "E2M1",
            Self::E2m3 => "E2M3",
            Self::E3m2 => "E3M2",
            Self::E4m3Fn => "E4M3",
            Self::E4m3Fnuz => "E4M3FNUZ",
            Self::E5m2 => "E5M2",
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How the codes of a row lie in its bytes.
///
/// For elements of 8 bits the two are the same.
///
/// ```
/// use blockscale::decode::{Rows, decode_rows};
/// use blockscale::format::Packing;
/// use blockscale::{Format, Shape};
///
/// // Codes 1, 2, 3 and 4 of E2M3, which are eighths, under the scale 1.
/// let decode = |packing, codes: &[u8]| {
///     let rows = Rows { codes, scales: &[127], global: 1.0 };
///     let mut out = [0.0_f32; 4];
///     decode_rows(&Format::MXFP6_E2M3.packed(packing), Shape::new(1, 4), rows, &mut out)
///         .map(|()| out)
/// };
/// let values = [0.125, 0.25, 0.375, 0.5];
/// assert_eq!(decode(Packing::Dense, &[0x81, 0x30, 0x10])?, values);
/// assert_eq!(decode(Packing::Bytes, &[1, 2, 3, 4])?, values);
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Without gaps, the first code in the lowest bits: two E2M1 codes in a byte, the even column
    /// in the low four bits; four 6-bit codes in three bytes, column `i` of them in bits `6 i` to
    /// `6 i + 5`. Each row starts a byte, and the bits after its last code are zero.
    Dense,
    /// One code in the low bits of each byte, the high bits zero (torchao's MXFP6).
    Bytes,
}

/// Type of the scales of a block format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScaleElement {
    /// [`E4m3Fn`].
    E4m3Fn,
    /// [`E8m0Fnu`], a power of two.
    E8m0Fnu,
    /// `f32`.
    F32,
    /// `bf16`, the upper half of an `f32`.
    Bf16,
    /// `f16`, the IEEE 754 half.
    F16,
}

impl ScaleElement {
    /// Bytes of one scale.
    pub const fn bytes(self) -> usize {
        match self {
            Self::E4m3Fn | Self::E8m0Fnu => 1,
            Self::Bf16 | Self::F16 => 2,
            Self::F32 => 4,
        }
    }

    /// The exact value of one scale from its little-endian bytes.
    ///
    /// NaN where `scale` does not have [`bytes`](Self::bytes) bytes: no number could be right.
    ///
    /// ```
    /// use blockscale::ScaleElement;
    ///
    /// // UE8M0 scales are often stored as U8: 120 is 2^-7 there, not 120.
    /// assert_eq!(ScaleElement::E8m0Fnu.decode(&[120]), 0.0078125);
    /// assert_eq!(ScaleElement::E4m3Fn.decode(&[56]), 1.0);
    /// ```
    pub fn decode(self, scale: &[u8]) -> f32 {
        match (self, scale) {
            (Self::E4m3Fn, &[code]) => E4m3Fn::from_bits(code).to_f32(),
            (Self::E8m0Fnu, &[code]) => E8m0Fnu::from_bits(code).to_f32(),
            (Self::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (Self::Bf16, &[a, b]) => bf16::from_le_bytes([a, b]).to_f32(),
            (Self::F16, &[a, b]) => f16::from_le_bytes([a, b]).to_f32(),
            _ => f32::NAN,
        }
    }

    /// Short name: `E4M3`, `UE8M0`, `F32`, `BF16` or `F16`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E4m3Fn => "E4M3",
            Self::E8m0Fnu => "UE8M0",
            Self::F32 => "F32",
            Self::Bf16 => "BF16",
            Self::F16 => "F16",
        }
    }
}

impl fmt::Display for ScaleElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What one scale covers.
///
/// ```
/// use blockscale::{Block, Format, Shape};
///
/// let scales = |block| Format { block, ..Format::FP8_BLOCK }.scale_shape(Shape::new(144, 272));
/// assert_eq!(scales(Block::Grid { rows: 128, cols: 128 }), Shape::new(2, 3));
/// assert_eq!(scales(Block::Row), Shape::new(144, 1));
/// assert_eq!(scales(Block::Tensor), Shape::new(1, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Block {
    /// `rows` x `cols` elements, counted from the first row and column; 0 is read as 1.
    Grid {
        /// Rows of a block.
        rows: usize,
        /// Columns of a block.
        cols: usize,
    },
    /// One row of whatever length, that is, one output channel.
    Row,
    /// The whole tensor.
    Tensor,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grid { rows, cols } => write!(f, "{rows}x{cols}"),
            Self::Row => f.write_str("per channel"),
            Self::Tensor => f.write_str("per tensor"),
        }
    }
}

/// The second level of scales: one F32 for the whole tensor, and how it is applied.
///
/// Checkpoints name either kind "scale"; a mix-up is an error of many orders of magnitude, so the
/// direction is part of the format.
///
/// ```
/// use blockscale::{Format, GlobalScale};
///
/// let scale = |global| Format { global, ..Format::NVFP4 }.effective_scale(&[0x38], 4.0);
/// assert_eq!(scale(GlobalScale::None), 1.0);
/// assert_eq!(scale(GlobalScale::Multiplier), 4.0);
/// assert_eq!(scale(GlobalScale::Divisor), 0.25);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GlobalScale {
    /// There is none.
    None,
    /// The block scale is multiplied by it (ModelOpt, torchao).
    Multiplier,
    /// The block scale is divided by it (compressed-tensors).
    Divisor,
}

/// What follows the name of the block scale: nothing, or the direction.
impl fmt::Display for GlobalScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Multiplier => f.write_str(" x global"),
            Self::Divisor => f.write_str(" / global"),
        }
    }
}
