//! 32 bytes as two registers.

use core::arch::wasm32::*;

use crate::Real;
use crate::arch::vector::{Minifloat, Stores, Vector, bf16_bits};
use crate::real::sealed::Kind;

/// Shows that 128-bit vectors are there: this module is only compiled where they are.
#[derive(Clone, Copy)]
pub(super) struct Simd128;

/// Two registers, each with the bytes of 16 columns.
type Pair = [v128; 2];

#[inline(always)]
fn load(from: &[u8; 16]) -> v128 {
    // SAFETY: the reference is to 16 bytes, and loads need no alignment.
    unsafe { v128_load(from.as_ptr().cast()) }
}

#[inline(always)]
fn store<T>(values: v128, to: &mut [T]) {
    debug_assert!(size_of_val(to) == 16);
    // SAFETY: all callers give a slice of 16 bytes of numbers, and stores need no alignment.
    unsafe { v128_store(to.as_mut_ptr().cast(), values) }
}

#[inline(always)]
fn split(bytes: &[u8; 32]) -> [&[u8; 16]; 2] {
    let (halves, _) = bytes.as_chunks::<16>();
    [&halves[0], &halves[1]]
}

#[inline(always)]
fn each(a: Pair, b: Pair, operation: impl Fn(v128, v128) -> v128) -> Pair {
    [operation(a[0], b[0]), operation(a[1], b[1])]
}

impl Vector for Simd128 {
    type Bytes = Pair;
    type Scales = [v128; 2];

    const STREAMS: bool = false;

    #[inline(always)]
    fn bytes(self, from: &[u8; 32]) -> Pair {
        split(from).map(load)
    }

    #[inline(always)]
    fn nibbles(self, from: &[u8; 16]) -> Pair {
        let bytes = load(from);
        let low = v128_and(bytes, u8x16_splat(0x0f));
        let high = u8x16_shr(bytes, 4);
        [
            i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(low, high),
            i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(
                low, high,
            ),
        ]
    }

