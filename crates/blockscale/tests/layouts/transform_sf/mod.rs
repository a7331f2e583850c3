//! DeepGEMM's treatment of scales: a test for each branch and for each check.

mod branches;
mod checks;

use blockscale::layout::LayoutError;
use blockscale::layout::transform_sf::{
    Action, Arch, Operand, Recipe, Request, ScaleTensor, SfDtype, Transform, TransformError,
    Ue8m0Cast, plan,
};

/// `wo_a` of DeepSeek-V4 on two groups: 1024 x 4096, scales of 128 x 128.
pub(crate) const WO_A: Request = Request {
    rows: 1024,
    cols: 4096,
    recipe: Recipe::Product {
        a_rows: 1,
        b_rows: 128,
        cols: 128,
    },
    groups: Some(2),
    operand: Some(Operand::B),
    arch: Arch::Sm100,
    ue8m0_cast: Ue8m0Cast::Enabled,
};

/// Activations for it, of 6 tokens.
pub(crate) const TOKENS: Request = Request {
    rows: 6,
    operand: Some(Operand::A),
    arch: Arch::Sm90,
    ..WO_A
};

pub(crate) fn plan_of(
    dtype: SfDtype,
    shape: &[usize],
    strides: &[usize],
    request: Request,
) -> Result<Transform, TransformError> {
    plan(
        &ScaleTensor {
            dtype,
            shape,
            strides,
        },
        &request,
    )
}

pub(crate) fn f32(
    shape: &[usize],
    strides: &[usize],
    request: Request,
) -> Result<Transform, TransformError> {
    plan_of(SfDtype::F32, shape, strides, request)
}

pub(crate) fn i32(
    shape: &[usize],
    strides: &[usize],
    request: Request,
) -> Result<Transform, TransformError> {
    plan_of(SfDtype::I32, shape, strides, request)
}

pub(crate) fn action(result: Result<Transform, TransformError>) -> Action {
    result.unwrap().action
}

pub(crate) fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

pub(crate) fn execute(transform: &Transform, source: &[u8]) -> Result<Vec<u8>, LayoutError> {
    let mut out = vec![0xa5; transform.memory_bytes().unwrap()];
    transform.execute(source, &mut out).map(|()| out)
}
