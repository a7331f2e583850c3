//! A decoded number step by step: what a reader of a format wants to see of one block.
//!
//! The last step is what [`decode_rows`](crate::decode::decode_rows) gives, to the bit; before each
//! rounding stands the number that it rounds.
//!
//! ```
//! use blockscale::Format;
//! use blockscale::explain::{ElementSteps, ScaleSteps, code_at};
//!
//! // The second element of a NVFP4 row: code 7 under the scale 0x39, which is 1.125, times 0.5.
//! let format = Format::NVFP4;
//! let scale = ScaleSteps::of(&format, &[0x39], 0.5);
//! assert_eq!((scale.block, scale.scale), (1.125, 0.5625));
//! let code = code_at(&format, &[0x70], 1).unwrap();
//! let element = ElementSteps::of(&format, code, scale.scale);
//! assert_eq!((element.element, element.value), (6.0, 3.375));
//! ```

use crate::format::{GlobalScale, ScaleElement};
use crate::{Element, Format, Real, bf16, bits};

/// The bits of a code by their meaning, each in the low bits of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The sign bit; `None` where the type has none.
    pub sign: Option<u32>,
    /// The exponent as stored, with its bias.
    pub exponent: u32,
    /// Bits of the exponent.
    pub exponent_bits: u32,
    /// The fraction as stored.
    pub mantissa: u32,
    /// Bits of the fraction.
    pub mantissa_bits: u32,
}

impl Fields {
    fn signed(code: u32, bits: u32, mantissa_bits: u32) -> Self {
        let exponent_bits = bits - 1 - mantissa_bits;
        Self {
            sign: Some(code >> (bits - 1) & 1),
            exponent: code >> mantissa_bits & ((1 << exponent_bits) - 1),
            exponent_bits,
            mantissa: code & ((1 << mantissa_bits) - 1),
            mantissa_bits,
        }
    }

    /// Of the code of an element, in its low bits.
    ///
    /// ```
    /// use blockscale::Element;
    /// use blockscale::explain::Fields;
    ///
    /// let fields = Fields::of_element(Element::E4m3Fn, 0xc1);
    /// assert_eq!((fields.sign, fields.exponent, fields.mantissa), (Some(1), 8, 1));
    /// ```
    pub fn of_element(element: Element, code: u8) -> Self {
        Self::signed(
            u32::from(code),
            element.bits() as u32,
            element.mantissa_bits(),
        )
    }

    /// Of a scale in little-endian bytes; `None` where it does not have the bytes of its type.
    pub fn of_scale(element: ScaleElement, scale: &[u8]) -> Option<Self> {
        Some(match (element, scale) {
            (ScaleElement::E4m3Fn, &[code]) => Self::signed(u32::from(code), 8, 3),
            (ScaleElement::E8m0Fnu, &[code]) => Self {
                sign: None,
                exponent: u32::from(code),
                exponent_bits: 8,
                mantissa: 0,
                mantissa_bits: 0,
            },
            (ScaleElement::F32, &[a, b, c, d]) => {
                Self::signed(u32::from_le_bytes([a, b, c, d]), 32, 23)
            }
            (ScaleElement::Bf16, &[a, b]) => {
                Self::signed(u32::from(u16::from_le_bytes([a, b])), 16, 7)
            }
            (ScaleElement::F16, &[a, b]) => {
                Self::signed(u32::from(u16::from_le_bytes([a, b])), 16, 10)
            }
            _ => return None,
        })
    }
}

/// How the scales of both levels become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleSteps {
    /// The block's scale, exact.
    pub block: f32,
    /// Product or quotient of it and the global scale before it is rounded to `f32`: exact for a
    /// product, in `f64` for a quotient. The block's scale where there is no global one.
    pub unrounded: f64,
    /// The scale that elements are multiplied by.
    pub scale: f32,
}

impl ScaleSteps {
    /// Of a block's scale in little-endian bytes and the global one. All is NaN where `scale` does
    /// not have the bytes of one scale.
    pub fn of(format: &Format, scale: &[u8], global: f32) -> Self {
        let block = format.scale.decode(scale);
        let (wide, wide_global) = (f64::from(block), f64::from(global));
        Self {
            block,
            unrounded: match format.global {
                GlobalScale::None => wide,
                GlobalScale::Multiplier => wide * wide_global,
                GlobalScale::Divisor => wide / wide_global,
            },
            scale: format.effective_scale(scale, global),
        }
    }
}

/// How a code becomes a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementSteps {
    /// The exact value of the code.
    pub element: f32,
    /// The exact product of element and scale.
    pub unrounded: f64,
    /// The product rounded to `f32`.
    pub value: f32,
    /// That rounded to `bf16`, as kernels take it.
    pub bf16: bf16,
}

