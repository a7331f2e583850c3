//! Histograms: where their edges are and what they count.

use crate::RequestError;
use crate::order::order;

/// Where the bins of a histogram start and end.
///
/// ```
/// use blockscale_wgpu::Edges;
///
/// assert_eq!(Edges::linear(-1.0, 1.0, 4)?.as_slice(), [-1.0, -0.5, 0.0, 0.5, 1.0]);
/// assert_eq!(Edges::powers_of_two(-1, 2)?.as_slice(), [0.5, 1.0, 2.0, 4.0]);
/// assert!(Edges::new(vec![1.0, 1.0]).is_err());
/// # Ok::<(), blockscale_wgpu::RequestError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Edges(Vec<f32>);

impl Edges {
    /// As many edges as a histogram can have.
    pub const MOST: usize = 2046;

    /// Edges that rise from first to last. Between two of them, below the first and above the last
    /// is one bin each; a number on an edge belongs to the bin above.
    ///
    /// # Errors
    ///
    /// [`RequestError::EdgeOrder`] where one is not above the one before it or is NaN,
    /// [`RequestError::EdgeCount`] where there is none or more than [`MOST`](Self::MOST).
    pub fn new(edges: Vec<f32>) -> Result<Self, RequestError> {
        if !(1..=Self::MOST).contains(&edges.len()) {
            return Err(RequestError::EdgeCount {
                most: Self::MOST,
                found: edges.len(),
            });
        }
        let is_wrong = |index: &usize| {
            let before = index.checked_sub(1).map(|before| order(edges[before]));
            edges[*index].is_nan() || before.is_some_and(|before| before >= order(edges[*index]))
        };
        match (0..edges.len()).find(is_wrong) {
            Some(index) => Err(RequestError::EdgeOrder { index }),
            None => Ok(Self(edges)),
        }
    }

    /// `bins` bins of the same width from `low` to `high`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new): where `low` is not below `high`, or `bins` are too many or too narrow.
    pub fn linear(low: f32, high: f32, bins: usize) -> Result<Self, RequestError> {
        let (start, width) = (f64::from(low), f64::from(high) - f64::from(low));
        let edge = |index| (start + width * index as f64 / bins as f64) as f32;
        Self::new(
            (0..bins.saturating_add(1).min(Self::MOST + 1))
                .map(edge)
                .collect(),
        )
    }

    /// 2^`first` to 2^`last`: a bin for each exponent. The smallest exponent of `f32` is -149, the
    /// largest 127.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new): where `f32` lacks one of them, or `last` is below `first`.
    pub fn powers_of_two(first: i32, last: i32) -> Result<Self, RequestError> {
        let most = Self::MOST + 1;
        Self::new((first..=last).take(most).map(power_of_two).collect())
    }

    /// The edges.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// The bin of a number that is not NaN.
    pub(crate) fn bin(&self, number: f32) -> usize {
        self.0.partition_point(|&edge| order(edge) <= order(number))
    }

    /// The edges as the kernel compares them.
    pub(crate) fn places(&self) -> Vec<u32> {
        self.0.iter().map(|&edge| order(edge)).collect()
    }
}

/// 2^`exponent`, NaN where `f32` does not have it.
fn power_of_two(exponent: i32) -> f32 {
    match exponent {
        -149..=-127 => f32::from_bits(1 << (exponent + 149)),
        -126..=127 => f32::from_bits(((exponent + 127) as u32) << 23),
        _ => f32::NAN,
    }
}

/// How many numbers lie between which edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Numbers below the first edge, between each two, and from the last edge up: one more than
    /// there are edges.
    pub counts: Vec<u64>,
    /// NaN.
    pub nan: u64,
}

impl Histogram {
    pub(crate) fn empty(edges: &Edges) -> Self {
        Self {
            counts: vec![0; edges.0.len() + 1],
            nan: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_on_an_edge_belongs_to_the_bin_above() {
        let edges = Edges::new(vec![-1.0, 0.0, 2.0]).unwrap();
        let bins = [-2.0, -1.0, -0.0, 0.0, 1.0, 2.0, f32::INFINITY].map(|x| edges.bin(x));
        assert_eq!(bins, [0, 1, 2, 2, 2, 3, 3]);
    }

    #[test]
    fn edges_that_do_not_rise_are_refused() {
        let refused = |edges: &[f32]| Edges::new(edges.to_vec()).unwrap_err();
        assert_eq!(
            refused(&[0.0, f32::NAN]),
            RequestError::EdgeOrder { index: 1 }
        );
        assert_eq!(refused(&[f32::NAN]), RequestError::EdgeOrder { index: 0 });
        assert_eq!(refused(&[-0.0, 0.0]), RequestError::EdgeOrder { index: 1 });
        let count = |found| RequestError::EdgeCount { most: 2046, found };
        assert_eq!(refused(&[]), count(0));
        assert_eq!(
            Edges::linear(0.0, 1.0, usize::MAX).unwrap_err(),
            count(2047)
        );
    }

    #[test]
    fn every_exponent_of_f32_has_a_bin() {
        let edges = Edges::powers_of_two(-149, 127).unwrap();
        for (index, &edge) in edges.as_slice().iter().enumerate() {
            assert_eq!(f64::from(edge), 2_f64.powi(index as i32 - 149));
        }
        assert!(Edges::powers_of_two(-150, 0).is_err());
        assert!(Edges::powers_of_two(0, 128).is_err());
        assert!(Edges::powers_of_two(1, 0).is_err());
    }
}
