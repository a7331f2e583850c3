//! Scales of a sight, from planes of their own or out of groups and blocks.

use blockscale::stats::ScaleStats;
use blockscale::{Format, ScaleElement, Shape};
use blockscale_model::view::{GgmlRows, GroupScales, Groups, ScalePlane};
use blockscale_wgpu::{Number, RequestError, Stored};

/// What numbers are made of, beside what is in [`Stored`].
#[derive(Debug)]
pub(crate) enum Held {
    /// Nothing, or plain floats.
    Plain(Option<Number>),
    /// Codes in a block format: those in `Stored`.
    Blocks(Format),
    /// Groups of integers.
    Integers(Groups),
    /// Blocks of ggml.
    Ggml(GgmlRows),
}

/// Scales as they lie in the file, and as numbers.
#[derive(Debug)]
pub(crate) struct Scales {
    /// Their type.
    pub(crate) name: &'static str,
    element: Option<ScaleElement>,
    /// Bytes of one.
    pub(crate) size: usize,
    /// Rows and columns of scales.
    pub(crate) shape: Shape,
    /// As stored, row by row.
    pub(crate) bytes: Vec<u8>,
    /// Scales of both levels as one.
    pub(crate) numbers: Stored<'static>,
    /// The format and the second-level scale, of block formats.
    pub(crate) plane: Option<(Format, f32)>,
}

impl Scales {
    pub(crate) fn of_plane(plane: ScalePlane) -> Result<Self, RequestError> {
        Ok(Self {
            name: plane.format.scale.name(),
            element: Some(plane.format.scale),
            size: plane.format.scale.bytes(),
            shape: plane.shape,
            numbers: floats(&plane.values(), plane.shape)?,
            bytes: plane.bytes,
            plane: Some((plane.format, plane.global)),
        })
    }

    pub(crate) fn of_groups(scales: GroupScales) -> Result<Self, RequestError> {
        Ok(Self {
            name: scales.element.map_or("UE4M3", ScaleElement::name),
            element: scales.element,
            size: scales.size,
            shape: scales.shape,
            numbers: floats(&scales.values, scales.shape)?,
            bytes: scales.bytes,
            plane: None,
        })
    }

    /// The bytes of one scale.
    pub(crate) fn at(&self, row: usize, col: usize) -> Option<&[u8]> {
        if row >= self.shape.rows || col >= self.shape.cols {
            return None;
        }
        let start = (row * self.shape.cols + col) * self.size;
        self.bytes.get(start..start + self.size)
    }

    /// The type that counts are by: that of the file, or F32 for ggml's UE4M3.
    pub(crate) fn counted_as(&self) -> ScaleElement {
        self.element.unwrap_or(ScaleElement::F32)
    }

    pub(crate) fn stats(&self) -> ScaleStats {
        // The numbers of UE4M3 are F32 here, in little-endian bytes.
        let bytes = match self.element {
            Some(_) => &self.bytes,
            None => self.numbers.codes(),
        };
        ScaleStats::of_rows(self.counted_as(), self.shape, bytes)
    }
}

pub(crate) fn floats(values: &[f32], shape: Shape) -> Result<Stored<'static>, RequestError> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    Ok(Stored::numbers(Number::F32, shape, &bytes)?.into_owned())
}
