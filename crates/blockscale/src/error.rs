use std::fmt;

/// A slice whose length does not fit the shape it was given with.
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
