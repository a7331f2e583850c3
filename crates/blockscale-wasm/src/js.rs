//! Between Rust and JavaScript.

use blockscale::Shape;
use blockscale_wgpu::RequestError;
use serde::{Serialize, Serializer};
use wasm_bindgen::{JsError, JsValue};

/// A value as JavaScript has it.
pub(crate) fn to_js<T: Serialize>(value: &T) -> Result<JsValue, JsError> {
    let text = serde_json::to_string(value)?;
    js_sys::JSON::parse(&text).map_err(|_| JsError::new("a result is no JSON"))
}

/// A number that JSON may not have: NaN and the infinities are strings, an `f32` keeps its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

impl From<f32> for Number {
    fn from(value: f32) -> Self {
        Self(f64::from(value))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            x if x.is_finite() => serializer.serialize_f64(x),
            x if x.is_nan() => serializer.serialize_str("NaN"),
            x if x > 0.0 => serializer.serialize_str("Infinity"),
            _ => serializer.serialize_str("-Infinity"),
        }
    }
}

/// Counts as JavaScript's numbers.
pub(crate) fn counts(counts: &[u64]) -> Vec<f64> {
    counts.iter().map(|&count| count as f64).collect()
}

/// An offset that came from JavaScript.
pub(crate) fn offset(number: f64) -> Result<u64, NotAnOffset> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    if (0.0..=MOST).contains(&number) && number.fract() == 0.0 {
        return Ok(number as u64);
    }
    Err(NotAnOffset(number))
}

/// A number that is no count of bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct NotAnOffset(f64);

impl std::fmt::Display for NotAnOffset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} is no number of bytes: a whole number from 0 to 2^53 is needed",
            self.0
        )
    }
}

impl std::error::Error for NotAnOffset {}

/// What a [`Sight`](crate::Sight) was asked for and does not hold.
#[derive(Debug, PartialEq)]
pub(crate) enum SightError {
    /// Numbers, where only scales were read.
    NoNumbers,
    /// Scales, where the weight has none beside its codes.
    NoScales,
    /// Planes of scales that cannot be held against each other.
    OtherPlane { first: Shape, second: Shape },
    /// A scale that is not there.
    NoScale { row: usize, col: usize },
    /// A block that is not there.
    NoBlock { row: usize, block: usize },
    /// The request itself.
    Request(RequestError),
}

impl From<RequestError> for SightError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl std::fmt::Display for SightError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoNumbers => f.write_str("only scales were read; read `pieces` and use `see`"),
            Self::NoScales => f.write_str("the weight has no plane of block scales"),
            Self::OtherPlane { first, second } => write!(
                f,
                "planes of {} x {} and of {} x {} scales cannot be compared one by one",
                first.rows, first.cols, second.rows, second.cols
            ),
            Self::NoScale { row, col } => write!(f, "there is no scale {col} in row {row}"),
            Self::NoBlock { row, block } => write!(f, "there is no block {block} in row {row}"),
            Self::Request(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SightError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_lacks_is_a_string_and_an_f32_keeps_its_value() {
        let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(Number);
        let text = serde_json::to_string(&numbers).unwrap();
        assert_eq!(text, r#"["NaN","Infinity","-Infinity"]"#);
        let text = serde_json::to_string(&Number::from(0.1_f32)).unwrap();
        assert_eq!(text.parse::<f64>().unwrap(), f64::from(0.1_f32));
    }

    #[test]
    fn offsets_are_whole_and_not_negative() {
        assert_eq!(offset(6_442_450_944.0), Ok(6 << 30));
        for wrong in [-1.0, 0.5, f64::NAN, f64::INFINITY, 1e300] {
            assert!(offset(wrong).is_err(), "{wrong}");
        }
    }
}
