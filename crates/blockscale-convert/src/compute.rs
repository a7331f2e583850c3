//! The computing stage: runs through their steps, in the order of the plan.

use std::collections::{HashMap, VecDeque};

use blockscale::layout::ScaleLayout;
use blockscale::transcode::Mxfp4ToNvfp4;
use blockscale_model::Dtype;
use blockscale_model::catalog::Encoding;
use blockscale_model::plan::{Expectation, PlannedWeight, Step};

use crate::ConvertError;
use crate::backend::{Outcome, ScalesOf, Task, Ticket, Want};
use crate::jobs::{OutRows, needs_scan};
use crate::placing::{Chunk, Gathered, Placed, place};
use crate::shard::ShardWork;
use crate::tally::{Comparison, Tally};
use crate::transform::{TensorScales, Transformed};
use crate::weights::{Run, RunBytes};

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
    /// Runs that the backend is at, the oldest first.
    under_way: VecDeque<UnderWay>,
    /// How many of them are scans.
    scans_under_way: usize,
}

/// A run that the backend is at, and what it is part of.
struct UnderWay {
    ticket: Ticket,
    planned: usize,
    run: Run,
    /// Its place, where it is more than scanned.
    place: Option<(OutRows, Place)>,
}

/// Where in its weight a run is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Within,
    Last,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
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
            under_way: VecDeque::new(),
            scans_under_way: 0,
        }
    }

    fn key(&self, planned: usize) -> ScanKey {
        let group = self.work.plan.weights[planned].global_group;
        group.map_or(ScanKey::Weight(planned), ScanKey::Group)
    }

    /// Adds what a run tells of its weight, or of the group that shares a global scale.
    fn add_scanned(&mut self, planned: usize, seen: Scanned) {
        self.scanned
            .entry(self.key(planned))
            .or_insert_with(Scanned::nothing)
            .add(seen);
    }

    /// Looks at a run for what only the whole weight tells. Returns what is done meanwhile.
    pub(crate) fn scan(
        &mut self,
        planned: usize,
        run: Run,
        bytes: RunBytes,
    ) -> Result<Vec<Chunk>, ConvertError> {
        let weight = &self.work.plan.weights[planned];
        if let Step::CastMxfp4 { .. } = weight.step {
            let cast = Mxfp4ToNvfp4::of_scales(&bytes.scales);
            self.add_scanned(planned, Scanned { amax: 0.0, cast });
            return Ok(Vec::new());
        }
        self.scans_under_way += 1;
        self.begin(planned, run, bytes, Want::Largest, None)
    }

    /// Hands a run to the backend, and takes the oldest back where too many are under way.
    fn begin(
        &mut self,
        planned: usize,
        run: Run,
        bytes: RunBytes,
        want: Want,
        place: Option<(OutRows, Place)>,
    ) -> Result<Vec<Chunk>, ConvertError> {
        let backend = self.work.backend;
        let ticket = backend.begin(Task {
            weight: self.work.cutter.weights.weight(&run).clone(),
            step: self.work.plan.weights[planned].step,
            run: run.clone(),
            bytes,
            want,
            buffers: self.work.buffers.clone(),
        });
        self.under_way.push_back(UnderWay {
            ticket,
            planned,
            run,
            place,
        });
        self.drain(|state| state.under_way.len() > backend.in_flight())
    }

    /// Takes runs back from the backend for as long as there is reason to.
    fn drain(&mut self, more: impl Fn(&Self) -> bool) -> Result<Vec<Chunk>, ConvertError> {
        let mut chunks = Vec::new();
        while more(self)
            && let Some(run) = self.under_way.pop_front()
        {
            chunks.extend(self.take_back(run)?);
        }
        Ok(chunks)
    }

    fn take_back(&mut self, done: UnderWay) -> Result<Vec<Chunk>, ConvertError> {
        let UnderWay {
            ticket,
            planned,
            run,
            place,
        } = done;
        match (ticket.wait()?, place) {
            (Outcome::Largest(amax), _) => {
                self.scans_under_way -= 1;
                let seen = Scanned {
                    amax,
                    ..Scanned::nothing()
                };
                self.add_scanned(planned, seen);
                Ok(Vec::new())
            }
            (Outcome::Transformed(done, scales), Some((out, place))) => {
                self.put(planned, &run, &out, place, *done, scales)
            }
            // Only scans have no place.
            (Outcome::Transformed(..), None) => Ok(Vec::new()),
        }
    }

    /// Where the scales come from that a run shares with its weight.
    fn scales_of(&self, planned: usize, from: &Encoding, source: &RunBytes) -> ScalesOf {
        let weight = &self.work.plan.weights[planned];
        let from = self.type_of_global(planned, from);
        let Scanned { amax, cast } = match self.scanned.get(&self.key(planned)) {
            Some(scanned) => *scanned,
            // Without a scan the run is all of the weight.
            None if needs_scan(weight) => return ScalesOf::Run(from),
            None => Scanned::nothing(),
        };
        let scales = TensorScales::of(&weight.step, &from, source.global, amax, cast);
        ScalesOf::Weight(scales)
    }

    /// The stored form that a global scale is computed for. Members of a group get the same one, so
    /// that where they differ it is neither's.
    fn type_of_global(&self, planned: usize, from: &Encoding) -> Encoding {
        let cutter = self.work.cutter;
        let sources = cutter.group_of(planned).iter().flat_map(|&member| {
            let pieces = &self.work.plan.weights[member].pieces;
            pieces
                .iter()
                .map(|p| cutter.weights.catalog.weights[p.weight].encoding)
        });
        if sources.into_iter().all(|source| source == *from) {
            *from
        } else {
            Encoding::Plain(Dtype::F32)
        }
    }

    /// Begins a run of a weight. Returns the bytes of what is done meanwhile.
    pub(crate) fn compute(
        &mut self,
        planned: usize,
        run: Run,
        out: OutRows,
        last: bool,
        bytes: RunBytes,
    ) -> Result<Vec<Chunk>, ConvertError> {
        // Scales of the weight are known once its scans are back.
        let mut chunks = self.drain(|state| state.scans_under_way > 0)?;
        let encoding = self.work.cutter.weights.weight(&run).encoding;
        let scales = self.scales_of(planned, &encoding, &bytes);
        let place = if last { Place::Last } else { Place::Within };
        let want = Want::Transformed(scales);
        chunks.extend(self.begin(planned, run, bytes, want, Some((out, place)))?);
        Ok(chunks)
    }

    /// The bytes of all runs that are still under way.
    pub(crate) fn rest(&mut self) -> Result<Vec<Chunk>, ConvertError> {
        self.drain(|_| true)
    }

    /// Takes the comparison of a run, and gives its bytes their places.
    fn put(
        &mut self,
        planned: usize,
        run: &Run,
        out: &OutRows,
        place_in_weight: Place,
        done: Transformed,
        scales: TensorScales,
    ) -> Result<Vec<Chunk>, ConvertError> {
        let weight = &self.work.plan.weights[planned];
        let source = self.work.cutter.weights.weight(run);
        let last = place_in_weight == Place::Last;
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
        self.comparisons.push(Comparison {
            encoded_by: weight.step.encoded_by(),
            ..comparison
        });
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
