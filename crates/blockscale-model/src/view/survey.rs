//! A few rows of a weight, for what the doctor's rules count.

use blockscale::decode::{Rows, decode_rows};
use blockscale::layout::ScaleLayout;
use blockscale::{bf16, f16};
use safetensors::Dtype;

use super::{AsIf, Piece, Region, Seen, View, ViewError};
use crate::catalog::{Encoding, PartRole, Weight};
use crate::checkpoint::Checkpoint;
use crate::doctor::{Evidence, MeasuredRun};

/// Bytes that are wanted of the codes of a weight.
const BYTES: usize = 64 << 10;

/// Bytes of single scales that are read: one for each matrix of a stack.
const MOST_SCALARS: u64 = 16 << 10;

/// The rows of a weight that are surveyed, and its single scales.
#[derive(Clone, Debug)]
pub struct Surveyed<'a> {
    view: View<'a>,
    /// Row of the view of which a sketch is taken.
    sketch: usize,
}

impl<'a> Surveyed<'a> {
    /// About 64 KiB of a weight, at a place that depends on its shape alone.
    ///
    /// # Errors
    /// [`ViewError`] where it has no numbers.
    pub fn of(checkpoint: &'a Checkpoint, weight: &'a Weight) -> Result<Self, ViewError> {
        let (matrices, codes) = (weight.matrices(), weight.codes());
        if let (Encoding::Plain(dtype), false) = (weight.encoding, weight.encoding.is_number()) {
            let tensor = weight.name.clone();
            return Err(ViewError::NotNumbers { tensor, dtype });
        }
        let rows = matrices.shape.rows;
        let all = checkpoint.tensors[codes].bytes() as usize;
        let row_bytes = (all / matrices.total_rows().max(1)).max(1);
        let wanted = match weight.layout {
            ScaleLayout::Linear => (BYTES / row_bytes).clamp(1, rows.max(1)),
            // Such a weight is read as a whole anyway.
            _ => rows,
        };
        // The same for weights of one shape, so that their sketches can be compared.
        let first = (rows - wanted.min(rows)) / 2;
        let region = Region {
            matrix: matrices.count / 2,
            rows: first..rows.min(first + wanted),
        };
        let view = View::of(checkpoint, weight, region, AsIf::AS_STORED)?;
        Ok(Self {
            sketch: first - view.region.rows.start.min(first),
            view,
        })
    }

    /// The ranges that it takes.
    ///
    /// # Errors
    /// [`ViewError::OutsideTensor`] where a tensor is shorter than the weight's shape asks for.
    pub fn pieces(&self) -> Result<Vec<Piece>, ViewError> {
        let mut pieces = self.view.pieces()?;
        for role in [PartRole::GlobalScale, PartRole::InputScale] {
            pieces.extend(self.scalars(role)?);
        }
        Ok(pieces)
    }

    /// A small F32 tensor as a whole.
    fn scalars(&self, role: PartRole) -> Result<Option<Piece>, ViewError> {
        let Some(tensor) = self.view.weight.part(role) else {
            return Ok(None);
        };
        let raw = &self.view.checkpoint.tensors[tensor];
        match raw.dtype == Dtype::F32 && raw.bytes() <= MOST_SCALARS {
            true => self.view.whole(role),
            false => Ok(None),
        }
    }

    /// What is counted, from the bytes of [`pieces`](Self::pieces) in that order.
    ///
    /// # Errors
    /// [`ViewError`] where the bytes are others than were asked for, or no numbers.
    pub fn evidence(&self, bytes: &[&[u8]]) -> Result<Evidence, ViewError> {
        let of_rows = self.view.pieces()?.len().min(bytes.len());
        let (rows, scalars) = bytes.split_at(of_rows);
        let seen = self.view.see(rows)?;
        let mut evidence = self.measure(&seen)?;
        let mut scalars = scalars.iter().map(|bytes| floats(bytes));
        if self.scalars(PartRole::GlobalScale)?.is_some() {
            evidence.globals = scalars.next().unwrap_or_default();
        }
        if self.scalars(PartRole::InputScale)?.is_some() {
            evidence.inputs = scalars.next().unwrap_or_default();
        }
        Ok(evidence)
    }

    fn measure(&self, seen: &Seen) -> Result<Evidence, ViewError> {
        let shape = self.view.shape();
        let length = |problem| ViewError::Length {
            tensor: self.view.weight.name.clone(),
            problem,
        };
        let (blocks, values) = match seen {
            Seen::Blocks { scales, codes } => {
                let rows = Rows {
                    codes,
                    scales: &scales.bytes,
                    global: scales.global,
                };
                let mut values = vec![0.0; shape.rows * shape.cols];
                decode_rows(&scales.format, shape, rows, &mut values).map_err(length)?;
                (Some((&scales.format, rows)), values)
            }
            Seen::Floats { dtype, bytes } => (None, numbers(*dtype, bytes)),
            Seen::Integers(groups) => (None, groups.values.clone()),
            Seen::Ggml(rows) => (None, rows.values.clone()),
        };
        let region = &self.view.region;
        let run = MeasuredRun {
            shape,
            first_row: region.matrix * self.view.weight.matrices().shape.rows + region.rows.start,
            blocks,
            values: &values,
            // Vectors are alike by nature.
            sketch: (self.view.weight.shape.len() > 1).then_some(self.sketch),
        };
        Evidence::of_run(&run).map_err(length)
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let numbers = bytes.as_chunks::<4>().0.iter();
    numbers.map(|&number| f32::from_le_bytes(number)).collect()
}

/// Plain numbers.
fn numbers(dtype: Dtype, bytes: &[u8]) -> Vec<f32> {
    let halves = bytes.as_chunks::<2>().0.iter();
    match dtype {
        Dtype::BF16 => halves.map(|&b| bf16::from_le_bytes(b).to_f32()).collect(),
        Dtype::F16 => halves.map(|&b| f16::from_le_bytes(b).to_f32()).collect(),
        _ => floats(bytes),
    }
}
