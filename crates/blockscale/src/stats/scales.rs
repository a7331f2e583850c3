//! What the scales of blocks are like.

use crate::format::{ScaleElement, Shape};

/// Counts over a plane of scales.
///
/// ```
/// use blockscale::stats::ScaleStats;
/// use blockscale::{ScaleElement, Shape};
///
/// // UE8M0 bytes: 2^-7 twice, 1, and NaN.
/// let stats = ScaleStats::of_rows(ScaleElement::E8m0Fnu, Shape::new(1, 4), &[120, 120, 127, 255]);
/// assert_eq!((stats.count, stats.ones, stats.not_finite), (4, 1, 1));
/// assert_eq!((stats.min, stats.max), (0.0078125, 1.0));
/// assert_eq!((stats.pairs, stats.equal_pairs), (2, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleStats {
    /// Scales seen.
    pub count: u64,
    /// By their byte, or by the eight exponent bits of the `f32` where a scale has more bytes.
    pub histogram: [u64; 256],
    /// Zeros.
    pub zeros: u64,
    /// Finite with the sign bit set, zeros included.
    pub negative: u64,
    /// NaN and infinities.
    pub not_finite: u64,
    /// Equal to 1.
    pub ones: u64,
    /// Finite, not zero, and no power of two.
    pub not_power_of_two: u64,
    /// Whole numbers from 64 to 254: what exponent bytes of UE8M0 are when they are read as numbers.
    pub like_exponent_bytes: u64,
    /// Smallest finite scale; infinity where there is none.
    pub min: f32,
    /// Largest finite scale; minus infinity where there is none.
    pub max: f32,
    /// Scales side by side in columns 2 *j* and 2 *j* + 1 of a row.
    pub pairs: u64,
    /// Those with the same bytes.
    pub equal_pairs: u64,
}

impl Default for ScaleStats {
    fn default() -> Self {
        Self {
            count: 0,
            histogram: [0; 256],
            zeros: 0,
            negative: 0,
            not_finite: 0,
            ones: 0,
            not_power_of_two: 0,
            like_exponent_bytes: 0,
            min: f32::INFINITY,
            max: f32::NEG_INFINITY,
            pairs: 0,
            equal_pairs: 0,
        }
    }
}

impl ScaleStats {
    /// Of whole rows of a plane of scales, `shape` of them, in little-endian bytes. Bytes behind the
    /// last whole row are not looked at.
    pub fn of_rows(element: ScaleElement, shape: Shape, scales: &[u8]) -> Self {
        let mut stats = Self::default();
        let size = element.bytes();
        let Some(row_bytes) = shape.cols.checked_mul(size).filter(|&bytes| bytes > 0) else {
            return stats;
        };
        for row in scales.chunks_exact(row_bytes).take(shape.rows) {
            for scale in row.chunks_exact(size) {
                stats.add(element, scale);
            }
            for pair in row.chunks_exact(2 * size) {
                stats.pairs += 1;
                stats.equal_pairs += u64::from(pair[..size] == pair[size..]);
            }
        }
        stats
    }

    fn add(&mut self, element: ScaleElement, bytes: &[u8]) {
        let scale = element.decode(bytes);
        let key = match *bytes {
            [byte] => byte,
            _ => (scale.to_bits() >> 23) as u8,
        };
        self.count += 1;
        self.histogram[usize::from(key)] += 1;
        if !scale.is_finite() {
            self.not_finite += 1;
            return;
        }
        self.negative += u64::from(scale.is_sign_negative());
        self.zeros += u64::from(scale == 0.0);
        self.ones += u64::from(scale == 1.0);
        self.not_power_of_two += u64::from(scale != 0.0 && !is_power_of_two(scale));
        let whole = libm::truncf(scale) == scale;
        self.like_exponent_bytes += u64::from(whole && (64.0..=254.0).contains(&scale));
        self.min = self.min.min(scale);
        self.max = self.max.max(scale);
    }

    /// Adds what was found in other rows.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        for (ours, theirs) in self.histogram.iter_mut().zip(&other.histogram) {
            *ours += theirs;
        }
        self.zeros += other.zeros;
        self.negative += other.negative;
        self.not_finite += other.not_finite;
        self.ones += other.ones;
        self.not_power_of_two += other.not_power_of_two;
        self.like_exponent_bytes += other.like_exponent_bytes;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.pairs += other.pairs;
        self.equal_pairs += other.equal_pairs;
    }

    /// Whether all scales are the same finite number.
    pub fn is_constant(&self) -> bool {
        self.not_finite == 0 && self.min == self.max
    }
}

/// Whether a finite number other than zero is a power of two, subnormals included.
fn is_power_of_two(x: f32) -> bool {
    let magnitude = x.abs().to_bits();
    match magnitude & 0x007f_ffff {
        0 => true,
        fraction => magnitude >> 23 == 0 && fraction.is_power_of_two(),
    }
}
