//! Numbers and code order of Marlin, a kernel for 4-bit weights with 16-bit activations.
//!
//! Marlin widens an E4M3 scale without a table: it keeps `scale * 2^7` as the eight bits of an IEEE
//! half below the sign, five of exponent and three of mantissa ("S0E5M3"), and moves the rest of
//! the scaling into the global scale. A weight for it is made in this order:
//!
//! 1. `f =` [`scale_factor`] of all scales of the tensor;
//! 2. each scale `* f`, which E4M3 holds exactly ([`multiply_scales`]);
//! 3. the global scale becomes [`global_scale`];
//! 4. scales and codes into [`ScaleLayout::MarlinNvfp4`](super::ScaleLayout::MarlinNvfp4).
//!
//! Source: vLLM, `nvfp4_marlin_process_scales` and `nvfp4_marlin_process_global_scale`.

use half::f16;

use crate::Shape;
use crate::element::E4m3Fn;

/// Type of the activations that a Marlin kernel is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// bfloat16, exponent bias 127.
    Bf16,
    /// IEEE half, exponent bias 15.
    F16,
}

/// The power of two that scales are multiplied by before they are stored: the largest that keeps
/// every product within 448, and at least 1. Always 1 for [`Activation::F16`].
///
/// `scales` are the E4M3 codes of a whole tensor; NaN does not count.
///
/// ```
/// use blockscale::layout::marlin::{Activation, scale_factor};
///
/// assert_eq!(scale_factor(Activation::Bf16, &[0x30, 0x38]), 256.0); // the largest is 1
/// assert_eq!(scale_factor(Activation::F16, &[0x30, 0x38]), 1.0);
/// ```
pub fn scale_factor(activation: Activation, scales: &[u8]) -> f32 {
    let values = scales.iter().map(|&code| E4m3Fn::from_bits(code).to_f32());
    let largest = values.fold(0.0, f32::max);
    if activation == Activation::F16 || largest == 0.0 {
        return 1.0;
    }
    let mut factor = 1.0;
    while largest * factor * 2.0 <= E4m3Fn::MAX.to_f32() {
        factor *= 2.0;
    }
    factor
}

/// Multiplies E4M3 scales by a power of two from [`scale_factor`], which loses nothing.
///
/// ```
/// use blockscale::layout::marlin::multiply_scales;
///
/// let mut scales = [0x38, 0x01]; // 1 and 2^-9
/// multiply_scales(256.0, &mut scales);
/// assert_eq!(scales, [0x78, 0x30]); // 256 and 1/2
/// ```
pub fn multiply_scales(factor: f32, scales: &mut [u8]) {
    for code in scales {
        let value = E4m3Fn::from_bits(*code).to_f32();
        *code = E4m3Fn::from_f32(value * factor).to_bits();
    }
}

/// The global scale that Marlin multiplies by, from the checkpoint's multiplier and `factor`.
///
/// `scale_mul * 2^119 / factor` for bfloat16, `scale_mul * 2^7 / factor` for half: the exponent
/// bias less one, which Marlin's way of widening E2M1 leaves out, less the 7 of the scales.
///
/// ```
/// use blockscale::layout::marlin::{Activation, global_scale};
///
/// assert_eq!(global_scale(Activation::F16, 0.5, 1.0), 64.0);
/// assert_eq!(global_scale(Activation::Bf16, 0.5, 4.0), 2_f32.powi(116));
/// ```
pub fn global_scale(activation: Activation, scale_mul: f32, factor: f32) -> f32 {
    const TWO_TO_119: f32 = f32::from_bits((119 + 127) << 23);
    match activation {
        Activation::Bf16 => scale_mul * TWO_TO_119 / factor,
        Activation::F16 => scale_mul * 128.0 / factor,
    }
}

/// The S0E5M3 byte of an E4M3 scale, `None` for a negative scale and NaN.
///
/// Scales below 2^-6 become 0.
///
/// ```
/// use blockscale::layout::marlin::s0e5m3_from_e4m3;
///
/// assert_eq!(s0e5m3_from_e4m3(0x38), Some(0xb0)); // 1
/// assert_eq!(s0e5m3_from_e4m3(0x7e), Some(0xf6)); // 448
/// assert_eq!(s0e5m3_from_e4m3(0x08), Some(0x80)); // 2^-6
/// assert_eq!(s0e5m3_from_e4m3(0x01), Some(0x00)); // 2^-9, lost
/// assert_eq!(s0e5m3_from_e4m3(0x7f), None); // NaN
/// ```
pub const fn s0e5m3_from_e4m3(code: u8) -> Option<u8> {
    match code {
        0..0x08 => Some(0),
        0x08..0x7f => Some(code + BIAS_STEP),
        0x7f.. => None,
    }
}

