//! What a heat map shows, and the sums that it is made of.

use blockscale::Shape;

use crate::order::{number_at, order};
use crate::{RequestError, source};

/// Which of its two sides a number is looked at from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// The number with its sign.
    Signed,
    /// The number without its sign.
    Magnitude,
}

impl Measure {
    pub(crate) fn of(self, number: f32) -> f32 {
        match self {
            Self::Signed => number,
            Self::Magnitude => number.abs(),
        }
    }

    /// The bits of a number that count.
    pub(crate) fn mask(self) -> u32 {
        match self {
            Self::Signed => u32::MAX,
            Self::Magnitude => u32::MAX >> 1,
        }
    }
}

/// A grid of cells over a window, with the extremes and the mean of each.
///
/// Cell `i` of `n` starts at row `i * rows / n` of the window, rounded down; columns likewise. One
/// cell a row is a row profile, one a column a column profile.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// Rows and columns of cells.
    pub shape: Shape,
    /// The cells, row by row.
    pub cells: Vec<Cell>,
}

/// One cell of a [`HeatMap`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The largest number, infinity included; NaN where there is none.
    pub max: f32,
    /// The smallest number, infinity included; NaN where there is none.
    pub min: f32,
    /// Mean of the finite numbers, off by at most one unit in the last place if all have the same
    /// sign; NaN where there is none.
    pub mean: f32,
    /// Finite numbers.
    pub finite: u64,
    /// Infinities.
    pub infinite: u64,
    /// NaN.
    pub nan: u64,
}

impl HeatMap {
    pub(crate) fn of(shape: Shape, extremes: &[Extremes]) -> Self {
        Self {
            shape,
            cells: extremes.iter().map(Extremes::cell).collect(),
        }
    }

    /// Adds another part of the same weight, seen through the same cells.
    ///
    /// The means are weighed by the finite numbers of each, and rounded once more.
    ///
    /// # Errors
    ///
    /// [`RequestError::ShapesDiffer`] where the other has other cells.
    pub fn merge(&mut self, other: &Self) -> Result<(), RequestError> {
        source::same_shape(self.shape, other.shape)?;
        for (cell, other) in self.cells.iter_mut().zip(&other.cells) {
            let mut extremes = Extremes::from(*cell);
            extremes.merge(&Extremes::from(*other));
            *cell = extremes.cell();
        }
        Ok(())
    }
}

/// A cell in the making.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extremes {
    /// In the order of [`order`]; below `smallest` where there is none.
    pub(crate) largest: u32,
    pub(crate) smallest: u32,
    pub(crate) sum: f64,
    pub(crate) finite: u64,
    pub(crate) infinite: u64,
    pub(crate) nan: u64,
}

impl Extremes {
    pub(crate) const NONE: Self = Self {
        largest: 0,
        smallest: u32::MAX,
        sum: 0.0,
        finite: 0,
        infinite: 0,
        nan: 0,
    };

    pub(crate) fn add(&mut self, number: f32) {
        if number.is_nan() {
            self.nan += 1;
            return;
        }
        self.largest = self.largest.max(order(number));
        self.smallest = self.smallest.min(order(number));
        if number.is_finite() {
            self.finite += 1;
            self.sum += f64::from(number);
        } else {
            self.infinite += 1;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.largest = self.largest.max(other.largest);
        self.smallest = self.smallest.min(other.smallest);
        self.sum += other.sum;
        self.finite += other.finite;
        self.infinite += other.infinite;
        self.nan += other.nan;
    }

    pub(crate) fn cell(&self) -> Cell {
        let any = self.smallest <= self.largest;
        let number = |place| if any { number_at(place) } else { f32::NAN };
        Cell {
            max: number(self.largest),
            min: number(self.smallest),
            // NaN where nothing is finite: 0 / 0.
            mean: (self.sum / self.finite as f64) as f32,
            finite: self.finite,
            infinite: self.infinite,
            nan: self.nan,
        }
    }
}

impl From<Cell> for Extremes {
    fn from(cell: Cell) -> Self {
        let place = |number: f32, none| if number.is_nan() { none } else { order(number) };
        Self {
            largest: place(cell.max, Self::NONE.largest),
            smallest: place(cell.min, Self::NONE.smallest),
            sum: match cell.finite {
                0 => 0.0,
                finite => f64::from(cell.mean) * finite as f64,
            },
            finite: cell.finite,
            infinite: cell.infinite,
            nan: cell.nan,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(numbers: &[f32]) -> Cell {
        let mut extremes = Extremes::NONE;
        numbers.iter().for_each(|&number| extremes.add(number));
        extremes.cell()
    }

    #[test]
    fn nan_is_counted_and_infinity_is_an_extreme_outside_the_mean() {
        let cell = cell(&[1.0, f32::NAN, 3.0, f32::NEG_INFINITY]);
        assert_eq!(
            (cell.max, cell.min, cell.mean),
            (3.0, f32::NEG_INFINITY, 2.0)
        );
        assert_eq!((cell.finite, cell.infinite, cell.nan), (2, 1, 1));
    }

    #[test]
    fn a_cell_of_nan_has_no_extremes_and_no_mean() {
        let cell = cell(&[f32::NAN]);
        assert!(cell.max.is_nan() && cell.min.is_nan() && cell.mean.is_nan());
    }

    #[test]
    fn merged_maps_are_the_map_of_both() {
        let map = |numbers: &[f32]| HeatMap {
            shape: Shape::new(1, 1),
            cells: vec![cell(numbers)],
        };
        let mut merged = map(&[f32::NAN]);
        merged.merge(&map(&[1.0, -2.0])).unwrap();
        merged.merge(&map(&[4.0])).unwrap();
        assert_eq!(merged, map(&[f32::NAN, 1.0, -2.0, 4.0]));

        let other = HeatMap {
            shape: Shape::new(1, 2),
            ..merged.clone()
        };
        assert!(merged.merge(&other).is_err());
    }
}
