//! Scalar codecs of the element and scale types.
//!
//! Each type is its code, and has the same functions: `from_bits` and `to_bits` for the code,
//! `from_f32` for rounding, `to_f32` for the exact widening; element types have `from_f32_with`
//! too, which rounds as an [`EncodePolicy`] says.
//!
//! | type | bits | bias | largest | smallest | infinity | NaN |
//! |------|------|------|---------|----------|----------|-----|
//! | [`E2m1`] | `SEEM` | 1 | 6 | 0.5 | no | no |
//! | [`E2m3`] | `SEEMMM` | 1 | 7.5 | 0.125 | no | no |
//! | [`E3m2`] | `SEEEMM` | 3 | 28 | 0.0625 | no | no |
//! | [`E4m3Fn`] | `SEEEEMMM` | 7 | 448 | 2^-9 | no | `0x7F`, `0xFF` |
//! | [`E4m3Fnuz`] | `SEEEEMMM` | 8 | 240 | 2^-10 | no | `0x80` |
//! | [`E5m2`] | `SEEEEEMM` | 15 | 57344 | 2^-16 | `0x7C`, `0xFC` | `0x7D`-`0x7F`, `0xFD`-`0xFF` |
//! | [`E8m0Fnu`] | `EEEEEEEE` | 127 | 2^127 | 2^-127 | no | `0xFF` |
//!
//! All but the last round to nearest with ties to the even code, saturate at the largest finite
//! value (as `cvt.rn.satfinite` of CUDA does) and keep the sign of zero where they have one.

mod e2m1;
mod e2m3;
mod e3m2;
mod e4m3;
mod e4m3fnuz;
mod e5m2;
mod e8m0;
mod policy;
mod round;

pub use e2m1::E2m1;
pub use e2m3::E2m3;
pub use e3m2::E3m2;
pub use e4m3::E4m3Fn;
pub use e4m3fnuz::E4m3Fnuz;
pub use e5m2::E5m2;
pub use e8m0::E8m0Fnu;
pub use policy::{EncodePolicy, NanCode, Overflow, Ties, ZeroSign};
