//! Numbers that look like weights, the same on every machine.

use blockscale::bf16;

/// splitmix64, and numbers from it.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0, up to 1.
    fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn gaussian(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    fn laplace(&mut self) -> f64 {
        let exponential = -libm::log(self.uniform());
        if self.bits() & 1 == 0 {
            exponential
        } else {
            -exponential
        }
    }

    /// Student's t with 4 degrees of freedom.
    fn student_t4(&mut self) -> f64 {
        // The sum of four squared Gaussians is twice a sum of two exponentials.
        let squares = -2.0 * (libm::log(self.uniform()) + libm::log(self.uniform()));
        self.gaussian() / libm::sqrt(squares / 4.0)
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Distribution {
    Gaussian,
    Laplace,
    /// With 4 degrees of freedom.
    StudentT,
}

pub(crate) const DISTRIBUTIONS: [Distribution; 3] = [
    Distribution::Gaussian,
    Distribution::Laplace,
    Distribution::StudentT,
];

/// Numbers of BF16, 0.02 times those of the standard distribution.
pub(crate) fn weight(distribution: Distribution, len: usize) -> Vec<bf16> {
    let mut random = Random(7);
    let mut draw = || match distribution {
        Distribution::Gaussian => random.gaussian(),
        Distribution::Laplace => random.laplace(),
        Distribution::StudentT => random.student_t4(),
    };
    (0..len)
        .map(|_| bf16::from_f32((0.02 * draw()) as f32))
        .collect()
}
