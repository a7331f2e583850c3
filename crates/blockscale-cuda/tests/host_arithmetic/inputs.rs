//! Numbers to try.

use blockscale::{Element, bf16, f16};

pub(crate) const ELEMENTS: [Element; 6] = [
    Element::E2m1,
    Element::E2m3,
    Element::E3m2,
    Element::E4m3Fn,
    Element::E4m3Fnuz,
    Element::E5m2,
];

/// The number of an element in the kernels.
pub(crate) fn number(element: Element) -> u64 {
    let at = ELEMENTS.iter().position(|other| *other == element);
    at.expect("every element is listed") as u64
}

/// A stream of bits, the same in each run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, count: u64) -> u64 {
        (self.next() >> 20) % count
    }

    /// Around zero, most of them below 1, as weights are.
    pub(crate) fn weight(&mut self) -> f32 {
        let sum: i64 = (0..4).map(|_| (self.next() >> 48) as i64 - 32_768).sum();
        sum as f32 / 65_536.0
    }
}

/// Every BF16 and every F16 number as F32.
pub(crate) fn all_of_16_bits() -> Vec<f32> {
    let of_bf16 = (0..=u16::MAX).map(|bits| bf16::from_bits(bits).to_f32());
    let of_f16 = (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32());
    of_bf16.chain(of_f16).collect()
}

/// Both signs of each value of an element, of each midpoint between two, and of their neighbours in F32.
pub(crate) fn around_boundaries(element: Element) -> Vec<f32> {
    let mut values: Vec<f32> = (0..1_u16 << element.bits())
        .map(|code| element.decode(code as u8).abs())
        .filter(|value| value.is_finite())
        .collect();
    values.sort_by(f32::total_cmp);
    let midpoints: Vec<f32> = values
        .windows(2)
        .map(|pair| f32::midpoint(pair[0], pair[1]))
        .collect();
    let beyond = [element.max_finite() * 1.0625, f32::MAX, f32::INFINITY];
    let edges = values.iter().chain(&midpoints).chain(&beyond);
    edges
        .flat_map(|edge| {
            (-3..=3).map(|step| f32::from_bits(edge.to_bits().saturating_add_signed(step)))
        })
        .flat_map(|x| [x, -x])
        .collect()
}

/// Bits of every sort: NaN with payloads, infinities, zeros, subnormals, both signs.
pub(crate) fn specials() -> Vec<f32> {
    let bits = [
        0,
        1,
        0x0000_ffff,
        0x0040_0000,
        0x007f_ffff,
        0x0080_0000,
        0x3f80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7f80_0001,
        0x7fa0_1234,
        0x7fc0_0000,
        0x7fff_ffff,
    ];
    bits.iter()
        .flat_map(|bits| [f32::from_bits(*bits), f32::from_bits(bits | 1 << 31)])
        .collect()
}
