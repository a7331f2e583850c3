use std::fmt;

/// A slice whose length does not fit the shape it was given with.
///
/// ```
/// use blockscale::decode::{Rows, decode_rows};
/// use blockscale::{Format, Shape};
///
/// let rows = Rows { codes: &[0; 8], scales: &[0x38; 2], global: 1.0 };
/// let error = decode_rows(&Format::NVFP4, Shape::new(1, 16), rows, &mut [0.0_f32; 16]);
/// let error = error.unwrap_err();
/// assert_eq!((error.what, error.expected, error.found), ("scales", 1, 2));
/// assert_eq!(error.to_string(), "`scales` has length 2, expected 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LenMismatch {
    /// Which argument it is, such as `codes` or `scales`.
    pub what: &'static str,
    /// The length the shape asks for; `usize::MAX` where that is more than any slice can hold.
    pub expected: usize,
    /// The length of the slice.
    pub found: usize,
}

impl LenMismatch {
    /// Compares `found` with a length that may have overflowed.
    pub(crate) fn check(
        what: &'static str,
        expected: Option<usize>,
        found: usize,
    ) -> Result<(), Self> {
        if expected == Some(found) {
            return Ok(());
        }
        let expected = expected.unwrap_or(usize::MAX);
        Err(Self {
            what,
            expected,
            found,
        })
    }
}

impl fmt::Display for LenMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            expected,
            found,
        } = self;
        write!(f, "`{what}` has length {found}, expected {expected}")
    }
}

impl core::error::Error for LenMismatch {}
