//! An adapter where there is one, the core where there is none or none any more.

use blockscale::Shape;
use blockscale::stats::ErrorStats;

use crate::{
    Edges, Gpu, GpuError, HeatMap, Histogram, Measure, Options, RequestError, Resident, Source,
    Stored, Window, cpu,
};

/// Does on an adapter what it can, and all else with [`cpu`]: the results are the same.
///
/// An adapter that fails is given up, with what it failed of in [`failure`](Self::failure); the
/// weights are still there.
///
/// ```
/// use blockscale::Shape;
/// use blockscale_wgpu::{Backend, Number, Options, RequestError, Source, Stored, Window};
///
/// # pollster::block_on(async {
/// let mut backend = Backend::new(&Options::default()).await;
/// let bytes = [1.0_f32, -2.0, 3.0].map(f32::to_le_bytes).concat();
/// let weight = Stored::numbers(Number::F32, Shape::new(1, 3), &bytes)?;
/// let weight = backend.load(weight).await;
/// let tile = backend.tile(Source::Values(&weight), &Window::new(0..1, 1..3)).await?;
/// assert_eq!(tile, [-2.0, 3.0]);
/// # Ok::<(), RequestError>(())
/// # })?;
/// # Ok::<(), RequestError>(())
/// ```
#[derive(Debug)]
pub struct Backend {
    gpu: Option<Gpu>,
    failure: Option<GpuError>,
}

/// A weight in memory, and in that of the adapter where it has room.
#[derive(Debug)]
pub struct Loaded<'a> {
    stored: Stored<'a>,
    resident: Option<Resident>,
}

impl<'a> Loaded<'a> {
    /// The weight in memory.
    pub fn stored(&self) -> &Stored<'a> {
        &self.stored
    }

    /// The weight in the adapter's memory.
    pub fn resident(&self) -> Option<&Resident> {
        self.resident.as_ref()
    }
}

impl Backend {
    /// Opens an adapter, or goes on without.
    pub async fn new(options: &Options) -> Self {
        match Gpu::new(options).await {
            Ok(gpu) => Self {
                gpu: Some(gpu),
                failure: None,
            },
            Err(error) => Self {
                gpu: None,
                failure: Some(error),
            },
        }
    }

    /// The adapter, while there is one.
    pub fn gpu(&self) -> Option<&Gpu> {
        self.gpu.as_ref()
    }

    /// Why there is no adapter, or why a weight is not in its memory.
    pub fn failure(&self) -> Option<&GpuError> {
        self.failure.as_ref()
    }

