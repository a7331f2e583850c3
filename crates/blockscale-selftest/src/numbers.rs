//! Plain numbers whose type is a value.

use blockscale::{Real, bf16, f16};

/// A type of plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bf16,
    F16,
    F32,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Bf16, Self::F16, Self::F32];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "BF16",
            Self::F16 => "F16",
            Self::F32 => "F32",
        }
    }
}

/// Numbers of one type.
#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    Bf16(Vec<bf16>),
    F16(Vec<f16>),
    F32(Vec<f32>),
}

/// Evaluates an expression with the numbers as a vector of their own type.
macro_rules! with_numbers {
    ($numbers:expr, $values:ident => $body:expr) => {
        match $numbers {
            $crate::numbers::Numbers::Bf16($values) => $body,
            $crate::numbers::Numbers::F16($values) => $body,
            $crate::numbers::Numbers::F32($values) => $body,
        }
    };
}
pub(crate) use with_numbers;

fn rounded<T: Real>(values: &[f32]) -> Vec<T> {
    values.iter().map(|&value| T::from_f32(value)).collect()
}

impl Numbers {
    /// `values` rounded to a type.
    pub(crate) fn rounded(kind: Kind, values: &[f32]) -> Self {
        match kind {
            Kind::Bf16 => Self::Bf16(rounded(values)),
            Kind::F16 => Self::F16(rounded(values)),
            Kind::F32 => Self::F32(rounded(values)),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Bf16(_) => Kind::Bf16,
            Self::F16(_) => Kind::F16,
            Self::F32(_) => Kind::F32,
        }
    }

    pub(crate) fn len(&self) -> usize {
        with_numbers!(self, values => values.len())
    }

    pub(crate) fn widened(&self) -> Vec<f32> {
        fn widened<T: Real>(values: &[T]) -> Vec<f32> {
            values.iter().map(|value| value.to_f32()).collect()
        }
        with_numbers!(self, values => widened(values))
    }

    /// The bits of each number, and which of them are NaN.
    pub(crate) fn bits(&self) -> Vec<(u32, bool)> {
        match self {
            Self::Bf16(values) => values
                .iter()
                .map(|x| (x.to_bits().into(), x.is_nan()))
                .collect(),
            Self::F16(values) => values
                .iter()
                .map(|x| (x.to_bits().into(), x.is_nan()))
                .collect(),
            Self::F32(values) => values.iter().map(|x| (x.to_bits(), x.is_nan())).collect(),
        }
    }
}
