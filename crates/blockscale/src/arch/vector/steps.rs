//! Blocks beside each other in one row, in steps of 32 columns.

use super::decode::{Codes, Decoding};
use super::rows::Call;
use super::{Cached, Minifloat, STEP, Stores, Vector};
use crate::Real;
use crate::real::product;

/// Codes and scales of some blocks, and where their numbers go.
pub(super) struct Segment<'a, T> {
    pub(super) codes: &'a [u8],
    pub(super) scales: &'a [u8],
    pub(super) out: &'a mut [T],
}

impl<T: Real> Segment<'_, T> {
    /// `tables` has those of the blocks, in their order.
    #[inline(always)]
    pub(super) fn decode<'t, V, E, C, D, S, const N: usize>(
        self,
        call: &Call<'_, V>,
        tables: impl Iterator<Item = &'t D::Table>,
    ) where
        V: Vector,
        E: Minifloat,
        C: Codes<N>,
        D: Decoding<V, T>,
        D::Table: 't,
        S: Stores,
    {
        const HALF: usize = STEP / 2;
        match call.block_cols {
            HALF => self.narrow::<V, E, C, D, S, N, 2>(call, tables),
            STEP => self.narrow::<V, E, C, D, S, N, 1>(call, tables),
            _ => self.wide::<V, E, C, D, S, N>(call, tables),
        }
    }

    /// One or two blocks for each step.
    #[inline(always)]
    fn narrow<'t, V, E, C, D, S, const N: usize, const BLOCKS: usize>(
        self,
        call: &Call<'_, V>,
        mut tables: impl Iterator<Item = &'t D::Table>,
    ) where
        V: Vector,
        E: Minifloat,
        C: Codes<N>,
        D: Decoding<V, T>,
        D::Table: 't,
        S: Stores,
    {
        let mut next = || {
            let first = tables.next()?;
            let second = match BLOCKS {
                2 => tables.next().unwrap_or(first),
                _ => first,
            };
            Some((first, second))
        };
        let load = |first, second| match BLOCKS {
            2 => (
                D::load_two(call.v, first, second),
                D::is_usable(first) && D::is_usable(second),
            ),
            _ => (D::load_one(call.v, first), D::is_usable(first)),
        };
        let (steps, rest) = self.out.as_chunks_mut::<STEP>();
        let (chunks, last) = self.codes.split_at(steps.len() * N);
        let first_of_rest = steps.len() * BLOCKS;
        for (step, (out, chunk)) in steps.iter_mut().zip(chunks.as_chunks::<N>().0).enumerate() {
            let Some((first, second)) = next() else {
                return;
            };
            let (table, usable) = load(first, second);
            let codes = C::load(call.v, chunk);
            if !usable || !D::step::<S>(call.v, codes, table, out) {
                let blocks = [step * BLOCKS, step * BLOCKS + BLOCKS - 1];
                by_definition::<V, E, T>(call, codes, self.scales, blocks, out);
            }
        }
        if !rest.is_empty()
            && let Some((first, second)) = next()
        {
            let (table, usable) = load(first, second);
            let codes = C::load(call.v, &padded(last));
            let mut out = [T::from_f32(0.0); STEP];
            if !usable || !D::step::<Cached>(call.v, codes, table, &mut out) {
                let blocks = [first_of_rest, first_of_rest + BLOCKS - 1];
                by_definition::<V, E, T>(call, codes, self.scales, blocks, &mut out);
            }
            rest.copy_from_slice(&out[..rest.len()]);
        }
    }

    /// One or more steps for each block.
    #[inline(always)]
    fn wide<'t, V, E, C, D, S, const N: usize>(
        self,
        call: &Call<'_, V>,
        tables: impl Iterator<Item = &'t D::Table>,
    ) where
        V: Vector,
        E: Minifloat,
        C: Codes<N>,
        D: Decoding<V, T>,
        D::Table: 't,
        S: Stores,
    {
        let mut codes = self.codes;
        let blocks = self.out.chunks_mut(call.block_cols).zip(tables);
        for (block, (out, table)) in blocks.enumerate() {
            let (table, usable) = (D::load_one(call.v, table), D::is_usable(table));
            let (steps, rest) = out.as_chunks_mut::<STEP>();
            let (chunks, after) = codes.split_at(steps.len() * N);
            codes = after;
            for (out, chunk) in steps.iter_mut().zip(chunks.as_chunks::<N>().0) {
                let codes = C::load(call.v, chunk);
                if !usable || !D::step::<S>(call.v, codes, table, out) {
                    by_definition::<V, E, T>(call, codes, self.scales, [block; 2], out);
                }
            }
            if !rest.is_empty() {
                let codes = C::load(call.v, &padded(after));
                let mut out = [T::from_f32(0.0); STEP];
                if !usable || !D::step::<Cached>(call.v, codes, table, &mut out) {
                    by_definition::<V, E, T>(call, codes, self.scales, [block; 2], &mut out);
                }
                rest.copy_from_slice(&out[..rest.len()]);
            }
        }
    }
}

/// The codes of a step under the scales of two blocks, which have 16 columns each.
#[inline(always)]
fn by_definition<V: Vector, E: Minifloat, T: Real>(
    call: &Call<'_, V>,
    codes: V::Bytes,
    scales: &[u8],
    blocks: [usize; 2],
    out: &mut [T; STEP],
) {
    slowly::<E, T>(
        &call.v.to_array(codes),
        blocks.map(|block| call.scale(scales, block)),
        out,
    );
}

#[cold]
#[inline(never)]
fn slowly<E: Minifloat, T: Real>(codes: &[u8; STEP], scales: [f32; 2], out: &mut [T; STEP]) {
    let (outs, _) = out.as_chunks_mut::<{ STEP / 2 }>();
    let (codes, _) = codes.as_chunks::<{ STEP / 2 }>();
    for ((out, codes), scale) in outs.iter_mut().zip(codes).zip(scales) {
        for (out, &code) in out.iter_mut().zip(codes) {
            *out = T::from_f32(product(E::widen(code), scale));
        }
    }
}

/// What there is of the bytes of a step, and zeros.
fn padded<const N: usize>(codes: &[u8]) -> [u8; N] {
    let mut padded = [0; N];
    for (to, from) in padded.iter_mut().zip(codes) {
        *to = *from;
    }
    padded
}
