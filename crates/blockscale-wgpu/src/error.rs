//! What can go wrong: with what was asked for, and with the adapter.

use blockscale::{LenMismatch, Shape};
use thiserror::Error;

use crate::{Kind, Window};

/// A request that no machine can carry out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// Bytes that do not fit a shape.
    #[error(transparent)]
    Len(#[from] LenMismatch),
    /// Two weights, or two results, that should be equally large.
    #[error("{} x {} and {} x {} elements can't be brought together", first.rows, first.cols, second.rows, second.cols)]
    ShapesDiffer {
        /// Shape of the first.
        first: Shape,
        /// Shape of the second.
        second: Shape,
    },
    /// A window that reaches over the edge.
    #[error("rows {rows:?}, columns {cols:?} are not inside {} x {}", shape.rows, shape.cols, rows = window.rows, cols = window.cols)]
    Outside {
        /// What was asked for.
        window: Window,
        /// What there is.
        shape: Shape,
    },
    /// No cells, or more cells than elements.
    #[error("{} x {} cells can't share {} x {} elements; ask for 1 to that many", cells.rows, cells.cols, elements.rows, elements.cols)]
    Cells {
        /// The cells asked for.
        cells: Shape,
        /// What they were to share.
        elements: Shape,
    },
    /// Numbers that are stored as they are have neither codes nor scales.
    #[error("a weight of {kind} has no {what}")]
    NotInBlocks {
        /// What the weight holds.
        kind: Kind,
        /// What it lacks: `codes` or `scales`.
        what: &'static str,
    },
    /// Scales that are numbers, where bytes were to be counted.
    #[error("scales of {kind} are no bytes to be counted; take a histogram of them")]
    NoScaleCodes {
        /// What the weight holds.
        kind: Kind,
    },
    /// Edges of a histogram that are not in order.
    #[error("edge {index} of a histogram is not above the edge before it, or is NaN")]
    EdgeOrder {
        /// The edge, from 0.
        index: usize,
    },
    /// A share that is less than none or more than all.
    #[error("share {index} is not from 0 to 1")]
    Share {
        /// Which of them, from 0.
        index: usize,
    },
    /// No edges, or too many.
    #[error("a histogram has 1 to {most} edges, not {found}")]
    EdgeCount {
        /// As many as there may be.
        most: usize,
        /// As many as were given.
        found: usize,
    },
}

/// Why the adapter did not do it. The functions of [`cpu`](crate::cpu) do, with the same results.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GpuError {
    /// The request itself was wrong.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// There is no adapter, or no driver for it.
    #[error("no graphics adapter: {reason}")]
    NoAdapter {
        /// What the system says.
        reason: String,
    },
    /// None of the adapters has the name that was asked for.
    #[error("no graphics adapter is named `{name}`; there is: {}", found.join(", "))]
    NoSuchAdapter {
        /// The name asked for.
        name: String,
        /// The names of all.
        found: Vec<String>,
    },
    /// The adapter has less of something than the kernels need.
    #[error("`{adapter}`: `{limit}` is {found}, {needed} is needed")]
    LimitTooLow {
        /// The adapter's name.
        adapter: String,
        /// The limit, as WebGPU calls it.
        limit: &'static str,
        /// The least that will do.
        needed: u64,
        /// What the adapter has.
        found: u64,
    },
    /// The adapter could not be opened.
    #[error("`{adapter}` can't be opened: {reason}")]
    NoDevice {
        /// The adapter's name.
        adapter: String,
        /// What the system says.
        reason: String,
    },
    /// The adapter computes something else than the core; nothing it says can be trusted.
    #[error(
        "`{adapter}` computes {found:#010x} where {expected:#010x} is right ({what}); it is not used"
    )]
    WrongResult {
        /// The adapter's name.
        adapter: String,
        /// What was computed.
        what: String,
        /// The right bits.
        expected: u32,
        /// The adapter's bits.
        found: u32,
    },
    /// A weight with more rows or columns than the kernels can count.
    #[error("{} x {} elements: a side has more than 2^32 - 2", shape.rows, shape.cols)]
    TooLarge {
        /// Shape of the weight.
        shape: Shape,
    },
    /// The adapter has not enough memory left.
    #[error("the graphics adapter has no memory left: {reason}")]
    OutOfMemory {
        /// What the system says.
        reason: String,
    },
    /// The adapter is gone: taken out, reset, or given back by [`Gpu::destroy`](crate::Gpu::destroy).
    /// What was uploaded is gone as well.
    #[error("the graphics adapter was lost: {reason}")]
    DeviceLost {
        /// What the system says.
        reason: String,
    },
    /// The driver refused something; a defect of it or of this crate.
    #[error("the graphics driver refused: {reason}")]
    Device {
        /// What it says.
        reason: String,
    },
}