impl ElementSteps {
    /// Of a code under the scale that [`ScaleSteps`] ends with.
    pub fn of(format: &Format, code: u8, scale: f32) -> Self {
        let element = format.element.decode(code);
        let value = element * scale;
        Self {
            element,
            unrounded: f64::from(element) * f64::from(scale),
            value,
            bf16: <bf16 as Real>::from_f32(value),
        }
    }
}

/// The code of column `col` in the bytes of a row; `None` where the row ends before.
///
/// ```
/// use blockscale::Format;
/// use blockscale::explain::code_at;
///
/// assert_eq!(code_at(&Format::MXFP6_E2M3, &[0x81, 0x30, 0x10], 2), Some(3));
/// assert_eq!(code_at(&Format::NVFP4, &[0x21], 2), None);
/// ```
pub fn code_at(format: &Format, row: &[u8], col: usize) -> Option<u8> {
    if format.row_bytes(col.checked_add(1)?) > row.len() {
        return None;
    }
    let mask = u8::MAX >> (8 - format.element.bits());
    Some(bits::get(row, format.code_stride(), col) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use crate::decode::{Rows, decode_rows};
    use crate::format::Packing;

    const FORMATS: [Format; 8] = [
        Format::NVFP4,
        Format::NVFP4_DIVISOR,
        Format::MXFP4,
        Format::MXFP6_E2M3,
        Format::MXFP6_E3M2.packed(Packing::Bytes),
        Format::MXFP8_E5M2,
        Format::FP8_BLOCK,
        Format::FP8_CHANNEL,
    ];

    #[test]
    fn the_last_step_is_what_decoding_gives() {
        for format in FORMATS {
            let cols = 48;
            let codes: [u8; 48] = core::array::from_fn(|i| (i * 37 + 11) as u8);
            let codes = &codes[..format.row_bytes(cols)];
            let scale_bytes = format.scale_bytes(Shape::new(1, cols)).unwrap();
            let scales: [u8; 8] = [0x35, 0x3b, 0x7d, 0x3f, 0x35, 0x3b, 0x7d, 0x3f];
            let (scales, global) = (&scales[..scale_bytes], 0.3);
            let mut out = [0.0_f32; 48];
            let mut halves = [bf16::ZERO; 48];
            let shape = Shape::new(1, cols);
            let rows = Rows {
                codes,
                scales,
                global,
            };
            decode_rows(&format, shape, rows, &mut out).unwrap();
            decode_rows(&format, shape, rows, &mut halves).unwrap();
            for col in 0..cols {
                let block = col / format.block_cols(cols);
                let scale = &scales[block * format.scale.bytes()..][..format.scale.bytes()];
                let scale = ScaleSteps::of(&format, scale, global).scale;
                let code = code_at(&format, codes, col).unwrap();
                let steps = ElementSteps::of(&format, code, scale);
                assert_eq!(
                    (steps.value.to_bits(), steps.bf16.to_bits()),
                    (out[col].to_bits(), halves[col].to_bits()),
                    "{format}, column {col}"
                );
            }
        }
    }

    #[test]
    fn rounding_the_exact_products_gives_the_steps() {
        for code in 0..=255 {
            let scale = ScaleSteps::of(&Format::NVFP4, &[code], 0.1);
            assert_eq!(
                (scale.unrounded as f32).to_bits() & 0x7fff_ffff,
                scale.scale.to_bits() & 0x7fff_ffff
            );
            let steps = ElementSteps::of(&Format::FP8_BLOCK, code, 0.1);
            if !steps.element.is_nan() {
                assert_eq!((steps.unrounded as f32).to_bits(), steps.value.to_bits());
            }
        }
    }

    #[test]
    fn fields_put_together_are_the_code() {
        for element in [
            Element::E2m1,
            Element::E2m3,
            Element::E3m2,
            Element::E4m3Fn,
            Element::E4m3Fnuz,
            Element::E5m2,
        ] {
            for code in 0..=u8::MAX >> (8 - element.bits()) {
                let fields = Fields::of_element(element, code);
                let magnitude = fields.exponent << fields.mantissa_bits | fields.mantissa;
                let sign = fields.sign.unwrap() << (element.bits() - 1);
                assert_eq!(sign | magnitude, u32::from(code), "{element} {code:#x}");
            }
        }
    }

    #[test]
    fn a_scale_of_another_length_has_no_fields_and_no_value() {
        assert_eq!(Fields::of_scale(ScaleElement::F32, &[0; 2]), None);
        assert!(ScaleSteps::of(&Format::FP8_BLOCK, &[1], 1.0).scale.is_nan());
    }

    #[test]
    fn an_exponent_scale_has_neither_sign_nor_fraction() {
        let fields = Fields::of_scale(ScaleElement::E8m0Fnu, &[120]).unwrap();
        assert_eq!((fields.sign, fields.mantissa_bits), (None, 0));
        assert_eq!(fields.exponent, 120);
    }
}
