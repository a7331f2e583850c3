//! What is tested: something that can do the operations of the core.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use blockscale::encode::Scheme;
use blockscale::layout::{LayoutError, ScaleLayout, Stack};
use blockscale::stats::ErrorStats;
use blockscale::transcode::TranscodeError;
use blockscale::{Format, LenMismatch, ScaleElement, Shape};

pub(crate) use cpu::{Cpu, Cut};
#[cfg(feature = "cuda")]
pub(crate) use cuda::Cuda;

use crate::numbers::{Kind, Numbers};

/// Rows of a stack of matrices.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) codes: Vec<u8>,
    pub(crate) scales: Vec<u8>,
    /// One for each matrix, or one for all.
    pub(crate) globals: Vec<f32>,
}

/// Codes and scales that an operation made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Encoded {
    pub(crate) codes: Vec<u8>,
    pub(crate) scales: Vec<u8>,
}

/// Codes, scales and what was counted on the way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transcoded {
    pub(crate) encoded: Encoded,
    /// The scale of the tensor, where there is one.
    pub(crate) global: Option<f32>,
    /// Blocks, as the operation counts them.
    pub(crate) counts: Vec<usize>,
}

/// Scales in some layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane<'a> {
    pub(crate) layout: ScaleLayout,
    pub(crate) element: ScaleElement,
    pub(crate) bytes: &'a [u8],
}

/// Why an engine did not do an operation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum Failure {
    /// It leaves this to the core.
    #[error("left to the CPU: {0}")]
    #[cfg_attr(
        not(feature = "cuda"),
        allow(dead_code, reason = "the CPU leaves nothing to itself")
    )]
    Left(String),
    /// It refuses the input, as the core may too; by the core's own words.
    #[error("refused: {0}")]
    Refused(String),
    /// It failed.
    #[error("failed: {0}")]
    Failed(String),
}

macro_rules! refused {
    ($($error:ty)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Refused(error.to_string())
            }
        }
    )*};
}

refused! { LenMismatch LayoutError TranscodeError }

pub(crate) type Outcome<T> = Result<T, Failure>;

/// The operations, from ordinary memory to ordinary memory.
pub(crate) trait Engine {
    /// What it is, for people.
    fn name(&self) -> String;

    fn decode(&self, format: &Format, stack: Stack, rows: &Rows, to: Kind) -> Outcome<Numbers>;

    fn amax(&self, stack: Stack, values: &Numbers) -> Outcome<Vec<f32>>;

    /// The scale of the tensor of each of these largest magnitudes, of a weight of this type.
    fn globals(
        &self,
        format: &Format,
        scheme: &Scheme,
        of: Kind,
        amax: &[f32],
    ) -> Outcome<Vec<f32>>;

    fn encode(
        &self,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &Numbers,
        globals: &[f32],
    ) -> Outcome<Encoded>;

    fn encode_codes(
        &self,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &Numbers,
        scales: &[u8],
        globals: &[f32],
    ) -> Outcome<Vec<u8>>;

    fn nvfp4_to_fp8_block(&self, from: &Format, stack: Stack, rows: &Rows) -> Outcome<Encoded>;

    fn round_scales_up(
        &self,
        from: &Format,
        to: &Format,
        stack: Stack,
        rows: &Rows,
    ) -> Outcome<Transcoded>;

    fn mxfp4_to_nvfp4(&self, stack: Stack, rows: &Rows) -> Outcome<Transcoded>;

    fn mxfp4_to_fp8_block(&self, stack: Stack, rows: &Rows) -> Outcome<Transcoded>;

    fn permute_scales(
        &self,
        layout: ScaleLayout,
        stack: Stack,
        scales: Plane<'_>,
    ) -> Outcome<Vec<u8>>;

    fn unpermute_scales(&self, stack: Stack, scales: Plane<'_>) -> Outcome<Vec<u8>>;

    fn permute_codes(&self, layout: ScaleLayout, stack: Stack, codes: &[u8]) -> Outcome<Vec<u8>>;

    fn unpermute_codes(&self, layout: ScaleLayout, stack: Stack, codes: &[u8]) -> Outcome<Vec<u8>>;

    fn error_stats(
        &self,
        shape: Shape,
        reference: &[f32],
        output: &[f32],
    ) -> Outcome<Vec<ErrorStats>>;

    fn histogram_codes(&self, format: &Format, stack: Stack, codes: &[u8]) -> Outcome<Vec<u64>>;

    fn histogram_exponents(&self, values: &Numbers) -> Outcome<Vec<u64>>;

    fn widen(&self, values: &Numbers) -> Outcome<Vec<f32>>;

    fn narrow(&self, values: &[f32], to: Kind) -> Outcome<Numbers>;
}

/// The part of each matrix of a stack, in order.
pub(crate) fn parts(bytes: &[u8], matrices: usize) -> Vec<&[u8]> {
    let one = bytes.len() / matrices.max(1);
    (0..matrices).map(|i| &bytes[i * one..][..one]).collect()
}

/// The scale of the tensor of matrix `index`.
pub(crate) fn global(globals: &[f32], index: usize) -> f32 {
    match globals {
        [] => 1.0,
        [one] => *one,
        each => each[index],
    }
}
