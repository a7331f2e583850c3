//! Rectangles of a weight, and how they are cut.

use std::ops::Range;

use blockscale::Shape;

use crate::RequestError;

/// A rectangle of a weight's elements, or of its scales.
///
/// ```
/// use blockscale::Shape;
/// use blockscale_wgpu::Window;
///
/// assert_eq!(Window::whole(Shape::new(4, 6)), Window::new(0..4, 0..6));
/// assert_eq!(Window::new(1..3, 2..6).shape(), Shape::new(2, 4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its rows.
    pub rows: Range<usize>,
    /// Its columns.
    pub cols: Range<usize>,
}

impl Window {
    /// The rectangle where these rows and columns meet.
    pub const fn new(rows: Range<usize>, cols: Range<usize>) -> Self {
        Self { rows, cols }
    }

    /// All of a matrix.
    pub const fn whole(shape: Shape) -> Self {
        Self::new(0..shape.rows, 0..shape.cols)
    }

    /// Rows and columns that it has; 0 where a range runs backwards.
    pub fn shape(&self) -> Shape {
        Shape::new(self.rows.len(), self.cols.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.cols.is_empty()
    }

    /// What both have, `None` where that is nothing.
    pub(crate) fn meet(&self, other: &Self) -> Option<Self> {
        let both = Self::new(meet(&self.rows, &other.rows), meet(&self.cols, &other.cols));
        (!both.is_empty()).then_some(both)
    }

    /// The same as bands of at most `most` elements, or parts of a row where a row has more.
    pub(crate) fn bands(&self, most: usize) -> impl Iterator<Item = Self> + use<> {
        let cols = self.cols.len().clamp(1, most.max(1));
        let rows = (most / cols).max(1);
        let all_cols = self.cols.clone();
        steps(self.rows.clone(), rows).flat_map(move |rows| {
            steps(all_cols.clone(), cols).map(move |cols| Self::new(rows.clone(), cols))
        })
    }

    pub(crate) fn check_inside(&self, shape: Shape) -> Result<(), RequestError> {
        let inside = |range: &Range<usize>, end| range.start <= range.end && range.end <= end;
        if inside(&self.rows, shape.rows) && inside(&self.cols, shape.cols) {
            return Ok(());
        }
        let window = self.clone();
        Err(RequestError::Outside { window, shape })
    }

    /// Where the cells of a grid over this window start and end: rows, then columns.
    pub(crate) fn grid(&self, cells: Shape) -> Result<[Vec<usize>; 2], RequestError> {
        let elements = self.shape();
        let fits = |cells, elements| (1..=elements).contains(&cells);
        if fits(cells.rows, elements.rows) && fits(cells.cols, elements.cols) {
            return Ok([even(&self.rows, cells.rows), even(&self.cols, cells.cols)]);
        }
        Err(RequestError::Cells { cells, elements })
    }
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// A range in runs of `step`, the last one shorter.
pub(crate) fn steps(range: Range<usize>, step: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range
        .step_by(step)
        .map(move |start| start..start.saturating_add(step).min(end))
}

/// The `count + 1` ends of as many even parts of a range; each has an element at least.
fn even(range: &Range<usize>, count: usize) -> Vec<usize> {
    let part = |index| (index as u128 * range.len() as u128 / count as u128) as usize;
    (0..=count).map(|index| range.start + part(index)).collect()
}

/// Lines that cut cells into pieces.
#[derive(Debug)]
pub(crate) struct Cuts {
    /// Where the pieces start, and where the last one ends.
    pub(crate) edges: Vec<u32>,
    /// The cell of each piece.
    pub(crate) cells: Vec<usize>,
}

impl Cuts {
    /// Cuts cells, of which `edges` are the ends, to what lies in `within` and to at most `longest`.
    pub(crate) fn new(edges: &[usize], within: &Range<usize>, longest: usize) -> Self {
        let mut cuts = Self {
            edges: Vec::new(),
            cells: Vec::new(),
        };
        for (cell, ends) in edges.windows(2).enumerate() {
            let range = meet(&(ends[0]..ends[1]), within);
            for piece in steps(range, longest) {
                cuts.edges.push(piece.start as u32);
                cuts.cells.push(cell);
            }
        }
        cuts.edges.push(within.end as u32);
        cuts
    }

    /// Length of the longest piece.
    pub(crate) fn longest(&self) -> usize {
        let lengths = self
            .edges
            .windows(2)
            .map(|ends| (ends[1] - ends[0]) as usize);
        lengths.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_even_and_none_is_empty() {
        let window = Window::new(3..13, 0..7);
        let [rows, cols] = window.grid(Shape::new(4, 7)).unwrap();
        assert_eq!(rows, [3, 5, 8, 10, 13]);
        assert_eq!(cols, [0, 1, 2, 3, 4, 5, 6, 7]);
        for cells in [Shape::new(0, 1), Shape::new(11, 1), Shape::new(1, 8)] {
            assert!(window.grid(cells).is_err(), "{cells:?}");
        }
    }

    #[test]
    fn bands_cover_a_window_once_and_stay_below_the_limit() {
        let window = Window::new(2..9, 1..12);
        for most in 1..100 {
            let mut seen = [[0; 12]; 9];
            for band in window.bands(most) {
                assert!(band.shape().len().unwrap() <= most);
                for row in band.rows {
                    band.cols.clone().for_each(|col| seen[row][col] += 1);
                }
            }
            for (row, cols) in seen.iter().enumerate() {
                for (col, &times) in cols.iter().enumerate() {
                    assert_eq!(times, u32::from(row >= 2 && col >= 1), "{row} {col} {most}");
                }
            }
        }
    }

    #[test]
    fn pieces_stay_in_their_cell_and_within_the_part() {
        let cuts = Cuts::new(&[0, 10, 20, 30], &(5..25), 8);
        assert_eq!(cuts.edges, [5, 10, 18, 20, 25]);
        assert_eq!(cuts.cells, [0, 1, 1, 2]);
        assert_eq!(cuts.longest(), 8);
    }
}
