use half::{bf16, f16};

use crate::LenMismatch;
use crate::arch::Kernels;

pub(crate) mod sealed {
    /// Which of the types one is, for loops that treat them differently.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        F32,
        Bf16,
        F16,
    }

    pub trait Sealed {
        const KIND: Kind;
    }

    impl Sealed for f32 {
        const KIND: Kind = Kind::F32;
    }

    impl Sealed for half::bf16 {
        const KIND: Kind = Kind::Bf16;
    }

    impl Sealed for half::f16 {
        const KIND: Kind = Kind::F16;
    }
}

/// A number type that weights are decoded to and encoded from: `f32`, [`bf16`] or [`struct@f16`].
///
/// ```
/// use blockscale::{Real, bf16};
///
/// fn to_bf16<T: Real>(x: T) -> bf16 {
///     bf16::from_f32(x.to_f32())
/// }
/// assert_eq!(to_bf16(1.00390625_f32).to_f32(), 1.0); // a tie, to the even one
/// ```
pub trait Real: sealed::Sealed + bytemuck::Pod + Send + Sync {
    /// Rounds once, to nearest, ties to even. NaN stays a quiet NaN of the same sign.
    fn from_f32(value: f32) -> Self;

    /// Widens exactly.
    fn to_f32(self) -> f32;
}

impl Real for f32 {
    fn from_f32(value: f32) -> Self {
        value
    }

    fn to_f32(self) -> f32 {
        self
    }
}

impl Real for bf16 {
    fn from_f32(value: f32) -> Self {
        bf16::from_f32(value)
    }

    fn to_f32(self) -> f32 {
        bf16::to_f32(self)
    }
}

impl Real for f16 {
    fn from_f32(value: f32) -> Self {
        f16::from_f32(value)
    }

    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }
}

/// Widens numbers to F32, exactly. NaN becomes quiet.
///
/// # Errors
///
/// [`LenMismatch`] where `out` is not as long as `values`.
///
/// ```
/// use blockscale::bf16;
/// use blockscale::decode::widen;
///
/// let mut out = [0.0; 2];
/// widen(&[bf16::from_f32(1.5), bf16::NEG_INFINITY], &mut out)?;
/// assert_eq!(out, [1.5, f32::NEG_INFINITY]);
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn widen<T: Real>(values: &[T], out: &mut [f32]) -> Result<(), LenMismatch> {
    LenMismatch::check("out", Some(values.len()), out.len())?;
    Kernels::in_use().widen(values, out);
    Ok(())
}

/// Rounds F32 to numbers of another type: to nearest, ties to even. NaN stays NaN.
///
/// # Errors
///
/// [`LenMismatch`] where `out` is not as long as `values`.
///
/// ```
/// use blockscale::bf16;
/// use blockscale::encode::narrow;
///
/// let mut out = [bf16::ZERO; 2];
/// narrow(&[1.00390625, 3.0e38], &mut out)?;
/// assert_eq!(out.map(bf16::to_bits), [0x3f80, 0x7f62]); // a tie, to the even one
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn narrow<T: Real>(values: &[f32], out: &mut [T]) -> Result<(), LenMismatch> {
    LenMismatch::check("out", Some(values.len()), out.len())?;
    Kernels::in_use().narrow(values, out);
    Ok(())
}

/// `a * b`, with the same bits on every machine where the result is NaN.
///
/// Then it is the first of the two that is NaN, quiet and with its sign; of zero and infinity it is
/// the negative NaN that x86 makes. Left to the hardware and the compiler, signs and payloads differ.
#[inline(always)]
pub(crate) fn product(a: f32, b: f32) -> f32 {
    let product = a * b;
    if product.is_nan() {
        nan_of(a, b)
    } else {
        product
    }
}

/// `a / b`, with NaN as in [`product`].
#[inline(always)]
pub(crate) fn quotient(a: f32, b: f32) -> f32 {
    let quotient = a / b;
    if quotient.is_nan() {
        nan_of(a, b)
    } else {
        quotient
    }
}

#[inline(always)]
fn nan_of(a: f32, b: f32) -> f32 {
    const QUIET: u32 = 1 << (f32::MANTISSA_DIGITS - 2);
    let bits = match (a.is_nan(), b.is_nan()) {
        (true, _) => a.to_bits() | QUIET,
        (_, true) => b.to_bits() | QUIET,
        _ => 0xffc0_0000,
    };
    f32::from_bits(bits)
}
