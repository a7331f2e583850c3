//! One integer of a group on its way to a number.

use super::decode::{check_groups, element, group_at, number_at};
use super::layout::{IntFormat, IntLayout, read};
use super::{IntError, IntParts};
use crate::Shape;

/// How a stored integer becomes a number; the last step is what [`decode_rows`](super::decode_rows)
/// gives, to the bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntSteps {
    /// The bits of the integer as stored.
    pub stored: u8,
    /// The group of the column.
    pub group: usize,
    /// What is taken from the stored integer: the zero point of the group or the middle of the
    /// codes. `None` where integers are stored as they are.
    pub zero: Option<i32>,
    /// What is multiplied with the scale.
    pub integer: i32,
    /// The scale of the group, exact.
    pub scale: f32,
    /// What is added behind that (MLX).
    pub bias: Option<f32>,
    /// The product, and the sum with a bias, before it is rounded to `f32`; the product in a sum is
    /// rounded already.
    pub unrounded: f64,
    /// The number.
    pub value: f32,
}

impl IntSteps {
    /// Of the element in a row and a column of a weight of that shape; a column behind the last is
    /// taken to be the last.
    ///
    /// # Errors
    ///
    /// [`IntError`] as for [`decode_rows`](super::decode_rows), and where there is no such row.
    ///
    /// ```
    /// use blockscale::int::{IntFormat, IntLayout, IntParts, IntSteps};
    /// use blockscale::{ScaleElement, Shape};
    ///
    /// let (scale, layout) = (ScaleElement::F32, IntLayout::CompressedTensors);
    /// let format = IntFormat { bits: 4, group_cols: 0, scale, layout };
    /// let codes = 0x7654_3210_u32.to_le_bytes();
    /// let scales = 0.5_f32.to_le_bytes();
    /// let parts = IntParts { codes: &codes, scales: &scales, zeros: None, groups: None };
    /// let steps = IntSteps::of(&format, Shape::new(1, 8), parts, 0, 3)?;
    /// assert_eq!((steps.stored, steps.zero, steps.integer, steps.value), (3, Some(8), -5, -2.5));
    /// # Ok::<(), blockscale::int::IntError>(())
    /// ```
    pub fn of(
        format: &IntFormat,
        shape: Shape,
        parts: IntParts<'_>,
        row: usize,
        col: usize,
    ) -> Result<Self, IntError> {
        let zeros = parts.zeros.map(<[u8]>::len);
        format.check(shape, parts.codes.len(), parts.scales.len(), zeros)?;
        check_groups(format, shape, parts.groups)?;
        if row >= shape.rows || shape.cols == 0 {
            let (end, rows) = (row.saturating_add(1), shape.rows);
            return Err(IntError::Rows { end, rows });
        }
        let col = col.min(shape.cols - 1);
        let group = group_at(format, &parts, col);
        let stored = read(
            parts.codes,
            &format.code_place(shape, row, col),
            format.bits,
        );
        let index = format.scale_index(shape, row, group);
        let scale = number_at(format, parts.scales, index);
        let zero = match (format.layout, parts.zeros) {
            (IntLayout::Mlx | IntLayout::Modelopt, _) => None,
            (_, None) => Some(format.middle()),
            (_, Some(zeros)) => {
                let zero = read(zeros, &format.zero_place(shape, row, group), format.bits);
                Some(i32::from(zero) - format.zero_offset())
            }
        };
        let bias = match (format.layout, parts.zeros) {
            (IntLayout::Mlx, Some(biases)) => Some(number_at(format, biases, index)),
            _ => None,
        };
        let integer = match format.layout {
            IntLayout::Modelopt => i32::from(((stored << 4) as i8) >> 4),
            _ => i32::from(stored) - zero.unwrap_or(0),
        };
        let unrounded = match bias {
            Some(bias) => f64::from(integer as f32 * scale) + f64::from(bias),
            None => f64::from(integer) * f64::from(scale),
        };
        Ok(Self {
            stored,
            group,
            zero,
            integer,
            scale,
            bias,
            unrounded,
            value: element(format, shape, &parts, row, col),
        })
    }
}

impl IntFormat {
    /// The bytes of the scale, or of the MLX bias, of a row's group in a tensor of them; `None` where
    /// it ends before.
    ///
    /// ```
    /// use blockscale::int::{IntFormat, IntLayout};
    /// use blockscale::{ScaleElement, Shape};
    ///
    /// // GPTQ keeps the groups outermost.
    /// let (scale, layout) = (ScaleElement::F16, IntLayout::Gptq);
    /// let format = IntFormat { bits: 4, group_cols: 128, scale, layout };
    /// let scales = [0, 1, 2, 3, 4, 5, 6, 7];
    /// assert_eq!(format.scale_of(Shape::new(2, 256), &scales, 1, 0), Some(&[2, 3][..]));
    /// ```
    pub fn scale_of<'a>(
        &self,
        shape: Shape,
        scales: &'a [u8],
        row: usize,
        group: usize,
    ) -> Option<&'a [u8]> {
        let size = self.scale.bytes();
        let start = self.scale_index(shape, row, group).checked_mul(size)?;
        scales.get(start..start.checked_add(size)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScaleElement;
    use crate::int::decode_rows;

    #[test]
    fn the_last_step_is_what_decoding_gives() {
        for (layout, bits) in [
            (IntLayout::AwqGemm, 4),
            (IntLayout::Gptq, 8),
            (IntLayout::GptqV2, 2),
            (IntLayout::CompressedTensors, 5),
            (IntLayout::Modelopt, 4),
            (IntLayout::Mlx, 3),
        ] {
            let format = IntFormat {
                bits,
                group_cols: 32,
                scale: ScaleElement::F16,
                layout,
            };
            let shape = Shape::new(32, 64);
            let bytes = |step: usize| -> [u8; 2048] {
                core::array::from_fn(|i| (i * step + 7) as u8 & 0x3f)
            };
            let (codes, scales, zeros) = (bytes(37), bytes(11), bytes(23));
            let codes = &codes[..format.code_bytes(shape).unwrap()];
            let scales = &scales[..format.scale_bytes(shape).unwrap()];
            let zeros = &zeros[..format.zero_bytes(shape).unwrap()];
            let parts = IntParts {
                codes,
                scales,
                zeros: (layout != IntLayout::Modelopt).then_some(zeros),
                groups: None,
            };
            let mut out = [0.0_f32; 32 * 64];
            decode_rows(&format, shape, parts, 0..32, &mut out).unwrap();
            for (index, value) in out.iter().enumerate() {
                let steps = IntSteps::of(&format, shape, parts, index / 64, index % 64).unwrap();
                assert_eq!(steps.value.to_bits(), value.to_bits(), "{layout} {index}");
                assert_eq!(
                    (steps.unrounded as f32).to_bits(),
                    value.to_bits(),
                    "{layout}"
                );
                let scale = format
                    .scale_of(shape, scales, index / 64, steps.group)
                    .unwrap();
                assert_eq!(format.scale.decode(scale).to_bits(), steps.scale.to_bits());
            }
            assert!(IntSteps::of(&format, shape, parts, 32, 0).is_err());
        }
    }
}
