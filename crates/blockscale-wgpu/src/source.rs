//! Which numbers of a weight are looked at.

use blockscale::Shape;

use crate::{Kind, Loaded, RequestError, Resident, Stored};

/// Numbers to look at: those of a weight, its scales, or the difference of two weights.
///
/// `W` is `&Stored` for [`cpu`](crate::cpu), `&Resident` for a [`Gpu`](crate::Gpu) and `&Loaded`
/// for a [`Backend`](crate::Backend).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<W> {
    /// The numbers that the weight stands for.
    Values(W),
    /// The scale of each block, multiplied or divided by the global one: a matrix of
    /// [`Format::scale_shape`](blockscale::Format::scale_shape).
    Scales(W),
    /// The first weight less the second, number by number, rounded once to `f32`.
    Difference(W, W),
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for &crate::Stored<'_> {}
    impl Sealed for &crate::Resident {}
    impl Sealed for &crate::Loaded<'_> {}
}

/// A weight, wherever it lies.
pub trait Weight: sealed::Sealed {
    /// What its bytes are.
    fn kind(&self) -> Kind;

    /// Its rows and columns in elements.
    fn shape(&self) -> Shape;
}

impl Weight for &Stored<'_> {
    fn kind(&self) -> Kind {
        Stored::kind(self)
    }

    fn shape(&self) -> Shape {
        Stored::shape(self)
    }
}

impl Weight for &Resident {
    fn kind(&self) -> Kind {
        Resident::kind(self)
    }

    fn shape(&self) -> Shape {
        Resident::shape(self)
    }
}

impl Weight for &Loaded<'_> {
    fn kind(&self) -> Kind {
        self.stored().kind()
    }

    fn shape(&self) -> Shape {
        self.stored().shape()
    }
}

impl<W: Weight> Source<W> {
    /// Rows and columns of the numbers.
    ///
    /// # Errors
    ///
    /// [`RequestError::NotInBlocks`] for scales where there are none,
    /// [`RequestError::ShapesDiffer`] for the difference of weights that are not equally large.
    pub fn shape(&self) -> Result<Shape, RequestError> {
        match self {
            Self::Values(weight) => Ok(weight.shape()),
            Self::Scales(weight) => weight.kind().scale_shape(weight.shape()),
            Self::Difference(first, second) => same_shape(first.shape(), second.shape()),
        }
    }
}

impl<W> Source<W> {
    /// The same numbers of other weights.
    pub(crate) fn map<T>(self, other: impl Fn(W) -> T) -> Source<T> {
        match self {
            Self::Values(weight) => Source::Values(other(weight)),
            Self::Scales(weight) => Source::Scales(other(weight)),
            Self::Difference(first, second) => Source::Difference(other(first), other(second)),
        }
    }
}

impl<W> Source<Option<W>> {
    /// The source, if all of its weights are there.
    pub(crate) fn transpose(self) -> Option<Source<W>> {
        Some(match self {
            Self::Values(weight) => Source::Values(weight?),
            Self::Scales(weight) => Source::Scales(weight?),
            Self::Difference(first, second) => Source::Difference(first?, second?),
        })
    }
}

pub(crate) fn same_shape(first: Shape, second: Shape) -> Result<Shape, RequestError> {
    if first == second {
        return Ok(first);
    }
    Err(RequestError::ShapesDiffer { first, second })
}
