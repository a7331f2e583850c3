//! One number of a block step by step.

use half::f16;

use super::blocks::{DOUBLED, split_code};
use super::decode::{half_of_ue8m0, number_at};
use super::{GgmlType, ue4m3_to_f32};

/// How a code in a block becomes a number; the last step is what [`decode_rows`](super::decode_rows)
/// gives, to the bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GgmlSteps {
    /// The code as stored, in the low bits.
    pub code: u8,
    /// The scale as stored, exact.
    pub scale: f32,
    /// What is multiplied: the integer, for E2M1 its value doubled.
    pub integer: i16,
    /// What it is multiplied by: the scale, for E2M1 half of it.
    pub factor: f32,
    /// The exact product.
    pub unrounded: f64,
    /// The product rounded to `f32`.
    pub value: f32,
}

impl GgmlSteps {
    /// Of a column in the blocks of a row; `None` where the row ends before, or the type has no
    /// blocks.
    ///
    /// ```
    /// use blockscale::ggml::{GgmlSteps, GgmlType};
    ///
    /// // MXFP4: 2^1, then code 5, which is 3.
    /// let mut row = [0; 17];
    /// (row[0], row[1]) = (128, 0x05);
    /// let steps = GgmlSteps::of(GgmlType::Mxfp4, &row, 0).unwrap();
    /// assert_eq!((steps.code, steps.scale, steps.integer, steps.value), (5, 2.0, 6, 6.0));
    /// ```
    pub fn of(ty: GgmlType, row: &[u8], col: usize) -> Option<Self> {
        let scale = ty.scale_of(row, col / ty.scale_cols()?)?;
        let (block, index) = (block_at(ty, row, col)?, col % ty.block_len());
        let (code, integer) = match ty {
            GgmlType::Q4_0 => {
                let code = split_code(block.get(2..)?, index);
                (code, i16::from(code) - 8)
            }
            GgmlType::Q8_0 => {
                let code = *block.get(2 + index)?;
                (code, i16::from(code as i8))
            }
            GgmlType::Mxfp4 => doubled(split_code(block.get(1..)?, index)),
            GgmlType::Nvfp4 => {
                let codes = block.get(4 + index / 16 * 8..)?.get(..8)?;
                doubled(split_code(codes, index % 16))
            }
            _ => return None,
        };
        let (scale, factor) = match (ty, scale) {
            (GgmlType::Mxfp4, &[code]) => (2.0 * half_of_ue8m0(code), half_of_ue8m0(code)),
            (GgmlType::Nvfp4, &[code]) => (ue4m3_to_f32(code), ue4m3_to_f32(code) * 0.5),
            (_, &[a, b]) => {
                let scale = f16::from_le_bytes([a, b]).to_f32();
                (scale, scale)
            }
            _ => return None,
        };
        Some(Self {
            code,
            scale,
            integer,
            factor,
            unrounded: f64::from(integer) * f64::from(factor),
            value: number_at(integer, factor),
        })
    }
}

impl GgmlType {
    /// Columns that share a scale; `None` for plain numbers.
    pub const fn scale_cols(self) -> Option<usize> {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => None,
            Self::Q4_0 | Self::Q8_0 | Self::Mxfp4 => Some(32),
            Self::Nvfp4 => Some(16),
        }
    }

    /// The bytes of scale `index` of a row; `None` where it ends before, or has no scales.
    ///
    /// ```
    /// use blockscale::ggml::GgmlType;
    ///
    /// let mut row = [0; 36];
    /// row[..4].copy_from_slice(&[1, 2, 3, 4]);
    /// assert_eq!(GgmlType::Nvfp4.scale_of(&row, 2), Some(&[3][..]));
    /// assert_eq!(GgmlType::Nvfp4.scale_of(&row, 4), None);
    /// ```
    pub fn scale_of(self, row: &[u8], index: usize) -> Option<&[u8]> {
        let cols = self.scale_cols()?;
        let block = block_at(self, row, index.checked_mul(cols)?)?;
        match self {
            Self::Mxfp4 => block.get(..1),
            Self::Nvfp4 => block.get(index % 4..index % 4 + 1),
            _ => block.get(..2),
        }
    }
}

/// The block of a column.
fn block_at(ty: GgmlType, row: &[u8], col: usize) -> Option<&[u8]> {
    let size = ty.block_bytes();
    let start = (col / ty.block_len()).checked_mul(size)?;
    row.get(start..start.checked_add(size)?)
}

fn doubled(code: u8) -> (u8, i16) {
    (code, i16::from(DOUBLED[usize::from(code & 0xf)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use crate::ggml::decode_rows;

    #[test]
    fn the_last_step_is_what_decoding_gives() {
        for ty in GgmlType::ALL {
            let Some(scale_cols) = ty.scale_cols() else {
                assert_eq!(GgmlSteps::of(ty, &[0; 64], 0), None);
                continue;
            };
            // Every byte of codes and of scales, over many rows of two blocks.
            let cols = 2 * ty.block_len();
            let bytes = ty.row_bytes(cols).unwrap();
            for seed in 0..=255_usize {
                let row: [u8; 72] = core::array::from_fn(|i| (i * 89 + seed) as u8);
                let (row, mut out) = (&row[..bytes], [0.0_f32; 128]);
                let out = &mut out[..cols];
                decode_rows(ty, Shape::new(1, cols), row, out).unwrap();
                for (col, value) in out.iter().enumerate() {
                    let steps = GgmlSteps::of(ty, row, col).unwrap();
                    assert_eq!(steps.value.to_bits(), value.to_bits(), "{ty} {seed} {col}");
                    assert!(ty.scale_of(row, col / scale_cols).is_some());
                }
                assert_eq!(GgmlSteps::of(ty, row, cols), None);
            }
        }
    }
}