    /// Takes a weight, and copies it to the adapter. One that the adapter has no room for stays in
    /// memory.
    pub async fn load<'a>(&mut self, stored: Stored<'a>) -> Loaded<'a> {
        let resident = match &self.gpu {
            Some(gpu) => Some(gpu.upload(&stored).await),
            None => None,
        };
        let resident = match resident {
            Some(Err(error)) => {
                self.give_up(error);
                None
            }
            Some(Ok(resident)) => Some(resident),
            None => None,
        };
        Loaded { stored, resident }
    }

    /// As [`cpu::tile`].
    ///
    /// # Errors
    ///
    /// As [`cpu::tile`].
    pub async fn tile(
        &mut self,
        source: Source<&Loaded<'_>>,
        window: &Window,
    ) -> Result<Vec<f32>, RequestError> {
        let done = self
            .attempt(async |gpu| Some(gpu.tile(resident(source)?, window).await))
            .await?;
        done.map_or_else(|| cpu::tile(stored(source), window), Ok)
    }

    /// As [`cpu::heat_map`].
    ///
    /// # Errors
    ///
    /// As [`cpu::heat_map`].
    pub async fn heat_map(
        &mut self,
        source: Source<&Loaded<'_>>,
        window: &Window,
        cells: Shape,
        measure: Measure,
    ) -> Result<HeatMap, RequestError> {
        let done = self
            .attempt(async |gpu| {
                let source = resident(source)?;
                Some(gpu.heat_map(source, window, cells, measure).await)
            })
            .await?;
        done.map_or_else(|| cpu::heat_map(stored(source), window, cells, measure), Ok)
    }

    /// As [`cpu::histogram`].
    ///
    /// # Errors
    ///
    /// As [`cpu::histogram`].
    pub async fn histogram(
        &mut self,
        source: Source<&Loaded<'_>>,
        window: &Window,
        measure: Measure,
        edges: &Edges,
    ) -> Result<Histogram, RequestError> {
        let done = self
            .attempt(async |gpu| {
                let source = resident(source)?;
                Some(gpu.histogram(source, window, measure, edges).await)
            })
            .await?;
        done.map_or_else(
            || cpu::histogram(stored(source), window, measure, edges),
            Ok,
        )
    }

    /// As [`cpu::code_counts`].
    ///
    /// # Errors
    ///
    /// As [`cpu::code_counts`].
    pub async fn code_counts(
        &mut self,
        weight: &Loaded<'_>,
        window: &Window,
    ) -> Result<Vec<u64>, RequestError> {
        let done = self
            .attempt(async |gpu| Some(gpu.code_counts(weight.resident()?, window).await))
            .await?;
        done.map_or_else(|| cpu::code_counts(&weight.stored, window), Ok)
    }

    /// As [`cpu::scale_code_counts`].
    ///
    /// # Errors
    ///
    /// As [`cpu::scale_code_counts`].
    pub async fn scale_code_counts(
        &mut self,
        weight: &Loaded<'_>,
        window: &Window,
    ) -> Result<Vec<u64>, RequestError> {
        let done = self
            .attempt(async |gpu| Some(gpu.scale_code_counts(weight.resident()?, window).await))
            .await?;
        done.map_or_else(|| cpu::scale_code_counts(&weight.stored, window), Ok)
    }

    /// As [`cpu::compare`].
    ///
    /// # Errors
    ///
    /// As [`cpu::compare`].
    pub async fn compare(
        &mut self,
        reference: &Loaded<'_>,
        output: &Loaded<'_>,
        window: &Window,
        cells: Shape,
    ) -> Result<Vec<ErrorStats>, RequestError> {
        let done = self
            .attempt(async |gpu| {
                let (reference, output) = (reference.resident()?, output.resident()?);
                Some(gpu.compare(reference, output, window, cells).await)
            })
            .await?;
        let on_cpu = || cpu::compare(&reference.stored, &output.stored, window, cells);
        done.map_or_else(on_cpu, Ok)
    }

    /// What the adapter says; `None` where there is none, or it lacks a weight, or fails.
    async fn attempt<T>(
        &mut self,
        work: impl AsyncFnOnce(&Gpu) -> Option<Result<T, GpuError>>,
    ) -> Result<Option<T>, RequestError> {
        let done = match &self.gpu {
            Some(gpu) => work(gpu).await,
            None => None,
        };
        match done {
            Some(Ok(result)) => Ok(Some(result)),
            Some(Err(GpuError::Request(error))) => Err(error),
            Some(Err(error)) => {
                self.give_up(error);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Without memory, or for one weight that is too large, the adapter can still do the rest.
    fn give_up(&mut self, error: GpuError) {
        let stays = matches!(
            error,
            GpuError::OutOfMemory { .. } | GpuError::TooLarge { .. }
        );
        if !stays {
            self.gpu = None;
        }
        self.failure = Some(error);
    }
}

fn resident<'a>(source: Source<&'a Loaded<'_>>) -> Option<Source<&'a Resident>> {
    source.map(|weight| weight.resident()).transpose()
}

fn stored<'a, 'b>(source: Source<&'a Loaded<'b>>) -> Source<&'a Stored<'b>> {
    source.map(|weight| &weight.stored)
}
