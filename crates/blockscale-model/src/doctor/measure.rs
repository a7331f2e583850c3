//! Counting over a run of rows.

use blockscale::LenMismatch;
use blockscale::decode::Rows;
use blockscale::format::{Format, Shape};
use blockscale::stats::{BlockStats, ValueStats};

use super::{Evidence, PLACES};

/// Numbers of a sketch.
const SKETCH: usize = 256;

/// A run of rows of a weight, decoded.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRun<'a> {
    /// Its rows and columns.
    pub shape: Shape,
    /// Its first row, counted over all matrices.
    pub first_row: usize,
    /// Codes and scales, of a weight in a block format.
    pub blocks: Option<(&'a Format, Rows<'a>)>,
    /// Its numbers, row by row.
    pub values: &'a [f32],
    /// The row of the run of which a sketch is taken, if it is one of them.
    pub sketch: Option<usize>,
}

impl Evidence {
    /// What is counted over a run.
    ///
    /// # Errors
    /// [`LenMismatch`] where codes or scales are not as long as the shape asks for.
    ///
    /// ```
    /// use blockscale::Shape;
    /// use blockscale_model::doctor::{Evidence, MeasuredRun};
    ///
    /// let values = [1.0, f32::NAN, 0.0, 2.0];
    /// let run = MeasuredRun {
    ///     shape: Shape::new(2, 2), first_row: 10, blocks: None, values: &values, sketch: Some(1),
    /// };
    /// let evidence = Evidence::of_run(&run)?;
    /// assert_eq!((evidence.rows, evidence.values.zeros), (2, 1));
    /// assert_eq!(evidence.not_finite_at, [[10, 1]]);
    /// assert_eq!(evidence.sketch, [0.0, 2.0]);
    /// # Ok::<(), blockscale::LenMismatch>(())
    /// ```
    pub fn of_run(run: &MeasuredRun<'_>) -> Result<Self, LenMismatch> {
        let Shape { rows, cols } = run.shape;
        let blocks = run.blocks.map(|(format, rows)| {
            let stats = BlockStats::of_rows(format, run.shape, rows)?;
            Ok::<_, LenMismatch>(Box::new(stats))
        });
        let mut evidence = Self {
            blocks: blocks.transpose()?,
            rows,
            ..Self::default()
        };
        if cols == 0 {
            return Ok(evidence);
        }
        for (row, values) in run.values.chunks_exact(cols).enumerate() {
            let of_row = ValueStats::of_row(values);
            if of_row.finite() < of_row.count {
                evidence.note_places(run.first_row + row, values);
            }
            evidence.values.merge(&of_row);
            if run.sketch == Some(row) {
                evidence.sketch = values.iter().take(SKETCH).copied().collect();
            }
        }
        Ok(evidence)
    }

    fn note_places(&mut self, row: usize, values: &[f32]) {
        let places = values.iter().enumerate().filter(|(_, v)| !v.is_finite());
        let free = PLACES - self.not_finite_at.len().min(PLACES);
        let places = places.take(free).map(|(col, _)| [row, col]);
        self.not_finite_at.extend(places);
    }
}
