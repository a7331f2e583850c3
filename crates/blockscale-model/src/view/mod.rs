//! Part of a weight to be looked at: which bytes it takes, and what they become.
//!
//! A [`View`] is some rows of one matrix of a weight. It says which byte ranges hold its scales or
//! all of it, and makes of those bytes a [`ScalePlane`] or [`Seen`] numbers; [`AsIf`] reads them
//! another way than the file says, so that a wrong order becomes visible.
//!
//! ```
//! use blockscale_model::catalog::Catalog;
//! use blockscale_model::view::{AsIf, Region, View};
//! use blockscale_model::{Checkpoint, CheckpointFiles, Header, ShardFile, ShardName};
//!
//! let json = br#"{"a.weight":{"dtype":"F8_E4M3","shape":[300,128],"data_offsets":[0,38400]},
//!     "a.weight_scale_inv":{"dtype":"F32","shape":[3,1],"data_offsets":[38400,38412]}}"#;
//! let len = 8 + json.len() as u64 + 38_412;
//! let (name, header) = (ShardName::new("model.safetensors")?, Header::parse(json, len)?);
//! let shards = vec![ShardFile { name, len, header }];
//! let checkpoint = Checkpoint::assemble(CheckpointFiles { shards, ..Default::default() })?;
//! let catalog = Catalog::of(&checkpoint);
//!
//! // Rows are widened to whole blocks: 130..131 lie in the second of 128 rows.
//! let region = Region { matrix: 0, rows: 130..131 };
//! let view = View::of(&checkpoint, &catalog.weights[0], region, AsIf::AS_STORED)?;
//! assert_eq!(view.region().rows, 128..256);
//! let pieces = view.scale_pieces()?;
//! assert_eq!(pieces[0].range, len - 8..len - 4);
//! let plane = view.scales(&[&0.5_f32.to_le_bytes()])?;
//! assert_eq!(plane.values(), [0.5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod as_if;
mod error;
mod held;
mod judged;
mod pieces;
mod seen;
mod survey;

use std::ops::Range;

use blockscale::format::{Block, Shape};

use crate::catalog::{Encoding, Weight};
use crate::checkpoint::Checkpoint;

pub use as_if::AsIf;
pub use error::ViewError;
pub use held::{GgmlRows, GroupScales, Groups};
pub use judged::Judged;
pub use pieces::Piece;
pub use seen::{ScalePlane, Seen};
pub use survey::Surveyed;

/// Rows of one matrix of a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Which of the weight's matrices.
    pub matrix: usize,
    /// Rows of that matrix.
    pub rows: Range<usize>,
}

/// Some rows of a weight, read in some way.
#[derive(Clone, Debug)]
pub struct View<'a> {
    checkpoint: &'a Checkpoint,
    weight: &'a Weight,
    region: Region,
    as_if: AsIf,
}

impl<'a> View<'a> {
    /// A view of the blocks that `region` touches.
    ///
    /// # Errors
    /// [`ViewError`] where the weight has no such matrix or rows, or a part of it may lie in a shard
    /// that was not read.
    pub fn of(
        checkpoint: &'a Checkpoint,
        weight: &'a Weight,
        region: Region,
        as_if: AsIf,
    ) -> Result<Self, ViewError> {
        if !checkpoint.is_settled(weight) {
            return Err(ViewError::Unsettled {
                tensor: weight.name.clone(),
                unread: checkpoint.unread_shards.len(),
            });
        }
        let matrices = weight.matrices();
        let (rows, count) = (matrices.shape.rows, matrices.count);
        let asked = &region.rows;
        if region.matrix >= count || asked.start > asked.end || asked.end > rows {
            return Err(ViewError::Outside {
                tensor: weight.name.clone(),
                region,
                count,
                rows,
            });
        }
        let block = match weight.encoding {
            // One scale for all rows fits any of them.
            Encoding::Block(format) if format.block != Block::Tensor => format.block_rows(rows),
            _ => 1,
        };
        let whole = asked.start / block * block..asked.end.next_multiple_of(block).min(rows);
        Ok(Self {
            checkpoint,
            weight,
            region: Region {
                matrix: region.matrix,
                rows: whole,
            },
            as_if,
        })
    }

    /// The rows that are read: whole blocks.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Rows and columns of the view, in elements.
    pub fn shape(&self) -> Shape {
        Shape::new(self.region.rows.len(), self.weight.matrices().shape.cols)
    }
}
