//! Packed scales of which 128 rows share a copy, a word at a time.
//!
//! As with [`lines`](super::lines), the definition is by place, which also finds what is wrong.

use crate::Shape;
use crate::arch::ByteKernels;

/// Rows that share their scales.
const BLOCK: usize = 128;

/// Words of a row of scales that are prepared at a time.
const PART: usize = 256;

/// One matrix of a weight of `shape.rows` rows, each block of them with `shape.cols` scales.
#[derive(Clone, Copy)]
pub(super) struct Copies {
    pub(super) shape: Shape,
    /// Bytes from a column of words to the next.
    pub(super) pitch: usize,
    /// Whether scales are F32, of which exponents are stored.
    pub(super) exponents: bool,
    pub(super) kernels: ByteKernels,
}

impl Copies {
    /// `false`, and `out` of no use, where a scale has no exponent that says all of it.
    pub(super) fn permute(&self, linear: &[u8], out: &mut [u8]) -> bool {
        let width = if self.exponents { 4 } else { 1 };
        let mut part = [0; PART * 4];
        for (block, scales) in linear.chunks_exact(self.shape.cols * width).enumerate() {
            for (index, scales) in scales.chunks(PART * 4 * width).enumerate() {
                let (stored, padding) = part.split_at_mut(scales.len() / width);
                padding.fill(0);
                if !self.exponents {
                    stored.copy_from_slice(scales);
                } else if !self.kernels.narrow_powers(scales.as_chunks().0, stored) {
                    return false;
                }
                let words = &part.as_chunks::<4>().0[..stored_words(scales.len() / width)];
                for (word, column) in words.iter().zip(index * PART..) {
                    let rows = &mut out[column * self.pitch + block * BLOCK * 4..];
                    let count = BLOCK.min(self.shape.rows - block * BLOCK);
                    let (rows, rest) = rows.as_chunks_mut::<4>().0.split_at_mut(count);
                    rows.fill(*word);
                    // The last block is followed by what aligns the column.
                    let is_last = self.shape.rows - block * BLOCK <= BLOCK;
                    let padding = self.pitch / 4 - self.shape.rows;
                    if is_last {
                        rest[..padding].fill([0; 4]);
                    }
                }
            }
        }
        true
    }

    /// `false`, and `out` of no use, where copies differ.
    pub(super) fn unpermute(&self, laid_out: &[u8], out: &mut [u8]) -> bool {
        let width = if self.exponents { 4 } else { 1 };
        let mut part = [0; PART * 4];
        for (block, scales) in out.chunks_exact_mut(self.shape.cols * width).enumerate() {
            let count = BLOCK.min(self.shape.rows - block * BLOCK);
            for (index, scales) in scales.chunks_mut(PART * 4 * width).enumerate() {
                let len = scales.len() / width;
                let words = &mut part.as_chunks_mut::<4>().0[..stored_words(len)];
                // In a word that is not full, what follows the scales may differ.
                for (i, (word, column)) in words.iter_mut().zip(index * PART..).enumerate() {
                    let rows = &laid_out[column * self.pitch + block * BLOCK * 4..][..count * 4];
                    let (rows, _) = rows.as_chunks::<4>();
                    let kept = u32::MAX >> (32 - 8 * (len - 4 * i).min(4));
                    let first = u32::from_le_bytes(rows[0]);
                    let differ = |bits, row: &[u8; 4]| bits | (u32::from_le_bytes(*row) ^ first);
                    if rows.iter().fold(0, differ) & kept != 0 {
                        return false;
                    }
                    *word = rows[0];
                }
                if self.exponents {
                    self.kernels
                        .widen_powers(&part[..len], scales.as_chunks_mut().0);
                } else {
                    scales.copy_from_slice(&part[..len]);
                }
            }
        }
        true
    }
}

const fn stored_words(scales: usize) -> usize {
    scales.div_ceil(4)
}
