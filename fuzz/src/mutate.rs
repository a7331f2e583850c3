//! The same mutations in every run, for tests that have no fuzzer.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Bytes that mean something in headers, numbers and text.
const TELLING: &[&[u8]] = &[
    &[0; 8],
    &[0xff; 8],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    &[0, 0, 0, 0x80],
    b"\"",
    b"{}",
    b"[]",
    b"null",
    b"-1",
    b"1e999",
    b"18446744073709551615",
    b"9223372036854775808",
    b"../",
    b"\\u0000",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
];

/// Makes inputs out of others.
pub struct Mutator {
    random: ChaCha8Rng,
}

impl Mutator {
    /// One that makes the same inputs for the same seed.
    pub fn new(seed: u64) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn below(&mut self, end: usize) -> usize {
        (self.random.next_u64() % end.max(1) as u64) as usize
    }

    /// One of `corpus` with a few changes, or bytes of no origin.
    pub fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = match corpus.len() {
            0 => Vec::new(),
            count => corpus[self.below(count)].clone(),
        };
        if input.is_empty() || self.below(4) == 0 {
            input = vec![0; self.below(400)];
            self.random.fill_bytes(&mut input);
        }
        for _ in 0..=self.below(6) {
            self.change(&mut input, corpus);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        match self.below(8) {
            0 => input.truncate(at),
            1 => {
                let end = (at + self.below(16)).min(input.len());
                input.drain(at..end);
            }
            2 => {
                let end = (at + self.below(64)).min(input.len());
                let piece = input[at..end].to_vec();
                self.insert(input, &piece);
            }
            3 => {
                let piece = TELLING[self.below(TELLING.len())];
                self.insert(input, piece);
            }
            4 => {
                let piece = TELLING[self.below(TELLING.len())];
                let end = (at + piece.len()).min(input.len());
                input[at..end].copy_from_slice(&piece[..end - at]);
            }
            5 if !corpus.is_empty() => {
                let other = &corpus[self.below(corpus.len())];
                let piece = other[self.below(other.len() + 1)..].to_vec();
                input.truncate(at);
                input.extend(piece);
            }
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << (self.random.next_u32() % 8);
                }
            }
        }
    }

    fn insert(&mut self, input: &mut Vec<u8>, piece: &[u8]) {
        let at = self.below(input.len() + 1);
        input.splice(at..at, piece.iter().copied());
    }
}
