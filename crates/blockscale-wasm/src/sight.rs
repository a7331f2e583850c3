//! Rows of a weight in memory, to be looked at.

use blockscale::decode::Rows;
use blockscale::stats::{BlockStats, ScaleStats, ValueStats};
use blockscale::{Format, Shape};
use blockscale_model::Dtype;
use blockscale_model::catalog::PartRole;
use blockscale_model::interpret::{Interpretation, Structure};
use blockscale_model::view::{ScalePlane, Seen, View};
use blockscale_wgpu::{Edges, Measure, Number, RequestError, Source, Stored, Window, cpu};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::held::{Held, Scales, floats};
use crate::js::SightError;
use crate::{HeatMap, Histogram, Layer};

/// Some rows of a weight, or only their scales.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Sight {
    pub(crate) first_row: usize,
    pub(crate) shape: Shape,
    pub(crate) values: Option<Stored<'static>>,
    pub(crate) scales: Option<Scales>,
    pub(crate) held: Held,
    /// How the bytes were read.
    pub(crate) reading: Interpretation,
    /// Where codes and scales of the rows start, if they lie row by row.
    pub(crate) places: Vec<Place>,
}

/// Where the bytes of rows start in a file.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) role: PartRole,
    pub(crate) file: String,
    pub(crate) start: u64,
}

/// Numbers far out: more than so many root mean squares.
const OUTLIER: f64 = 6.0;

/// How heavy the tails of numbers are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tails {
    /// Finite numbers.
    pub(crate) count: u64,
    /// Those above six root mean squares.
    pub(crate) outliers: u64,
    /// Fourth moment over the squared second: 3 for normal numbers.
    pub(crate) kurtosis: f64,
}

impl Sight {
    pub(crate) fn of_scales(
        view: &View<'_>,
        plane: ScalePlane,
        places: Vec<Place>,
    ) -> Result<Self, SightError> {
        let scales = Some(Scales::of_plane(plane)?);
        Ok(Self {
            scales,
            ..Self::empty(view, places)
        })
    }

    pub(crate) fn of_numbers(
        view: &View<'_>,
        seen: Seen,
        places: Vec<Place>,
    ) -> Result<Self, SightError> {
        let shape = view.shape();
        let mut sight = Self::empty(view, places);
        match seen {
            Seen::Blocks { scales, codes } => {
                let rows = Rows {
                    codes: &codes,
                    scales: &scales.bytes,
                    global: scales.global,
                };
                let stored = Stored::blocks(&scales.format, shape, rows)?;
                sight.values = Some(stored.into_owned());
                sight.held = Held::Blocks(scales.format);
                sight.scales = Some(Scales::of_plane(scales)?);
            }
            Seen::Floats { dtype, bytes } => {
                let number = match dtype {
                    Dtype::BF16 => Number::Bf16,
                    Dtype::F16 => Number::F16,
                    _ => Number::F32,
                };
                sight.values = Some(Stored::numbers(number, shape, &bytes)?.into_owned());
                sight.held = Held::Plain(Some(number));
            }
            Seen::Integers(mut groups) => {
                sight.values = Some(floats(&std::mem::take(&mut groups.values), shape)?);
                sight.scales = Some(Scales::of_groups(groups.scales())?);
                sight.held = Held::Integers(groups);
            }
            Seen::Ggml(mut rows) => {
                sight.values = Some(floats(&std::mem::take(&mut rows.values), shape)?);
                let scales = rows.scales().map(Scales::of_groups);
                sight.scales = scales.transpose()?;
                sight.held = Held::Ggml(rows);
            }
        }
        Ok(sight)
    }

    fn empty(view: &View<'_>, places: Vec<Place>) -> Self {
        Self {
            first_row: view.region().rows.start,
            shape: view.shape(),
            values: None,
            scales: None,
            held: Held::Plain(None),
            reading: view.reading(),
            places,
        }
    }

    pub(crate) fn place(&self, role: PartRole) -> Option<&Place> {
        self.places.iter().find(|place| place.role == role)
    }

