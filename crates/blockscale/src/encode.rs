//! Rows of numbers to a block format.
//!
//! A tensor is encoded in three steps: its [`global_scale`], where the format has one, from the
//! [`amax`] of all of it; then, run by run, the scale of each block ([`choose_scales`]) and the
//! codes under those scales ([`encode_codes`]). [`encode_rows`] does the last two at once.
//!
//! ```
//! use blockscale::encode::{ScaleRule, amax, encode_rows, global_scale};
//! use blockscale::{Format, Shape};
//!
//! let format = Format::NVFP4;
//! let weight: [f32; 16] = std::array::from_fn(|i| i as f32 - 8.0);
//! let global = global_scale(&format, amax(&weight));
//! let (mut codes, mut scales) = ([0; 8], [0; 1]);
//! let shape = Shape::new(1, 16);
//! encode_rows(&format, ScaleRule::Amax, shape, &weight, global, &mut codes, &mut scales)?;
//! assert_eq!(scales, [0x7e]); // 448, so that 448 * global * 6 is the largest magnitude, 8
//! # Ok::<(), blockscale::LenMismatch>(())
//! ```
//!
//! Libraries differ in each of these steps. What they do is a value, a [`Scheme`], which the
//! functions ending in `_with` take: [`encode_rows_with`] under
//! [`Scheme::COMPRESSED_TENSORS_NVFP4`] gives the bytes of compressed-tensors.

mod name;
mod rule;
mod scale;
mod scheme;

pub use name::NamedScheme;
pub use rule::{ErrorMeasure, ScaleRule};
pub(crate) use scale::{block_scale, round_scale, unrounded_scale, write_scale};
pub use scale::{global_scale, global_scale_with, tensor_scale};
pub use scheme::{GlobalRule, Intermediate, Quotient, ScaleOrder, Scheme, ZeroScale};

use crate::arch::Kernels;
pub use crate::real::narrow;
use crate::{Block, Format, LenMismatch, Real, Shape};

/// The largest finite magnitude among `values`, 0 where there is none.
///
/// ```
/// use blockscale::encode::amax;
///
/// assert_eq!(amax(&[1.0, -2.5, f32::NAN, f32::INFINITY]), 2.5);
/// ```
pub fn amax<T: Real>(values: &[T]) -> f32 {
    Kernels::in_use().amax(values)
}

/// Chooses the scale of each block of a run of rows, and writes its little-endian bytes.
///
/// `shape` is that of the run, which starts at a multiple of [`Format::block_rows`]. Under
/// [`Block::Tensor`] the run must be the whole tensor; where it does not fit
/// in memory, [`tensor_scale`] takes the [`amax`] of its parts instead. NaN and infinities do not
/// count for a scale.
///
/// # Errors
///
/// [`LenMismatch`] where `values` or `scales` is not as long as `shape` asks for.
///
/// ```
/// use blockscale::encode::{ScaleRule, choose_scales};
/// use blockscale::{Format, Shape};
///
/// // Two blocks of 32 columns, one of them short: 7 and 3 are their largest magnitudes.
/// let mut row = [0.5_f32; 40];
/// (row[3], row[39]) = (-7.0, 3.0);
/// let mut scales = [0; 2];
/// choose_scales(&Format::MXFP4, ScaleRule::Rceil, Shape::new(1, 40), &row, 1.0, &mut scales)?;
/// assert_eq!(scales, [128, 126]); // 2 and 1/2: 6 x 2 is not below 7, 6 / 2 not below 3
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn choose_scales<T: Real>(
    format: &Format,
    rule: ScaleRule,
    shape: Shape,
    values: &[T],
    global: f32,
    scales: &mut [u8],
) -> Result<(), LenMismatch> {
    choose_scales_with(format, &rule.into(), shape, values, global, scales)
}

/// [`choose_scales`] as a scheme has it.
///
/// # Errors
///
/// Those of [`choose_scales`].
pub fn choose_scales_with<T: Real>(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    global: f32,
    scales: &mut [u8],
) -> Result<(), LenMismatch> {
    LenMismatch::check("values", shape.len(), values.len())?;
    LenMismatch::check("scales", format.scale_bytes(shape), scales.len())?;
    // Rows without a column may be more than can be counted through; the scale of a tensor needs none.
    let shape = match format.block {
        Block::Tensor if values.is_empty() => Shape::new(0, 0),
        _ => shape,
    };
    if !scales.is_empty() {
        Kernels::in_use().choose_scales(format, scheme, shape, values, global, scales);
    }
    Ok(())
}

/// Encodes a run of rows under scales that are given.
///
/// A code is `x / s`, divided in `f32` and rounded by the element type, where `s` is what
/// [`decode_rows`](crate::decode::decode_rows) multiplies by. Where `s` is zero, every code decodes
/// to zero whatever it is, and code 0 is stored.
///
/// # Errors
///
/// [`LenMismatch`] where `values`, `scales` or `codes` is not as long as `shape` asks for. `codes`
/// is untouched then.
///
/// ```
/// use blockscale::encode::{ScaleRule, choose_scales, encode_codes};
/// use blockscale::{Format, Shape};
///
/// // Two rows of one matrix under the scales that a calibration has chosen, 0.5 and 2.
/// let scales = [0.5_f32, 2.0].map(f32::to_le_bytes);
/// let (format, shape) = (Format::FP8_CHANNEL, Shape::new(2, 2));
/// let values = [1.0_f32, -224.0, 3.0, 10_000.0];
/// let mut codes = [0; 4];
/// encode_codes(&format, shape, &values, scales.as_flattened(), 1.0, &mut codes)?;
/// assert_eq!(codes, [0x40, 0xfe, 0x3c, 0x7e]); // 2, -448, 1.5 and, saturated, 448
///
/// // The scales that would have clipped nothing.
/// let mut scales = [0; 8];
/// choose_scales(&format, ScaleRule::Amax, shape, &values, 1.0, &mut scales)?;
/// assert_eq!(scales[..4], 0.5_f32.to_le_bytes());
/// assert_eq!(scales[4..], (10_000.0 / 448.0_f32).to_le_bytes());
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn encode_codes<T: Real>(
    format: &Format,
    shape: Shape,
    values: &[T],
    scales: &[u8],
    global: f32,
    codes: &mut [u8],
) -> Result<(), LenMismatch> {
    encode_codes_with(
        format,
        &Scheme::DEFAULT,
        shape,
        values,
        scales,
        global,
        codes,
    )
}

