//! Weights as they lie in memory.

use std::borrow::Cow;
use std::fmt;

use blockscale::decode::{Rows, decode_rows};
use blockscale::{Format, LenMismatch, ScaleElement, Shape, bf16, f16};

use crate::RequestError;

/// Type of numbers that are stored as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// `f32`.
    F32,
    /// `bf16`.
    Bf16,
    /// `f16`, the IEEE 754 half.
    F16,
}

impl Number {
    /// Bytes of one number.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::Bf16 | Self::F16 => 2,
        }
    }
}

/// What the bytes of a weight are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Codes and scales of a block format.
    Blocks(Format),
    /// Plain numbers in little-endian bytes.
    Numbers(Number),
}

/// The name of the format or of the number type.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocks(format) => format.fmt(f),
            Self::Numbers(Number::F32) => f.pad("F32"),
            Self::Numbers(Number::Bf16) => f.pad("BF16"),
            Self::Numbers(Number::F16) => f.pad("F16"),
        }
    }
}

impl Kind {
    pub(crate) fn format(self, what: &'static str) -> Result<Format, RequestError> {
        match self {
            Self::Blocks(format) => Ok(format),
            Self::Numbers(_) => Err(RequestError::NotInBlocks { kind: self, what }),
        }
    }

    /// The format, if each of its scales is one byte.
    pub(crate) fn format_with_scale_codes(self) -> Result<Format, RequestError> {
        let format = self.format("scales")?;
        match format.scale {
            ScaleElement::E4m3Fn | ScaleElement::E8m0Fnu => Ok(format),
            _ => Err(RequestError::NoScaleCodes { kind: self }),
        }
    }

    pub(crate) fn scale_shape(self, shape: Shape) -> Result<Shape, RequestError> {
        Ok(self.format("scales")?.scale_shape(shape))
    }

    /// Bytes that the codes or numbers of one row take.
    pub(crate) fn row_bytes(self, cols: usize) -> usize {
        match self {
            Self::Blocks(format) => format.row_bytes(cols),
            Self::Numbers(number) => cols.saturating_mul(number.bytes()),
        }
    }
}

/// A weight in memory: a matrix in a block format, or of plain numbers.
///
/// ```
/// use blockscale::decode::Rows;
/// use blockscale::{Format, Shape};
/// use blockscale_wgpu::Stored;
///
/// let rows = Rows { codes: &[0x10; 16], scales: &[0x38; 2], global: 1.0 };
/// let weight = Stored::blocks(&Format::NVFP4, Shape::new(2, 16), rows)?;
/// assert_eq!(weight.shape(), Shape::new(2, 16));
/// # Ok::<(), blockscale_wgpu::RequestError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<'a> {
    kind: Kind,
    shape: Shape,
    codes: Cow<'a, [u8]>,
    scales: Cow<'a, [u8]>,
    global: f32,
}

impl<'a> Stored<'a> {
    /// A whole matrix of `shape` elements in a block format.
    ///
    /// # Errors
    ///
    /// [`LenMismatch`] where codes or scales are not as long as the shape asks for.
    pub fn blocks(format: &Format, shape: Shape, rows: Rows<'a>) -> Result<Self, RequestError> {
        check("codes", format.code_bytes(shape), rows.codes)?;
        check("scales", format.scale_bytes(shape), rows.scales)?;
        Ok(Self {
            kind: Kind::Blocks(*format),
            shape,
            codes: Cow::Borrowed(rows.codes),
            scales: Cow::Borrowed(rows.scales),
            global: rows.global,
        })
    }

    /// A whole matrix of `shape` plain numbers, row by row.
    ///
    /// # Errors
    ///
    /// [`LenMismatch`] where the bytes are not as long as the shape asks for.
    pub fn numbers(number: Number, shape: Shape, bytes: &'a [u8]) -> Result<Self, RequestError> {
        let expected = shape.len().and_then(|len| len.checked_mul(number.bytes()));
        check("bytes", expected, bytes)?;
        Ok(Self {
            kind: Kind::Numbers(number),
            shape,
            codes: Cow::Borrowed(bytes),
            scales: Cow::Borrowed(&[]),
            global: 1.0,
        })
    }

    /// The same with bytes of its own.
    pub fn into_owned(self) -> Stored<'static> {
        Stored {
            codes: Cow::Owned(self.codes.into_owned()),
            scales: Cow::Owned(self.scales.into_owned()),
            ..self
        }
    }

    /// What the bytes are.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Rows and columns in elements.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Codes or numbers, as they are stored.
    pub fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// Scales, as they are stored.
    pub fn scales(&self) -> &[u8] {
        &self.scales
    }

    pub(crate) fn global(&self) -> f32 {
        self.global
    }

    /// The numbers of one row, which `out` has room for.
    pub(crate) fn decode_row(&self, row: usize, out: &mut [f32]) -> Result<(), RequestError> {
        let row_bytes = self.kind.row_bytes(self.shape.cols);
        let codes = &self.codes[row * row_bytes..][..row_bytes];
        match self.kind {
            Kind::Blocks(format) => {
                let row_of_scales = row / format.block_rows(self.shape.rows);
                let scale_bytes = format.scale_shape(self.shape).cols * format.scale.bytes();
                let rows = Rows {
                    codes,
                    scales: &self.scales[row_of_scales * scale_bytes..][..scale_bytes],
                    global: self.global,
                };
                // One row is a run of its own, with the scales of the blocks that it lies in.
                decode_rows(&format, Shape::new(1, self.shape.cols), rows, out)?;
            }
            Kind::Numbers(number) => widen(number, codes, out),
        }
        Ok(())
    }

    /// The scales of both levels in one row of scales.
    pub(crate) fn decode_scale_row(&self, row: usize, out: &mut [f32]) -> Result<(), RequestError> {
        let format = self.kind.format("scales")?;
        let bytes = format.scale.bytes();
        let scales = self.scales[row * out.len() * bytes..].chunks_exact(bytes);
        for (out, scale) in out.iter_mut().zip(scales) {
            *out = format.effective_scale(scale, self.global);
        }
        Ok(())
    }
}

fn check(what: &'static str, expected: Option<usize>, bytes: &[u8]) -> Result<(), LenMismatch> {
    match (expected, bytes.len()) {
        (Some(expected), found) if expected == found => Ok(()),
        (expected, found) => Err(LenMismatch {
            what,
            expected: expected.unwrap_or(usize::MAX),
            found,
        }),
    }
}

fn widen(number: Number, bytes: &[u8], out: &mut [f32]) {
    match number {
        Number::F32 => each(bytes, out, f32::from_le_bytes),
        Number::Bf16 => each(bytes, out, |bytes| bf16::from_le_bytes(bytes).to_f32()),
        Number::F16 => each(bytes, out, |bytes| f16::from_le_bytes(bytes).to_f32()),
    }
}

fn each<const N: usize>(bytes: &[u8], out: &mut [f32], number: impl Fn([u8; N]) -> f32) {
    for (out, &bytes) in out.iter_mut().zip(bytes.as_chunks::<N>().0) {
        *out = number(bytes);
    }
}
