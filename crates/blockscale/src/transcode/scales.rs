//! Scales in another type, with the same values.

use super::TranscodeError;
use crate::element::E8m0Fnu;
use crate::{Format, LenMismatch, ScaleElement, Shape};

/// Scales of any type as F32 of the same value; NaN stays NaN.
///
/// `stored` holds little-endian scales of type `from`, `scales` takes four bytes for each.
///
/// # Errors
///
/// [`LenMismatch`] where `stored` is no whole number of scales, or `scales` not as long.
///
/// ```
/// use blockscale::ScaleElement;
/// use blockscale::transcode::widen_scales;
///
/// let mut scales = [0; 8];
/// widen_scales(ScaleElement::E8m0Fnu, &[127, 124], &mut scales)?;
/// assert_eq!(scales[..4], 1.0_f32.to_le_bytes());
/// assert_eq!(scales[4..], 0.125_f32.to_le_bytes());
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn widen_scales(
    from: ScaleElement,
    stored: &[u8],
    scales: &mut [u8],
) -> Result<(), LenMismatch> {
    let count = stored.len() / from.bytes();
    LenMismatch::check("stored scales", Some(count * from.bytes()), stored.len())?;
    LenMismatch::check("scales", count.checked_mul(4), scales.len())?;
    let stored = stored.chunks_exact(from.bytes());
    for (scale, stored) in scales.chunks_exact_mut(4).zip(stored) {
        scale.copy_from_slice(&from.decode(stored).to_le_bytes());
    }
    Ok(())
}

/// The scale of a whole tensor, copied to every block of a grid.
///
/// `to` is the format of the grid, `shape` that of the run, and `scale` the bytes of one scale in
/// `to.scale`'s type. The codes stay as they are.
///
/// # Errors
///
/// [`LenMismatch`] where `scale` is not one scale, or `scales` not as long as `shape` asks for.
///
/// ```
/// use blockscale::transcode::spread_tensor_scale;
/// use blockscale::{Format, Shape};
///
/// let scale = 0.5_f32.to_le_bytes();
/// let mut grid = [0; 16];
/// spread_tensor_scale(&Format::FP8_BLOCK, Shape::new(130, 129), &scale, &mut grid)?;
/// assert_eq!(grid.as_chunks::<4>().0, [scale; 4]);
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn spread_tensor_scale(
    to: &Format,
    shape: Shape,
    scale: &[u8],
    scales: &mut [u8],
) -> Result<(), LenMismatch> {
    LenMismatch::check("scale", Some(to.scale.bytes()), scale.len())?;
    LenMismatch::check("scales", to.scale_bytes(shape), scales.len())?;
    for block in scales.chunks_exact_mut(scale.len()) {
        block.copy_from_slice(scale);
    }
    Ok(())
}

/// Scales that are powers of two, as UE8M0; each is checked, none rounded.
///
/// `stored` holds little-endian scales of type `from`, `scales` takes a byte for each. The way back
/// is [`widen_scales`].
///
/// # Errors
///
/// [`TranscodeError::NotPowerOfTwo`] for the first scale that is none, or outside 2^-127 to 2^127:
/// requantise with [`round_scales_up_to_pow2`](super::round_scales_up_to_pow2). The contents of
/// `scales` are of no use then. [`TranscodeError::Len`] where a slice has the wrong length.
///
/// ```
/// use blockscale::ScaleElement;
/// use blockscale::transcode::{TranscodeError, narrow_scales_to_e8m0};
///
/// let stored = [2.0_f32, 0.125].map(f32::to_le_bytes);
/// let mut scales = [0; 2];
/// narrow_scales_to_e8m0(ScaleElement::F32, stored.as_flattened(), &mut scales)?;
/// assert_eq!(scales, [128, 124]);
///
/// let stored = 0.75_f32.to_le_bytes();
/// let error = TranscodeError::NotPowerOfTwo { index: 0, value: 0.75 };
/// assert_eq!(narrow_scales_to_e8m0(ScaleElement::F32, &stored, &mut [0]), Err(error));
/// # Ok::<(), TranscodeError>(())
/// ```
pub fn narrow_scales_to_e8m0(
    from: ScaleElement,
    stored: &[u8],
    scales: &mut [u8],
) -> Result<(), TranscodeError> {
    let count = stored.len() / from.bytes();
    LenMismatch::check("stored scales", Some(count * from.bytes()), stored.len())?;
    LenMismatch::check("scales", Some(count), scales.len())?;
    let stored = stored.chunks_exact(from.bytes());
    for (index, (scale, stored)) in scales.iter_mut().zip(stored).enumerate() {
        let value = from.decode(stored);
        *scale = E8m0Fnu::from_f32_exact(value)
            .ok_or(TranscodeError::NotPowerOfTwo { index, value })?
            .to_bits();
    }
    Ok(())
}

/// The scale of a tensor in the other direction: what divides for what multiplies, or the reverse.
///
/// ModelOpt's NVFP4 and that of compressed-tensors differ in this number alone; codes and block
/// scales are the same bytes. Decoded values may differ in the last bit of `f32`, since one
/// multiplies and the other divides.
///
/// # Errors
///
/// [`TranscodeError::Scale`] with index 0 where `global` or its reciprocal is zero, negative or not
/// finite.
///
/// ```
/// use blockscale::transcode::invert_global_scale;
///
/// let inverse = invert_global_scale(0.000558)?;
/// assert!((inverse.value - 1792.11).abs() < 0.01);
/// assert!(invert_global_scale(0.25)?.comes_back);
/// # Ok::<(), blockscale::transcode::TranscodeError>(())
/// ```
pub fn invert_global_scale(global: f32) -> Result<InvertedScale, TranscodeError> {
    let value = 1.0 / global;
    let usable = |x: f32| x.is_finite() && x > 0.0;
    if !(usable(global) && usable(value)) {
        return Err(TranscodeError::Scale {
            index: 0,
            value: global,
        });
    }
    Ok(InvertedScale {
        value,
        comes_back: 1.0 / value == global,
    })
}

/// What [`invert_global_scale`] gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvertedScale {
    /// The reciprocal, rounded to `f32`.
    pub value: f32,
    /// Whether the reciprocal of it is the number it came from, to the bit. If not, a conversion
    /// back gives a scale that is off in its last bit.
    pub comes_back: bool,
}
