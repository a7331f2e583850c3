//! 32 bytes as two registers.

use core::arch::aarch64::*;

use crate::Real;
use crate::arch::vector::{Minifloat, Stores, Vector, bf16_bits};
use crate::real::sealed::Kind;

/// Shows that NEON is there: this module is only compiled where it is.
#[derive(Clone, Copy)]
pub(super) struct Neon;

/// Two registers, each with the bytes of 16 columns.
type Pair = [uint8x16_t; 2];

/// Calls intrinsics.
macro_rules! neon {
    ($($body:tt)*) => {
        // SAFETY: the crate is compiled for NEON, or this module would not be there; pointers come
        // from references to arrays of the size that is read or written, at whatever address.
        unsafe { $($body)* }
    };
}

#[inline(always)]
fn split(bytes: &[u8; 32]) -> [&[u8; 16]; 2] {
    let (halves, _) = bytes.as_chunks::<16>();
    [&halves[0], &halves[1]]
}

#[inline(always)]
fn load(from: &[u8; 16]) -> uint8x16_t {
    neon! { vld1q_u8(from.as_ptr()) }
}

#[inline(always)]
fn each(a: Pair, b: Pair, operation: impl Fn(uint8x16_t, uint8x16_t) -> uint8x16_t) -> Pair {
    [operation(a[0], b[0]), operation(a[1], b[1])]
}

impl Vector for Neon {
    type Bytes = Pair;
    type Scales = [f32; 2];

    const STREAMS: bool = false;

    #[inline(always)]
    fn bytes(self, from: &[u8; 32]) -> Pair {
        split(from).map(load)
    }

    #[inline(always)]
    fn nibbles(self, from: &[u8; 16]) -> Pair {
        let bytes = load(from);
        neon! {
            let low = vandq_u8(bytes, vdupq_n_u8(0x0f));
            let high = vshrq_n_u8::<4>(bytes);
            [vzip1q_u8(low, high), vzip2q_u8(low, high)]
        }
    }

    #[inline(always)]
    fn sextets(self, from: &[u8; 24]) -> Pair {
        // Twelve bytes to each register, three of them to each 32-bit lane; indices beyond give zeros.
        const FIRST: [u8; 16] = [0, 1, 2, 99, 3, 4, 5, 99, 6, 7, 8, 99, 9, 10, 11, 99];
        const SECOND: [u8; 16] = [4, 5, 6, 99, 7, 8, 9, 99, 10, 11, 12, 99, 13, 14, 15, 99];
        let index = [load(&FIRST), load(&SECOND)];
        neon! {
            let first = vld1q_u8(from.as_ptr());
            let second = vld1q_u8(from.as_ptr().add(8));
            [vqtbl1q_u8(first, index[0]), vqtbl1q_u8(second, index[1])].map(|threes| {
                let threes = vreinterpretq_u32_u8(threes);
                let lower = vorrq_u32(
                    vandq_u32(threes, vdupq_n_u32(0x3f)),
                    vandq_u32(vshlq_n_u32::<2>(threes), vdupq_n_u32(0x3f00)),
                );
                let upper = vorrq_u32(
                    vandq_u32(vshlq_n_u32::<4>(threes), vdupq_n_u32(0x003f_0000)),
                    vandq_u32(vshlq_n_u32::<6>(threes), vdupq_n_u32(0x3f00_0000)),
                );
                vreinterpretq_u8_u32(vorrq_u32(lower, upper))
            })
        }
    }