/// The E4M3 scale whose S0E5M3 byte is `byte`.
///
/// The inverse of [`s0e5m3_from_e4m3`] for the bytes that it gives; 0 stays 0. Bytes that it never
/// gives become the nearest scale.
///
/// ```
/// use blockscale::layout::marlin::e4m3_from_s0e5m3;
///
/// assert_eq!(e4m3_from_s0e5m3(0xb0), 0x38); // 1
/// assert_eq!(e4m3_from_s0e5m3(0x00), 0x00); // 0, whatever it was
/// ```
pub fn e4m3_from_s0e5m3(byte: u8) -> u8 {
    if let 0x80..0xf7 = byte {
        return byte - BIAS_STEP;
    }
    let value = f16::from_bits(u16::from(byte) << 7).to_f32() / 128.0;
    E4m3Fn::from_f32(value).to_bits()
}

/// From the exponent bias 7 of E4M3 to 15, less the factor 2^7 that is stored with it: both formats
/// have three mantissa bits, so codes of one number lie this far apart.
const BIAS_STEP: u8 = (15 - 7 + 7) << 3;

/// Rows (N) and columns (K), in elements, that Marlin pads a weight of `shape` to.
///
/// Multiples of (64, 128) or of (128, 64), whichever makes the smaller area; the first of equals.
/// `None` where a size overflows.
///
/// ```
/// use blockscale::Shape;
/// use blockscale::layout::marlin::padded_shape;
///
/// assert_eq!(padded_shape(Shape::new(128, 64)), Some(Shape::new(128, 64)));
/// assert_eq!(padded_shape(Shape::new(72, 80)), Some(Shape::new(128, 128)));
/// ```
pub fn padded_shape(shape: Shape) -> Option<Shape> {
    let to_multiples = |rows, cols| {
        let padded = Shape::new(
            shape.rows.checked_next_multiple_of(rows)?,
            shape.cols.checked_next_multiple_of(cols)?,
        );
        Some((padded.len()?, padded))
    };
    let candidates = [to_multiples(64, 128), to_multiples(128, 64)];
    let smallest = candidates
        .into_iter()
        .flatten()
        .min_by_key(|&(area, _)| area);
    smallest.map(|(_, padded)| padded)
}

/// Where Marlin keeps each code of a padded matrix, counted in nibbles, the low one of a byte
/// first.
///
/// Codes lie in tiles of 16 columns by 64 rows, 128 words of 8 codes each. Word `4 t + j` of a tile
/// belongs to thread `t` of 32 and holds rows `n = 16 j + t / 4` and `n + 8`, columns
/// `k = t % 4 * 2`, `k + 1`, `k + 8` and `k + 9`:
///
/// ```text
/// nibble   0      1        2        3          4        5        6          7
/// (k, n)   (k,n)  (k+8,n)  (k,n+8)  (k+8,n+8)  (k+1,n)  (k+9,n)  (k+1,n+8)  (k+9,n+8)
/// ```
///
/// As with scales, the place is the sum of a part by row and a part by column.
#[derive(Clone, Copy)]
pub(super) struct CodePlacement {
    /// Nibbles of one row of tiles: 16 columns of all padded rows.
    tile_row: usize,
}

impl CodePlacement {
    /// `padded` comes from [`padded_shape`].
    pub(super) const fn new(padded: Shape) -> Self {
        Self {
            tile_row: padded.rows * 16,
        }
    }

    pub(super) const fn row_offset(self, row: usize) -> usize {
        let (tile, within) = (row / 64, row % 64);
        let (j, upper, thread_row) = (within / 16, within % 16 / 8, within % 8);
        tile * 1024 + thread_row * 128 + j * 8 + upper * 2
    }

    pub(super) const fn col_offset(self, col: usize) -> usize {
        let (tile, within) = (col / 16, col % 16);
        let (upper, thread_col, odd) = (within / 8, within % 8 / 2, within % 2);
        tile * self.tile_row + thread_col * 32 + odd * 4 + upper
    }
}