    pub(crate) fn values(&self) -> Result<&Stored<'static>, SightError> {
        self.values.as_ref().ok_or(SightError::NoNumbers)
    }

    pub(crate) fn scales(&self) -> Result<&Scales, SightError> {
        self.scales.as_ref().ok_or(SightError::NoScales)
    }

    /// The block format and its second-level scale.
    pub(crate) fn format(&self) -> Result<(&Format, f32), SightError> {
        let plane = self.scales()?.plane.as_ref();
        let (format, global) = plane.ok_or(SightError::NoScales)?;
        Ok((format, *global))
    }

    fn layer(&self, layer: Layer) -> Result<(Source<&Stored<'static>>, Measure), SightError> {
        Ok(match layer {
            Layer::Values => (Source::Values(self.values()?), Measure::Signed),
            Layer::Magnitudes => (Source::Values(self.values()?), Measure::Magnitude),
            Layer::Scales => (Source::Values(&self.scales()?.numbers), Measure::Signed),
        })
    }

    /// The numbers of a layer as a matrix.
    pub(crate) fn matrix(&self, layer: Layer) -> Result<&Stored<'static>, SightError> {
        match layer {
            Layer::Scales => Ok(&self.scales()?.numbers),
            Layer::Values | Layer::Magnitudes => self.values(),
        }
    }

    pub(crate) fn heat_map_of(
        &self,
        layer: Layer,
        window: &Window,
        cells: Shape,
    ) -> Result<HeatMap, SightError> {
        let (source, measure) = self.layer(layer)?;
        let map = cpu::heat_map(source, window, cells, measure)?;
        Ok(HeatMap { map })
    }

    pub(crate) fn histogram_of(
        &self,
        layer: Layer,
        window: &Window,
        edges: Vec<f32>,
    ) -> Result<Histogram, SightError> {
        let (source, measure) = self.layer(layer)?;
        let edges = Edges::new(edges)?;
        let histogram = cpu::histogram(source, window, measure, &edges)?;
        let edges = edges.as_slice().to_vec();
        Ok(Histogram { histogram, edges })
    }

    pub(crate) fn numbers_of(&self, layer: Layer, at: &Window) -> Result<Vec<f32>, SightError> {
        Ok(cpu::tile(self.layer(layer)?.0, at)?)
    }

    pub(crate) fn quantiles_of(
        &self,
        layer: Layer,
        window: &Window,
        shares: &[f64],
    ) -> Result<Vec<f32>, SightError> {
        let (source, measure) = self.layer(layer)?;
        Ok(cpu::quantiles(source, window, measure, shares)?)
    }

    pub(crate) fn whole(&self) -> Window {
        Window::whole(self.shape)
    }

    pub(crate) fn value_stats_of(&self, window: &Window) -> Result<ValueStats, SightError> {
        let mut stats = ValueStats::default();
        self.each_row(window, |row| stats.merge(&ValueStats::of_row(row)))?;
        Ok(stats)
    }

    pub(crate) fn tails_of(&self, window: &Window) -> Result<Tails, SightError> {
        let rms = self.value_stats_of(window)?.rms();
        let (mut tails, mut fourth) = (Tails::default(), 0.0);
        self.each_row(window, |row| {
            for value in row.iter().filter(|value| value.is_finite()) {
                let of_rms = f64::from(*value) / rms;
                tails.count += 1;
                tails.outliers += u64::from(of_rms.abs() > OUTLIER);
                fourth += of_rms * of_rms * of_rms * of_rms;
            }
        })?;
        tails.kurtosis = fourth / tails.count as f64;
        Ok(tails)
    }

    fn each_row(&self, window: &Window, mut visit: impl FnMut(&[f32])) -> Result<(), SightError> {
        let values = self.values()?;
        for row in window.rows.clone() {
            let row = Window::new(row..row + 1, window.cols.clone());
            visit(&cpu::tile(Source::Values(values), &row)?);
        }
        Ok(())
    }

    pub(crate) fn scale_stats_of(&self) -> Result<ScaleStats, SightError> {
        Ok(self.scales()?.stats())
    }

    pub(crate) fn block_stats_of(&self) -> Result<BlockStats, SightError> {
        let values = self.values()?;
        let (format, global) = self.format()?;
        let rows = Rows {
            codes: values.codes(),
            scales: &self.scales()?.bytes,
            global,
        };
        let stats = BlockStats::of_rows(format, self.shape, rows);
        Ok(stats.map_err(RequestError::from)?)
    }

    /// How well the loudness of blocks fits rows and columns as the bytes are read.
    pub(crate) fn structure_of(&self) -> Result<Structure, SightError> {
        let scales = self.scales()?;
        let numbers = cpu::tile(
            Source::Values(&scales.numbers),
            &Window::whole(scales.shape),
        )?;
        let Held::Blocks(format) = &self.held else {
            return Ok(Structure::of_scales(scales.shape, &numbers));
        };
        let codes = self.values()?.codes();
        Ok(Structure::of_numbers(format, self.shape, codes, &numbers))
    }
}
