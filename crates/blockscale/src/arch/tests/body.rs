//! What every comparison of levels shares.

use core::fmt::Debug;
use core::ops::Range;
use std::vec;
use std::vec::Vec;

use bytemuck::Pod;

use crate::arch::Level;

/// Runs an operation on every level and compares all that it returns with what the definition does.
pub(crate) fn same_on_every_level<R: Pod + PartialEq + Debug>(
    case: impl Debug,
    run: impl Fn(Level) -> Vec<R>,
) {
    let expected = run(Level::Scalar);
    for level in Level::available().skip(1) {
        let found = run(level);
        assert_eq!(found.len(), expected.len(), "{level}, {case:?}");
        let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
        if let Some(i) = differs {
            let (found, expected) = (found[i], expected[i]);
            panic!("{level}, {case:?}: item {i} is {found:x?}, must be {expected:x?}");
        }
    }
}

/// Numbers or bytes that start a given number of elements after a cache line, with a margin on both
/// sides that nobody may write to.
pub(crate) struct Placed<T> {
    memory: Vec<T>,
    inside: Range<usize>,
    margin: T,
}

impl<T: Pod> Placed<T> {
    const MARGIN: usize = 64;

    /// `values`, `offset` elements after a multiple of 64 bytes.
    pub(crate) fn new(values: &[T], offset: usize, margin: T) -> Self {
        let mut memory = vec![margin; values.len() + offset + 3 * Self::MARGIN];
        let to_line = memory[Self::MARGIN..].as_ptr().align_offset(64);
        let start = Self::MARGIN + to_line + offset;
        let inside = start..start + values.len();
        memory[inside.clone()].copy_from_slice(values);
        Self {
            memory,
            inside,
            margin,
        }
    }

    /// `len` elements that all are `margin`.
    pub(crate) fn filled(len: usize, offset: usize, margin: T) -> Self {
        Self::new(&vec![margin; len], offset, margin)
    }

    pub(crate) fn get(&self) -> &[T] {
        &self.memory[self.inside.clone()]
    }

    pub(crate) fn get_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.inside.clone()]
    }

    /// The elements, after a look at the margins.
    pub(crate) fn into_vec(self) -> Vec<T> {
        let before = &self.memory[..self.inside.start];
        let after = &self.memory[self.inside.end..];
        let margin = bytemuck::bytes_of(&self.margin);
        let is_margin = |x: &T| bytemuck::bytes_of(x) == margin;
        let untouched = before.iter().chain(after).all(is_margin);
        assert!(untouched, "something was written beside the output");
        self.get().to_vec()
    }
}

/// Pseudorandom numbers, the same on every machine (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.bits() as u8).collect()
    }
}
