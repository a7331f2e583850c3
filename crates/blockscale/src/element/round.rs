//! The one definition of rounding to, and widening from, a small binary float.

use super::Ties;

/// Layout of a small float: a sign bit above a magnitude of exponent and fraction, with subnormals.
///
/// Fits any such type of up to 8 bits whose smallest normal exponent is well above that of `f32`.
pub(super) struct Minifloat {
    /// Stored bits of the fraction.
    pub(super) mantissa_bits: u32,
    /// Stored exponent less true exponent, of normal numbers.
    pub(super) bias: u32,
    /// Magnitude code of the largest finite value.
    pub(super) max_code: u8,
}

const F32_MANTISSA_BITS: u32 = f32::MANTISSA_DIGITS - 1;
const F32_BIAS: u32 = 127;
const F32_MAGNITUDE: u32 = 0x7fff_ffff;
const F32_FRACTION: u32 = (1 << F32_MANTISSA_BITS) - 1;

impl Minifloat {
    /// Code of the magnitude nearest to `|x|`, ties to the even code, saturating at `max_code`.
    ///
    /// NaN gives `max_code`; types that have a NaN ask first.
    ///
    /// Between two powers of two, and below the smallest normal number, values are multiples of one
    /// quantum. Adding a number whose last bit weighs a quantum lets the adder round to nearest
    /// even, and the bits of the sum count quanta. The code is that count on top of the codes of
    /// the lower binades. There are no branches, so that loops over it vectorise.
    pub(super) const fn magnitude(&self, x: f32) -> u8 {
        let dropped = F32_MANTISSA_BITS - self.mantissa_bits;
        let largest = self.widen(self.max_code).to_bits();
        let min_normal = (F32_BIAS + 1 - self.bias) << F32_MANTISSA_BITS;

        let bits = x.to_bits() & F32_MAGNITUDE;
        let bits = if bits > largest { largest } else { bits };
        let binade = bits & !F32_FRACTION;
        let binade = if binade < min_normal {
            min_normal
        } else {
            binade
        };

        let shifter = binade + (dropped << F32_MANTISSA_BITS);
        let sum = f32::from_bits(bits) + f32::from_bits(shifter);
        let quanta = sum.to_bits().wrapping_sub(shifter);
        (quanta + ((binade - min_normal) >> dropped)) as u8
    }

    /// [`magnitude`](Self::magnitude) with ties as asked.
    pub(super) const fn magnitude_with(&self, x: f32, ties: Ties) -> u8 {
        let nearest = self.magnitude(x);
        let magnitude = x.abs();
        let value = self.widen(nearest);
        // Both neighbours of a tie are values, and their mean is exact in `f32`.
        let below = if value > magnitude {
            nearest - 1
        } else {
            nearest
        };
        if below == self.max_code || (self.widen(below) + self.widen(below + 1)) / 2.0 != magnitude
        {
            return nearest;
        }
        match ties {
            Ties::Even => nearest,
            Ties::TowardZero => below,
            Ties::Away => below + 1,
        }
    }

    /// The low byte of the code of `|x|`, rounded to nearest even as if codes never ended and every
    /// exponent were that of a normal number.
    pub(super) const fn rounded_bits(&self, x: f32) -> u8 {
        let dropped = F32_MANTISSA_BITS - self.mantissa_bits;
        let bits = x.to_bits() & F32_MAGNITUDE;
        let rebiased = bits.wrapping_sub((F32_BIAS - self.bias) << F32_MANTISSA_BITS);
        let odd = (bits >> dropped) & 1;
        let below_half = (1 << (dropped - 1)) - 1;
        ((rebiased + below_half + odd) >> dropped) as u8
    }

    /// Whether `x` rounds to above the largest finite value, if codes went on after it.
    pub(super) const fn overflows(&self, x: f32, ties: Ties) -> bool {
        let bound = (self.widen(self.max_code) + self.widen(self.max_code + 1)) / 2.0;
        let magnitude = x.abs();
        if magnitude != bound {
            return magnitude > bound;
        }
        match ties {
            Ties::Even => self.max_code % 2 == 1,
            Ties::TowardZero => false,
            Ties::Away => true,
        }
    }

    /// Value of a magnitude code, as if no code were reserved for infinity or NaN.
    pub(super) const fn widen(&self, magnitude: u8) -> f32 {
        let magnitude = magnitude as u32;
        let exponent = magnitude >> self.mantissa_bits;
        if exponent == 0 {
            let step_exponent = F32_BIAS + 1 - self.bias - self.mantissa_bits;
            let step = f32::from_bits(step_exponent << F32_MANTISSA_BITS);
            return magnitude as f32 * step;
        }
        let dropped = F32_MANTISSA_BITS - self.mantissa_bits;
        f32::from_bits((magnitude << dropped) + ((F32_BIAS - self.bias) << F32_MANTISSA_BITS))
    }
}

/// `1` where the sign bit of `x` is set, of zeros and NaN too.
pub(super) const fn sign_bit(x: f32) -> u8 {
    (x.to_bits() >> 31) as u8
}
