//! A matrix to be judged by its bytes: which ranges that takes.

use blockscale::layout::ScaleLayout;

use super::{AsIf, Piece, Region, View, ViewError};
use crate::catalog::{Axes, Encoding, PartRole, Weight};
use crate::checkpoint::Checkpoint;
use crate::interpret::{Sample, block_height};

/// Runs of rows that are read of a matrix, spread over it.
const RUNS: usize = 8;

/// Blocks of rows in a run, where a block is a row: enough that chance makes no wrong order fit.
const BLOCKS: usize = 16;

/// All scales of one matrix and some runs of its rows, for [`Sample::judge`].
///
/// ```
/// use blockscale_model::catalog::Catalog;
/// use blockscale_model::view::Judged;
/// # use blockscale_model::{Checkpoint, CheckpointFiles, Header, ShardFile, ShardName};
/// # let json = br#"{"a.weight":{"dtype":"F8_E4M3","shape":[300,128],"data_offsets":[0,38400]},
/// #     "a.weight_scale_inv":{"dtype":"F32","shape":[3,1],"data_offsets":[38400,38412]}}"#;
/// # let len = 8 + json.len() as u64 + 38_412;
/// # let (name, header) = (ShardName::new("model.safetensors")?, Header::parse(json, len)?);
/// # let shards = vec![ShardFile { name, len, header }];
/// # let checkpoint = Checkpoint::assemble(CheckpointFiles { shards, ..Default::default() })?;
/// # let catalog = Catalog::of(&checkpoint);
/// // A weight of 300 rows in blocks of 128: read whole.
/// let judged = Judged::of(&checkpoint, &catalog.weights[0], 0)?;
/// let pieces = judged.pieces()?;
/// let bytes: Vec<Vec<u8>> = pieces.iter()
///     .map(|piece| vec![0; (piece.range.end - piece.range.start) as usize])
///     .collect();
/// let bytes: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
/// assert_eq!(judged.sample(&bytes)?.rows.len(), 300);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Judged<'a> {
    runs: Vec<View<'a>>,
}

impl<'a> Judged<'a> {
    /// Of a matrix of a block-scaled weight whose layout the file does not name: where it does, its
    /// bytes are where it says.
    ///
    /// # Errors
    /// [`ViewError::NotJudged`] for any other weight, and where there is no such matrix.
    pub fn of(
        checkpoint: &'a Checkpoint,
        weight: &'a Weight,
        matrix: usize,
    ) -> Result<Self, ViewError> {
        let Encoding::Block(format) = weight.encoding else {
            return Err(not_judged(weight));
        };
        let can_be = weight.layout == ScaleLayout::Linear && weight.axes == Axes::OutIn;
        if !can_be || weight.elements() == 0 {
            return Err(not_judged(weight));
        }
        let rows = weight.matrices().shape.rows;
        let height = block_height(&format, rows);
        let wanted = match height {
            1 => BLOCKS,
            // A block of many rows has so many numbers that its loudness is known well.
            _ => (BLOCKS / 8).max(1),
        };
        let blocks = rows.div_ceil(height);
        let runs = RUNS.min(blocks.div_ceil(wanted));
        let view = |run: usize| {
            // Runs are even parts of the blocks, of which the first are read.
            let (start, end) = (run * blocks / runs, (run + 1) * blocks / runs);
            let end = end.min(start + wanted);
            let rows = start * height..rows.min(end * height);
            View::of(checkpoint, weight, Region { matrix, rows }, AsIf::AS_STORED)
        };
        Ok(Self {
            runs: (0..runs).map(view).collect::<Result<_, _>>()?,
        })
    }

    /// The ranges that it takes.
    ///
    /// # Errors
    /// [`ViewError::OutsideTensor`] where a tensor is shorter than the weight's shape asks for.
    pub fn pieces(&self) -> Result<Vec<Piece>, ViewError> {
        let mut pieces = Vec::new();
        for run in &self.runs {
            let codes = run.pieces()?;
            pieces.extend(codes.into_iter().filter(|p| p.role == PartRole::Codes));
        }
        if let Some(first) = self.runs.first() {
            pieces.extend(first.whole_matrix()?.scale_pieces()?);
        }
        Ok(pieces)
    }

    /// What is judged, from the bytes of [`pieces`](Self::pieces) in that order.
    ///
    /// # Errors
    /// [`ViewError`] where the bytes are others than were asked for.
    pub fn sample(&self, bytes: &[&[u8]]) -> Result<Sample, ViewError> {
        let Some(first) = self.runs.first() else {
            return Err(ViewError::Pieces {
                tensor: String::new(),
                expected: 0,
                found: bytes.len(),
            });
        };
        let Encoding::Block(format) = first.weight.encoding else {
            return Err(not_judged(first.weight));
        };
        let given = first.given(&self.pieces()?, bytes)?;
        let rows = self.runs.iter().flat_map(|run| run.region.rows.clone());
        Ok(Sample {
            format,
            shape: first.weight.matrices().shape,
            rows: rows.collect(),
            codes: given.all(PartRole::Codes).collect::<Vec<_>>().concat(),
            scales: given.role(PartRole::BlockScale).to_vec(),
            global: given.global(),
        })
    }
}

impl<'a> View<'a> {
    /// The same matrix, all of its rows.
    fn whole_matrix(&self) -> Result<View<'a>, ViewError> {
        let region = Region {
            matrix: self.region.matrix,
            rows: 0..self.weight.matrices().shape.rows,
        };
        View::of(self.checkpoint, self.weight, region, self.as_if)
    }
}

fn not_judged(weight: &Weight) -> ViewError {
    ViewError::NotJudged {
        tensor: weight.name.clone(),
        encoding: weight.encoding,
    }
}