    #[inline(always)]
    fn to_array(self, bytes: Pair) -> [u8; 32] {
        let mut array = [0; 32];
        neon! {
            vst1q_u8(array.as_mut_ptr(), bytes[0]);
            vst1q_u8(array.as_mut_ptr().add(16), bytes[1]);
        }
        array
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> Pair {
        neon! { [vdupq_n_u8(byte); 2] }
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
        each(
            table,
            index,
            |table, index| neon! { vqtbl1q_u8(table, index) },
        )
    }

    #[inline(always)]
    fn and(self, a: Pair, b: Pair) -> Pair {
        each(a, b, |a, b| neon! { vandq_u8(a, b) })
    }

    #[inline(always)]
    fn xor(self, a: Pair, b: Pair) -> Pair {
        each(a, b, |a, b| neon! { veorq_u8(a, b) })
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        each(a, b, |a, b| neon! { vaddq_u8(a, b) })
    }

    #[inline(always)]
    fn max(self, a: Pair, b: Pair) -> Pair {
        each(a, b, |a, b| neon! { vmaxq_u8(a, b) })
    }

    #[inline(always)]
    fn eq(self, a: Pair, b: Pair) -> Pair {
        each(a, b, |a, b| neon! { vceqq_u8(a, b) })
    }

    #[inline(always)]
    fn high_nibbles(self, bytes: Pair) -> Pair {
        bytes.map(|bytes| neon! { vshrq_n_u8::<4>(bytes) })
    }

    #[inline(always)]
    fn shift_up<const BITS: i32>(self, bytes: Pair) -> Pair {
        bytes.map(|bytes| neon! { vshlq_n_u8::<BITS>(bytes) })
    }

    #[inline(always)]
    fn select(self, mask: Pair, yes: Pair, no: Pair) -> Pair {
        neon! { [vbslq_u8(mask[0], yes[0], no[0]), vbslq_u8(mask[1], yes[1], no[1])] }
    }

    #[inline(always)]
    fn any(self, mask: Pair) -> bool {
        neon! { vmaxvq_u8(vorrq_u8(mask[0], mask[1])) != 0 }
    }

    #[inline(always)]
    fn store_halves<S: Stores>(self, low: Pair, high: Pair, out: &mut [u16; 32]) {
        let to = out.as_mut_ptr().cast::<u8>();
        neon! {
            vst2q_u8(to, uint8x16x2_t(low[0], high[0]));
            vst2q_u8(to.add(32), uint8x16x2_t(low[1], high[1]));
        }
    }

    #[inline(always)]
    fn scales(self, first: f32, second: f32) -> [f32; 2] {
        [first, second]
    }

    #[inline(always)]
    fn store_products<E: Minifloat, T: Real, S: Stores>(
        self,
        codes: Pair,
        scales: [f32; 2],
        out: &mut [T; 32],
    ) {
        let (sixteens, _) = out.as_chunks_mut::<16>();
        for ((out, codes), scale) in sixteens.iter_mut().zip(codes).zip(scales) {
            let lanes: [uint32x4_t; 4] = neon! {
                let zeros = vdupq_n_u8(0);
                let lower = vreinterpretq_u16_u8(vzip1q_u8(zeros, codes));
                let upper = vreinterpretq_u16_u8(vzip2q_u8(zeros, codes));
                let zeros = vdupq_n_u16(0);
                [
                    vreinterpretq_u32_u16(vzip1q_u16(zeros, lower)),
                    vreinterpretq_u32_u16(vzip2q_u16(zeros, lower)),
                    vreinterpretq_u32_u16(vzip1q_u16(zeros, upper)),
                    vreinterpretq_u32_u16(vzip2q_u16(zeros, upper)),
                ]
            };
            let (fours, _) = out.as_chunks_mut::<4>();
            for (out, lanes) in fours.iter_mut().zip(lanes) {
                let products = neon! { vmulq_n_f32(widened::<E>(lanes), scale) };
                store4::<T>(products, out);
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

/// The numbers of codes, which are in the upper bytes of 32-bit lanes, sign first.
#[inline(always)]
fn widened<E: Minifloat>(lanes: uint32x4_t) -> float32x4_t {
    // The magnitude moves down until its exponent is at the end of that of F32: the number is this
    // times a power of two, subnormal or not.
    let down = 8 - E::EXPONENT_BITS;
    let kept = 0x8000_0000 | (0x7fff_ffff >> down);
    neon! {
        let moved = vshlq_s32(vreinterpretq_s32_u32(lanes), vdupq_n_s32(-(down as i32)));
        let bits = vandq_u32(vreinterpretq_u32_s32(moved), vdupq_n_u32(kept));
        let power = f32::from_bits((127 + 127 - E::BIAS) << 23);
        vmulq_n_f32(vreinterpretq_f32_u32(bits), power)
    }
}

#[inline(always)]
fn store4<T: Real>(values: float32x4_t, out: &mut [T; 4]) {
    let mut floats = [0.0_f32; 4];
    neon! { vst1q_f32(floats.as_mut_ptr(), values) }
    for (out, value) in out.iter_mut().zip(floats) {
        *out = T::from_f32(value);
    }
}