/// [`encode_codes`] as a scheme has it: by its [`Quotient`] and its
/// [`EncodePolicy`](crate::element::EncodePolicy).
///
/// # Errors
///
/// Those of [`encode_codes`].
///
/// ```
/// use blockscale::encode::{Scheme, encode_codes_with};
/// use blockscale::{Format, Shape};
///
/// // Halves of steps under the scale 1, as DeepGEMM and as TileKernels round them.
/// let (shape, values, scales) = (Shape::new(1, 4), [0.75_f32, 1.75, 3.5, -0.1], [127]);
/// let codes = |scheme| {
///     let mut codes = [0; 2];
///     encode_codes_with(&Format::MXFP4, scheme, shape, &values, &scales, 1.0, &mut codes)
///         .map(|()| codes)
/// };
/// assert_eq!(codes(&Scheme::DEEPGEMM_FP4)?, [0x31, 0x05]);
/// assert_eq!(codes(&Scheme::TILEKERNELS_FP4)?, [0x42, 0x86]);
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn encode_codes_with<T: Real>(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    scales: &[u8],
    global: f32,
    codes: &mut [u8],
) -> Result<(), LenMismatch> {
    LenMismatch::check("values", shape.len(), values.len())?;
    LenMismatch::check("scales", format.scale_bytes(shape), scales.len())?;
    LenMismatch::check("codes", format.code_bytes(shape), codes.len())?;
    if !values.is_empty() {
        Kernels::in_use().encode_codes(format, scheme, shape, values, scales, global, codes);
    }
    Ok(())
}

/// [`choose_scales`], then [`encode_codes`].
///
/// # Errors
///
/// [`LenMismatch`] where `values`, `scales` or `codes` is not as long as `shape` asks for.
///
/// ```
/// use blockscale::encode::{ScaleRule, encode_rows};
/// use blockscale::{Format, Shape};
///
/// let (format, shape) = (Format::FP8_CHANNEL, Shape::new(2, 2));
/// let values = [448.0_f32, 1.0, -56.0, 7.0];
/// let (mut codes, mut scales) = ([0; 4], [0; 8]);
/// encode_rows(&format, ScaleRule::Amax, shape, &values, 1.0, &mut codes, &mut scales)?;
/// assert_eq!(scales, *[1.0_f32, 0.125].map(f32::to_le_bytes).as_flattened());
/// assert_eq!(codes, [0x7e, 0x38, 0xfe, 0x66]); // 448, 1, then -448 and 56
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn encode_rows<T: Real>(
    format: &Format,
    rule: ScaleRule,
    shape: Shape,
    values: &[T],
    global: f32,
    codes: &mut [u8],
    scales: &mut [u8],
) -> Result<(), LenMismatch> {
    encode_rows_with(format, &rule.into(), shape, values, global, codes, scales)
}

/// [`choose_scales_with`], then [`encode_codes_with`].
///
/// # Errors
///
/// [`LenMismatch`] where `values`, `scales` or `codes` is not as long as `shape` asks for.
///
/// ```
/// use blockscale::encode::{Scheme, amax, encode_rows_with, global_scale_with};
/// use blockscale::{Format, Shape};
///
/// // A block of zeros after one that is not: three libraries, three scales for it.
/// let weight: [f32; 32] = std::array::from_fn(|i| if i < 16 { i as f32 } else { 0.0 });
/// let scales = |format: &Format, scheme: &Scheme| {
///     let global = global_scale_with(format, scheme, amax(&weight));
///     let (mut codes, mut scales) = ([0; 16], [0; 2]);
///     let shape = Shape::new(1, 32);
///     encode_rows_with(format, scheme, shape, &weight, global, &mut codes, &mut scales)
///         .map(|()| scales)
/// };
/// assert_eq!(scales(&Format::NVFP4, &Scheme::MODELOPT_NVFP4)?, [0x7e, 0x38]);
/// assert_eq!(scales(&Format::NVFP4, &Scheme::TORCHAO_NVFP4)?, [0x7e, 0x08]);
/// let (format, scheme) = (Format::NVFP4_DIVISOR, Scheme::COMPRESSED_TENSORS_NVFP4);
/// assert_eq!(scales(&format, &scheme)?, [0x7e, 0x20]);
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn encode_rows_with<T: Real>(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    global: f32,
    codes: &mut [u8],
    scales: &mut [u8],
) -> Result<(), LenMismatch> {
    LenMismatch::check("values", shape.len(), values.len())?;
    LenMismatch::check("codes", format.code_bytes(shape), codes.len())?;
    LenMismatch::check("scales", format.scale_bytes(shape), scales.len())?;
    Kernels::in_use().encode_rows(format, scheme, shape, values, global, codes, scales);
    Ok(())
}