    #[inline(always)]
    fn sextets(self, from: &[u8; 24]) -> Pair {
        // Twelve bytes to each register, three of them to each 32-bit lane.
        let (pieces, _) = from.as_chunks::<8>();
        let at = |first: usize| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&pieces[first]);
            bytes[8..].copy_from_slice(&pieces[first + 1]);
            load(&bytes)
        };
        let (first, second) = (at(0), at(1));
        let threes = [
            i8x16_shuffle::<0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11, 16>(
                first,
                u8x16_splat(0),
            ),
            i8x16_shuffle::<4, 5, 6, 16, 7, 8, 9, 16, 10, 11, 12, 16, 13, 14, 15, 16>(
                second,
                u8x16_splat(0),
            ),
        ];
        threes.map(|threes| {
            let codes = [
                v128_and(threes, u32x4_splat(0x3f)),
                v128_and(u32x4_shl(threes, 2), u32x4_splat(0x3f00)),
                v128_and(u32x4_shl(threes, 4), u32x4_splat(0x003f_0000)),
                v128_and(u32x4_shl(threes, 6), u32x4_splat(0x3f00_0000)),
            ];
            v128_or(v128_or(codes[0], codes[1]), v128_or(codes[2], codes[3]))
        })
    }

    #[inline(always)]
    fn to_array(self, bytes: Pair) -> [u8; 32] {
        let mut array = [0; 32];
        let (halves, _) = array.as_chunks_mut::<16>();
        for (half, bytes) in halves.iter_mut().zip(bytes) {
            store(bytes, half);
        }
        array
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> Pair {
        [u8x16_splat(byte); 2]
    }

    #[inline(always)]
    fn tables(self, first: &[u8; 16], second: &[u8; 16]) -> Pair {
        [load(first), load(second)]
    }

    #[inline(always)]
    fn table(self, both: &[u8; 16]) -> Pair {
        [load(both); 2]
    }

    #[inline(always)]
    fn lookup(self, table: Pair, index: Pair) -> Pair {
        each(table, index, |table, index| u8x16_swizzle(table, index))
    }

    #[inline(always)]
    fn and(self, a: Pair, b: Pair) -> Pair {
        each(a, b, |a, b| v128_and(a, b))
    }

    #[inline(always)]
    fn xor(self, a: Pair, b: Pair) -> Pair {
        each(a, b, |a, b| v128_xor(a, b))
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        each(a, b, |a, b| u8x16_add(a, b))
    }

    #[inline(always)]
    fn max(self, a: Pair, b: Pair) -> Pair {
        each(a, b, |a, b| u8x16_max(a, b))
    }

    #[inline(always)]
    fn eq(self, a: Pair, b: Pair) -> Pair {
        each(a, b, |a, b| u8x16_eq(a, b))
    }

    #[inline(always)]
    fn high_nibbles(self, bytes: Pair) -> Pair {
        bytes.map(|bytes| u8x16_shr(bytes, 4))
    }

    #[inline(always)]
    fn shift_up<const BITS: i32>(self, bytes: Pair) -> Pair {
        bytes.map(|bytes| u8x16_shl(bytes, BITS as u32))
    }

    #[inline(always)]
    fn select(self, mask: Pair, yes: Pair, no: Pair) -> Pair {
        [
            v128_bitselect(yes[0], no[0], mask[0]),
            v128_bitselect(yes[1], no[1], mask[1]),
        ]
    }

    #[inline(always)]
    fn any(self, mask: Pair) -> bool {
        v128_any_true(v128_or(mask[0], mask[1]))
    }

    #[inline(always)]
    fn store_halves<S: Stores>(self, low: Pair, high: Pair, out: &mut [u16; 32]) {
        let (sixteens, _) = out.as_chunks_mut::<16>();
        for ((out, low), high) in sixteens.iter_mut().zip(low).zip(high) {
            let (first, second) = out.split_at_mut(8);
            store(interleaved_low(low, high), first);
            store(interleaved_high(low, high), second);
        }
    }

    #[inline(always)]
    fn scales(self, first: f32, second: f32) -> [v128; 2] {
        [f32x4_splat(first), f32x4_splat(second)]
    }

    #[inline(always)]
    fn store_products<E: Minifloat, T: Real, S: Stores>(
        self,
        codes: Pair,
        scales: [v128; 2],
        out: &mut [T; 32],
    ) {
        let (sixteens, _) = out.as_chunks_mut::<16>();
        for ((out, codes), scale) in sixteens.iter_mut().zip(codes).zip(scales) {
            let zeros = u8x16_splat(0);
            let words = [
                interleaved_low(zeros, codes),
                interleaved_high(zeros, codes),
            ];
            let (eights, _) = out.as_chunks_mut::<8>();
            for (out, words) in eights.iter_mut().zip(words) {
                let zeros = u16x8_splat(0);
                let lanes = [
                    i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(zeros, words),
                    i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(zeros, words),
                ];
                let (fours, _) = out.as_chunks_mut::<4>();
                for (out, lanes) in fours.iter_mut().zip(lanes) {
                    store4::<T>(f32x4_mul(widened::<E>(lanes), scale), out);
                }
            }
        }
    }

    #[inline(always)]
    fn scaled8<T: Real>(self, values: [f32; 8], scale: f32) -> [u16; 8] {
        values.map(|value| match T::KIND {
            Kind::F16 => crate::f16::from_f32(value * scale).to_bits(),
            _ => bf16_bits(value * scale),
        })
    }

    #[inline(always)]
    fn fence(self) {}
}

#[inline(always)]
fn interleaved_low(even: v128, odd: v128) -> v128 {
    i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(even, odd)
}

#[inline(always)]
fn interleaved_high(even: v128, odd: v128) -> v128 {
    i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(even, odd)
}

/// The numbers of codes, which are in the upper bytes of 32-bit lanes, sign first.
#[inline(always)]
fn widened<E: Minifloat>(lanes: v128) -> v128 {
    // The magnitude moves down until its exponent is at the end of that of F32: the number is this
    // times a power of two, subnormal or not.
    let down = 8 - E::EXPONENT_BITS;
    let kept = 0x8000_0000 | (0x7fff_ffff >> down);
    let bits = v128_and(i32x4_shr(lanes, down), u32x4_splat(kept));
    f32x4_mul(
        bits,
        f32x4_splat(f32::from_bits((127 + 127 - E::BIAS) << 23)),
    )
}

#[inline(always)]
fn store4<T: Real>(values: v128, out: &mut [T; 4]) {
    if T::KIND == Kind::F32 {
        return store(values, out);
    }
    let mut floats = [0.0_f32; 4];
    store(values, &mut floats);
    for (out, value) in out.iter_mut().zip(floats) {
        *out = T::from_f32(value);
    }
}
