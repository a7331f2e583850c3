//! A checkpoint baked for a serving runtime and read back the way its kernels read.
//!
//! Conversions prove that the numbers on disk are right. A runtime reorders them once more after
//! loading; whether it can, and whether each number then is where the kernel looks for it, is what
//! [`runtime_check`] finds out for sampled rows.

mod band;
mod laid_out;
mod operand;
mod operands;
mod report;
mod stored;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use blockscale::LenMismatch;
use blockscale::layout::LayoutError;
use blockscale::runtime::Runtime;

pub use report::{
    Baked, CheckedWeight, RuntimeDifference, RuntimeReport, SkipReason, SkippedWeight,
};

use crate::ConvertError;
use crate::convert::Progress;
use crate::weights::Weights;
use band::{Band, plan_bands, spread};
use operand::OperandWeights;
use operands::operands;

/// Choices of a [`runtime_check`].
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// Rows to compare in each matrix that a kernel multiplies with.
    pub rows: NonZeroUsize,
    /// Bytes that buffers may take.
    pub max_memory: u64,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        const ROWS: NonZeroUsize = NonZeroUsize::new(64).unwrap();
        Self {
            rows: ROWS,
            max_memory: 1 << 30,
        }
    }
}

/// Checks each block-scaled weight that `runtime` has a kernel for.
///
/// The weight is brought into the order of the kernel as the runtime does it after loading: as a
/// whole, or in parts where the memory limit asks for it ([`Baked`] says which). The first row, the
/// last and others evenly between are then read through the kernel's own addressing, and every bit
/// is compared with what the checkpoint decodes to. What a runtime joins is joined:
///
/// - NVFP4 gate and up of an expert (`w1` and `w3`, `gate_proj` and `up_proj`) are one operand, gate
///   above up, which has the gate's global scale. A weight that holds both is brought into that
///   order from its own; where nothing tells its order it is left out.
/// - The FP8 `wo_a` of DeepSeek-V4 is a stack of `o_groups` matrices, with scales in three dimensions.
///
/// What the file holds in the kernel's own layout is read as it lies there, and compared with what
/// undoing the layout gives.
///
/// UE8M0 scales are widened for [`Runtime::DeepGemmSm90`], and F32 scales that are powers of two are
/// packed for [`Runtime::DeepGemmSm100`], as loaders do.
///
/// # Errors
/// [`ConvertError`] if the checkpoint cannot be read, or the memory limit does not hold one tile of
/// a layout. Numbers that differ are no error but part of the report, and so are weights that the
/// runtime cannot take.
pub fn runtime_check(
    weights: Weights<'_>,
    runtime: Runtime,
    options: &RuntimeOptions,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<RuntimeReport, ConvertError> {
    let (operands, skipped) = operands(weights, runtime);
    let mut report = RuntimeReport {
        runtime: runtime.name(),
        weights: Vec::with_capacity(operands.len()),
        skipped,
    };
    let bytes = |operand: &OperandWeights| operand.stored_bytes(weights);
    progress.start(operands.iter().map(bytes).sum(), 0);
    for operand in &operands {
        match check(weights, operand, options, stop) {
            Ok(checked) => report.weights.push(checked),
            Err(Unchecked::Skipped(reason)) => report.skip(operand.names(weights), &reason),
            Err(Unchecked::Failed(error)) => return Err(error),
        }
        progress.advance(bytes(operand));
    }
    Ok(report)
}

fn check(
    weights: Weights<'_>,
    operand: &OperandWeights,
    options: &RuntimeOptions,
    stop: &AtomicBool,
) -> Result<CheckedWeight, Unchecked> {
    let rows = spread(operand.shape.rows, options.rows);
    let (baked, bands) = plan_bands(weights, operand, &rows, options.max_memory)?;
    let mut difference = None;
    for band in &bands {
        if stop.load(Ordering::Relaxed) {
            return Err(ConvertError::Interrupted.into());
        }
        difference = check_band(weights, operand, band, &rows)?;
        if difference.is_some() {
            break;
        }
    }
    Ok(CheckedWeight {
        weights: operand.names(weights),
        format: operand.format.to_string(),
        layout: operand.kernel.layout().name(),
        matrices: operand.matrices,
        shape: [operand.shape.rows, operand.shape.cols],
        baked,
        rows: rows.len() * operand.matrices,
        difference,
    })
}

fn check_band(
    weights: Weights<'_>,
    operand: &OperandWeights,
    band: &Band,
    rows: &[usize],
) -> Result<Option<RuntimeDifference>, Unchecked> {
    let (stored, memory) = if operand.laid_out {
        laid_out::read(weights, operand)?
    } else {
        let stored = band.read(weights, operand)?;
        let memory = stored.bake()?;
        (stored, memory)
    };
    let places = band.places(operand, rows);
    let difference = stored.first_difference(&memory, &places)?;
    Ok(difference.map(|found| {
        let (weight, matrix, row) = band.origin(weights, operand, found.place);
        RuntimeDifference {
            weight,
            matrix,
            row,
            col: found.col,
            stored: found.stored,
            read: found.read,
        }
    }))
}

/// Why an operand has no result.
enum Unchecked {
    /// The runtime does not take it.
    Skipped(SkipReason),
    /// The check itself went wrong.
    Failed(ConvertError),
}

impl From<LayoutError> for Unchecked {
    fn from(error: LayoutError) -> Self {
        match error {
            LayoutError::Len(error) => error.into(),
            LayoutError::NotPowerOfTwo { .. } => Self::Skipped(SkipReason::NotPowerOfTwo),
            error => Self::Skipped(SkipReason::Layout(error)),
        }
    }
}

impl From<ConvertError> for Unchecked {
    fn from(error: ConvertError) -> Self {
        Self::Failed(error)
    }
}

impl From<LenMismatch> for Unchecked {
    fn from(error: LenMismatch) -> Self {
        Self::Failed(error.into())
    }
}
