//! Numbers of one type to another.

use core::arch::x86_64::*;

use super::source::widen8;
use super::vector::store8;
use crate::Real;
use crate::arch::scalar;
use crate::arch::vector::Cached;
use crate::real::sealed::Kind;

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn widen<T: Real>(values: &[T], out: &mut [f32]) {
    let (values, rest) = values.as_chunks::<8>();
    let (outs, out_rest) = out.as_chunks_mut::<8>();
    for (out, values) in outs.iter_mut().zip(values) {
        let wide = widen8(values);
        let quiet = match T::KIND {
            // Others are quiet already, or stay what they are.
            Kind::Bf16 => {
                let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(wide, wide);
                let bit = _mm256_castsi256_ps(_mm256_set1_epi32(0x0040_0000));
                _mm256_or_ps(wide, _mm256_and_ps(nan, bit))
            }
            Kind::F16 | Kind::F32 => wide,
        };
        store8::<f32, Cached>(quiet, out);
    }
    scalar::convert::widen(rest, out_rest);
}

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn narrow<T: Real>(values: &[f32], out: &mut [T]) {
    let (values, rest) = values.as_chunks::<8>();
    let (outs, out_rest) = out.as_chunks_mut::<8>();
    for (out, values) in outs.iter_mut().zip(values) {
        store8::<T, Cached>(widen8(values), out);
    }
    scalar::convert::narrow(rest, out_rest);
}
