//! Numbers that follow from a seed and a name alone.

use std::f32::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The random numbers of one tensor.
pub(crate) struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of `name`. Names have streams of their own, so that a tensor's numbers depend on
    /// neither the order nor the thread in which tensors are made.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.to_le_bytes()).update(name.as_bytes());
        Self(ChaCha8Rng::from_seed(*hasher.finalize().as_bytes()))
    }

    /// A whole number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        // The upper half of a product with less than 2^32 fits what `n` fits.
        ((u64::from(self.0.next_u32()) * n as u64) >> 32) as usize
    }

    /// Between `low` and `high`.
    pub(crate) fn uniform(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * unit(self.0.next_u32())
    }

    /// Independent normal numbers of mean 0 and standard deviation `sigma`.
    pub(crate) fn normal(&mut self, len: usize, sigma: f32) -> Vec<f32> {
        let mut values = vec![0.0; len];
        for pair in values.chunks_mut(2) {
            let both = self.normal_pair();
            for (value, normal) in pair.iter_mut().zip(both) {
                *value = sigma * normal;
            }
        }
        values
    }

    /// The method of Box and Muller, with the functions of `libm`: those of the platform differ in
    /// their last bit.
    fn normal_pair(&mut self) -> [f32; 2] {
        let radius = libm::sqrtf(-2.0 * libm::logf(1.0 - unit(self.0.next_u32())));
        let (sin, cos) = libm::sincosf(TAU * unit(self.0.next_u32()));
        [radius * cos, radius * sin]
    }
}

/// 24 bits as a number from 0 up to, not including, 1.
fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 / 16_777_216.0
}
