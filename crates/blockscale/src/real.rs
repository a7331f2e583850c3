use half::{bf16, f16};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for half::bf16 {}
    impl Sealed for half::f16 {}
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
