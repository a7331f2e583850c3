//! The computing stage: runs through their steps, in the order of the plan.

use std::collections::HashMap;

use blockscale::encode;
use blockscale::format::GlobalScale;
use blockscale::layout::ScaleLayout;
use blockscale::transcode::Mxfp4ToNvfp4;
use blockscale_model::catalog::Encoding;
use blockscale_model::plan::{Expectation, PlannedWeight, Step};
use rayon::prelude::*;

use crate::ConvertError;
use crate::convert::ShardWork;
use crate::jobs::{OutRows, needs_scan};
use crate::placing::{Chunk, Gathered, Placed, place};
use crate::tally::{Comparison, Tally};
use crate::transform::{self, TensorScales};
use crate::weights::{Run, RunBytes, decode, has_global};

/// What the computing stage remembers between jobs.
pub(crate) struct ComputeState<'a> {
    work: &'a ShardWork<'a>,
    /// What scans found, by weight or by group of weights.
    scanned: HashMap<ScanKey, Scanned>,
    tally: Tally,
    rows_done: usize,
    /// The planes of a weight that is to be laid out, while they come in.
    gathered: Option<Gathered>,
    comparisons: Vec<Comparison>,
    failures: Vec<crate::NumberFailure>,
}

#[derive(PartialEq, Eq, Hash)]
enum ScanKey {
    Weight(usize),
    Group(usize),
}

/// What only the whole weight, or group of weights, tells.
#[derive(Clone, Copy)]
struct Scanned {
    amax: f32,
    cast: Mxfp4ToNvfp4,
}

impl Scanned {
    fn nothing() -> Self {
        Self {
            amax: 0.0,
            cast: Mxfp4ToNvfp4::of_scales(&[]),
        }
    }

    fn add(&mut self, other: Self) {
        self.amax = self.amax.max(other.amax);
        self.cast = self.cast.merge(other.cast);
    }
}

impl<'a> ComputeState<'a> {
    pub(crate) fn new(work: &'a ShardWork<'a>) -> Self {
        Self {
            work,
            scanned: HashMap::new(),
            tally: Tally::default(),
            rows_done: 0,
            gathered: None,
            comparisons: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn key(&self, planned: usize) -> ScanKey {
        let group = self.work.plan.weights[planned].global_group;
        group.map_or(ScanKey::Weight(planned), ScanKey::Group)
    }

    fn values(&self, run: &Run, bytes: &RunBytes) -> Result<Vec<f32>, ConvertError> {
        let weights = &self.work.cutter.weights;
        decode(weights.weight(run), weights.shape(run), bytes)
    }

    /// What one run tells of its weight.
    fn look(
        &self,
        planned: usize,
        bytes: &RunBytes,
        values: impl Fn() -> Result<f32, ConvertError>,
    ) -> Result<Scanned, ConvertError> {
        Ok(match self.work.plan.weights[planned].step {
            Step::CastMxfp4 { .. } => Scanned {
                amax: 0.0,
                cast: Mxfp4ToNvfp4::of_scales(&bytes.scales),
            },
            _ => Scanned {
                amax: values()?,
                ..Scanned::nothing()
            },
        })
    }

    pub(crate) fn scan(
        &mut self,
        planned: usize,
        run: &Run,
        bytes: &RunBytes,
    ) -> Result<(), ConvertError> {
        let seen = self.look(planned, bytes, || Ok(largest(&self.values(run, bytes)?)))?;
        self.scanned
            .entry(self.key(planned))
            .or_insert_with(Scanned::nothing)
            .add(seen);
        Ok(())
    }

    /// The scales of the whole weight that go with a run.
    fn tensor_scales(
        &self,
        planned: usize,
        source: &RunBytes,
        values: &[f32],
    ) -> Result<TensorScales, ConvertError> {
        let weight = &self.work.plan.weights[planned];
        let Scanned { amax, cast } = match self.scanned.get(&self.key(planned)) {
            Some(scanned) => *scanned,
            // Without a scan the run is all of the weight.
            None if needs_scan(weight) => self.look(planned, source, || Ok(largest(values)))?,
            None => Scanned::nothing(),
        };
        let global = match weight.step {
            Step::Encode { to, .. } if has_global(&to) => encode::global_scale(&to, amax),
            Step::CastMxfp4 { to } => match to.global {
                GlobalScale::Divisor => 1.0 / cast.global(),
                _ => cast.global(),
            },
            Step::Copy => source.global,
            // A source without one was read as 1.
            Step::RestateGlobal { .. } => 1.0 / source.global,
            _ => 1.0,
        };
        Ok(TensorScales { global, amax, cast })
    }

    pub(crate) fn compute(
        &mut self,
        planned: usize,
        run: &Run,
        out: &OutRows,
        last: bool,
        bytes: &RunBytes,
    ) -> Result<Vec<Chunk>, ConvertError> {
        let weight = &self.work.plan.weights[planned];
        let source = self.work.cutter.weights.weight(run);
        let values = self.values(run, bytes)?;
        let scales = self.tensor_scales(planned, bytes, &values)?;
        let done = transform::apply(&weight.step, source, run, bytes, &values, scales)?;
        self.tally.add(self.rows_done, &done.stats, &done.nans);
        self.tally.add_blocks(done.blocks);
        self.rows_done += run.rows.len();
        if last {
            self.close(weight, source.encoding);
        }
        let placed = Placed {
            out,
            last,
            global: scales.global,
        };
        if weight.layout == ScaleLayout::Linear {
            return Ok(place(weight, &source.encoding, &placed, done));
        }
        let gathered = self.gathered.get_or_insert_default();
        gathered.add(weight, &source.encoding, out, &done);
        match (last, self.gathered.take()) {
            (true, Some(gathered)) => gathered.lay_out(weight, &source.encoding, &placed),
            (_, gathered) => {
                self.gathered = gathered;
                Ok(Vec::new())
            }
        }
    }

    /// Ends a weight: its comparison is complete.
    fn close(&mut self, weight: &PlannedWeight, from: Encoding) {
        let to = weight.step.result(&from);
        let expectation = match (weight.expectation, self.work.min_sqnr) {
            (Expectation::AtLeastDb(_), Some(db)) => Expectation::AtLeastDb(db),
            (expectation, _) => expectation,
        };
        let tally = std::mem::take(&mut self.tally);
        let names = (from.to_string(), to.to_string());
        let (comparison, failure) = tally.finish(&weight.name, names, &weight.shape, expectation);
        self.rows_done = 0;
        self.comparisons.push(comparison);
        self.failures.extend(failure);
    }

    pub(crate) fn finish(self) -> Result<Vec<Comparison>, ConvertError> {
        if self.failures.is_empty() {
            Ok(self.comparisons)
        } else {
            Err(ConvertError::Numbers(self.failures))
        }
    }
}

fn largest(values: &[f32]) -> f32 {
    values
        .par_chunks(1 << 16)
        .map(encode::amax)
        .reduce(|| 0.0, f32::max)
}
