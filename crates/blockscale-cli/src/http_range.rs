//! The header `Range` of HTTP.

use std::ops::Range;

/// What a request wants of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// All of it: the header is of a unit that is no bytes, and is ignored then.
    Whole,
    /// Some bytes, at least one, all of which the file has.
    Part(Range<u64>),
    /// Nothing that can be sent: bytes that the file does not have, several ranges, or no range at all.
    Unsatisfiable,
}

/// Reads the value of a header `Range` about a file of `len` bytes (RFC 9110, section 14.2).
///
/// Several ranges are unsatisfiable, which the standard leaves to a server: sending a whole file
/// instead would send gigabytes that nobody asked for.
///
/// ```
/// use blockscale_cli::http_range::{Requested, requested};
///
/// assert_eq!(requested("bytes=2-5", 10), Requested::Part(2..6));
/// assert_eq!(requested("bytes=2-", 10), Requested::Part(2..10));
/// assert_eq!(requested("bytes=-3", 10), Requested::Part(7..10));
/// assert_eq!(requested("bytes=10-", 10), Requested::Unsatisfiable);
/// assert_eq!(requested("lines=1-2", 10), Requested::Whole);
/// ```
pub fn requested(value: &str, len: u64) -> Requested {
    let Some((unit, set)) = value.split_once('=') else {
        return Requested::Unsatisfiable;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Requested::Whole;
    }
    let found = one_range(set.trim_matches([' ', '\t']), len);
    found.map_or(Requested::Unsatisfiable, Requested::Part)
}

/// The only range of a set, as far as the file reaches.
fn one_range(set: &str, len: u64) -> Option<Range<u64>> {
    let (first, last) = set.split_once('-')?;
    let range = match (first, last) {
        ("", suffix) => len.saturating_sub(number(suffix)?)..len,
        (first, "") => number(first)?..len,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(len)
        }
    };
    (!range.is_empty()).then_some(range)
}

/// A number in digits alone; one that is too large is the largest.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a slice says of the same numbers.
    fn expected(first: Option<u64>, last: Option<u64>, len: u64) -> Requested {
        let bytes: Vec<u64> = (0..len).collect();
        let taken: Vec<u64> = match (first, last) {
            (Some(first), Some(last)) if last < first => Vec::new(),
            (Some(first), last) => bytes
                .into_iter()
                .filter(|&b| b >= first && last.is_none_or(|last| b <= last))
                .collect(),
            (None, Some(suffix)) => bytes.into_iter().filter(|&b| b + suffix >= len).collect(),
            (None, None) => Vec::new(),
        };
        match (taken.first(), taken.last()) {
            (Some(&first), Some(&last)) => Requested::Part(first..last + 1),
            _ => Requested::Unsatisfiable,
        }
    }

    #[test]
    fn every_small_range_of_every_small_file_is_what_a_slice_says() {
        let numbers: Vec<Option<u64>> = (0..12).map(Some).chain([None]).collect();
        let text = |number: Option<u64>| number.map_or(String::new(), |n| n.to_string());
        for len in 0..10 {
            for &first in &numbers {
                for &last in &numbers {
                    let value = format!("bytes={}-{}", text(first), text(last));
                    assert_eq!(
                        requested(&value, len),
                        expected(first, last, len),
                        "{value} of {len}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_ends_of_the_largest_file_are_reached_without_overflow() {
        let max = u64::MAX;
        assert_eq!(
            requested(&format!("bytes=0-{max}"), max),
            Requested::Part(0..max)
        );
        assert_eq!(
            requested(&format!("bytes={max}-"), max),
            Requested::Unsatisfiable
        );
        assert_eq!(
            requested(&format!("bytes=-{max}"), 5),
            Requested::Part(0..5)
        );
        // More digits than a number has.
        let huge = "9".repeat(40);
        assert_eq!(
            requested(&format!("bytes=3-{huge}"), 5),
            Requested::Part(3..5)
        );
        assert_eq!(
            requested(&format!("bytes={huge}-"), 5),
            Requested::Unsatisfiable
        );
    }

    #[test]
    fn what_is_no_single_range_is_not_guessed_at() {
        for value in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes=1",
            "bytes=1-2-3",
            "bytes=0-1,3-4",
            "bytes=+1-2",
            "bytes= 1 - 2",
            "bytes=0x1-2",
            "bytes=1--2",
            "bytes=\u{661}-2",
            "bytes=--1",
        ] {
            assert_eq!(requested(value, 10), Requested::Unsatisfiable, "{value:?}");
        }
        for value in ["Bytes=1-2", " bytes=1-2", "bytes= 1-2\t"] {
            assert_eq!(requested(value, 10), Requested::Part(1..3), "{value:?}");
        }
    }
}
