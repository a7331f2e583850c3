//! The numbers of a block as tables of bytes, computed by the definition.

use super::{Minifloat, Vector, bf16_bits};
use crate::real::product;
use crate::real::sealed::Kind;
use crate::{Real, f16};

/// Sixteen numbers of 16 bits: their low bytes, their high bytes.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Sixteen {
    pub(super) low: [u8; 16],
    pub(super) high: [u8; 16],
}

impl Sixteen {
    #[inline(always)]
    fn new(numbers: [u16; 16]) -> Self {
        Self {
            low: numbers.map(|bits| bits as u8),
            high: numbers.map(|bits| (bits >> 8) as u8),
        }
    }
}

/// What eight codes, from `first` on, mean under a scale.
#[inline(always)]
fn eight<V: Vector, E: Minifloat, T: Real>(v: V, first: u8, scale: f32) -> [u16; 8] {
    let values: [f32; 8] = core::array::from_fn(|i| E::widen(first + i as u8));
    if scale.is_finite() {
        return v.scaled8::<T>(values, scale);
    }
    values.map(|value| match T::KIND {
        Kind::F16 => f16::from_f32(product(value, scale)).to_bits(),
        _ => bf16_bits(product(value, scale)),
    })
}

#[inline(always)]
fn sixteen<V: Vector, E: Minifloat, T: Real>(v: V, first: u8, scale: f32) -> [u16; 16] {
    joined(
        eight::<V, E, T>(v, first, scale),
        eight::<V, E, T>(v, first + 8, scale),
    )
}

#[inline(always)]
fn joined(lower: [u16; 8], upper: [u16; 8]) -> [u16; 16] {
    core::array::from_fn(|i| if i < 8 { lower[i] } else { upper[i - 8] })
}

/// The 16 codes of four bits.
#[derive(Clone, Copy)]
pub(super) struct NibbleTable(pub(super) Sixteen);

/// The 32 magnitudes of six bits.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct SextetTable {
    pub(super) lower: Sixteen,
    pub(super) upper: Sixteen,
    /// Whether negative codes are the negatives of positive ones, which NaN are not.
    pub(super) usable: bool,
}

/// The magnitudes of eight bits, for numbers whose type has eight bits of exponent.
///
/// Under one scale, two normal codes that differ by a power of two give numbers that differ by it,
/// and so do the roundings: a number is that of the lower four bits, with the upper bits of the
/// exponent added to it. What is special, subnormal codes and infinity and NaN, has a table of its
/// own.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct OctetTable {
    /// By the lower four bits of a code, less the exponent of the upper ones.
    pub(super) normal: Sixteen,
    pub(super) special: Sixteen,
    /// Whether no normal code becomes subnormal or infinite.
    pub(super) usable: bool,
}

impl NibbleTable {
    #[inline(always)]
    pub(super) fn new<V: Vector, E: Minifloat, T: Real>(v: V, scale: f32) -> Self {
        Self(Sixteen::new(sixteen::<V, E, T>(v, 0, scale)))
    }
}

impl SextetTable {
    #[inline(always)]
    pub(super) fn new<V: Vector, E: Minifloat, T: Real>(v: V, scale: f32) -> Self {
        Self {
            lower: Sixteen::new(sixteen::<V, E, T>(v, 0, scale)),
            upper: Sixteen::new(sixteen::<V, E, T>(v, 16, scale)),
            usable: scale.is_finite(),
        }
    }
}

impl OctetTable {
    /// Adds to the exponent of a BF16 what the exponent bits in the upper half of a code say, by that
    /// half: it goes to the high byte. The sign goes along.
    pub(super) fn exponents<E: Minifloat>() -> [u8; 16] {
        core::array::from_fn(|upper| {
            let (sign, exponent) = (upper as u8 >> 3, upper as u8 & 7);
            (sign << 7) | (exponent << Self::exponent_shift::<E>())
        })
    }

    /// One step of the upper half is two binades for E4M3 and four for E5M2; the high byte of a BF16
    /// counts in steps of two.
    const fn exponent_shift<E: Minifloat>() -> u32 {
        E::EXPONENT_BITS - 4
    }

    /// The first magnitude code that is normal.
    pub(super) const fn first_normal<E: Minifloat>() -> u8 {
        1 << (7 - E::EXPONENT_BITS)
    }

    #[inline(always)]
    pub(super) fn new<V: Vector, E: Minifloat, T: Real>(v: V, scale: f32) -> Self {
        // The middle of the exponents stands for all.
        let middle = 4 << (8 + Self::exponent_shift::<E>());
        let top = 7 << (8 + Self::exponent_shift::<E>());
        let normal = sixteen::<V, E, T>(v, 0x40, scale).map(|bits: u16| bits.wrapping_sub(middle));
        let subnormal = eight::<V, E, T>(v, 0, scale);
        let last = eight::<V, E, T>(v, 0x78, scale).map(|bits: u16| bits.wrapping_sub(top));
        Self {
            normal: Sixteen::new(normal),
            special: Sixteen::new(joined(subnormal, last)),
            usable: Self::keeps_normal::<E>(scale),
        }
    }

    /// Whether every normal number of the type, times `scale`, is a normal F32 and BF16.
    fn keeps_normal<E: Minifloat>(scale: f32) -> bool {
        let power = |exponent: i32| f32::from_bits(((exponent + 127) as u32) << 23);
        // The smallest is 2^(1 - bias), the largest below 2^(2^bits - bias).
        let bias = E::BIAS as i32;
        let least = power(bias - 127);
        let most = power(126 - ((1 << E::EXPONENT_BITS) - bias));
        (least..=most).contains(&scale.abs())
    }
}
