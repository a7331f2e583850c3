//! Checkpoints as the doctor sees them.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use blockscale_convert::doctor::{Scope, check_manifest, examine, open_diagnosis};
use blockscale_convert::interpret::diagnose;
use blockscale_convert::sample::{Fault, SampleDialect, SampleOptions, write_sample};
use blockscale_convert::source::LocalSource;
use blockscale_convert::{ConvertOptions, Weights, convert};
use blockscale_model::catalog::Catalog;
use blockscale_model::doctor::{Check, Diagnosis, Doctor, Subject};
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::Recipe;
use blockscale_model::{Checkpoint, Severity};

/// Enough for an indexer.
const LAYERS: usize = 3;

pub(crate) fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data")
        .join(path)
}

pub(crate) fn sample(dir: &Path, dialect: SampleDialect) {
    let options = SampleOptions {
        dialect,
        layers: LAYERS,
        ..SampleOptions::default()
    };
    write_sample(dir, &options).unwrap();
}

/// A sample with one fault, of as few layers as have what it damages; clean without a fault.
pub(crate) fn faulty(dir: &Path, dialect: SampleDialect, fault: Option<&'static Fault>) {
    // Of an indexer, or between layers.
    let several = ["BS018", "BS073", "BS085"];
    let several = fault.is_some_and(|fault| several.contains(&fault.rule));
    let options = SampleOptions {
        dialect,
        layers: if several { LAYERS } else { 1 },
        fault,
        ..SampleOptions::default()
    };
    write_sample(dir, &options).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
}

pub(crate) struct Opened {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) catalog: Catalog,
    pub(crate) source: LocalSource,
}

impl Opened {
    pub(crate) fn new(path: &Path) -> Self {
        let (checkpoint, source) = LocalSource::open(path).unwrap();
        let catalog = Catalog::of(&checkpoint);
        Self {
            checkpoint,
            catalog,
            source,
        }
    }

    pub(crate) fn weights(&self) -> Weights<'_> {
        Weights {
            checkpoint: &self.checkpoint,
            catalog: &self.catalog,
            source: &self.source,
        }
    }

    pub(crate) fn convert(&self, recipe: &Recipe, options: &PlanOptions, out: &Path) {
        let plan = Plan::build(&self.checkpoint, &self.catalog, recipe, options)
            .unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
        let stop = AtomicBool::new(false);
        let convert_options = ConvertOptions::default();
        convert(self.weights(), &plan, out, &convert_options, &(), &stop)
            .unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
    }
}

/// What the doctor finds at a path, compared with a reference if there is one.
pub(crate) fn findings(path: &Path, reference: Option<&Path>) -> Vec<Diagnosis> {
    let mut found = by_rules(path, reference, None);
    if LocalSource::open(path).is_ok() {
        let opened = Opened::new(path);
        let right = reference.map(Opened::new);
        let scope = Scope::Sample { seed: 0 };
        let read = diagnose(opened.weights(), right.as_ref().map(Opened::weights), scope);
        found.extend(read.unwrap().diagnoses);
    }
    found
}

/// The same without trying other readings, for a target if there is one.
pub(crate) fn by_rules(
    path: &Path,
    reference: Option<&Path>,
    target: Option<&dyn Check>,
) -> Vec<Diagnosis> {
    let opened = match LocalSource::open(path) {
        Ok(_) => Opened::new(path),
        Err(error) => return open_diagnosis(&error).into_iter().collect(),
    };
    let (scope, stop) = (Scope::Sample { seed: 0 }, AtomicBool::new(false));
    let examined = examine(opened.weights(), scope, &(), &stop).unwrap();
    let right = reference.map(Opened::new);
    let mut subject =
        Subject::new(&opened.checkpoint, &opened.catalog).with_evidence(examined.evidence);
    if let Some(right) = &right {
        let examined = examine(right.weights(), scope, &(), &stop).unwrap();
        subject = subject.with_reference(&right.catalog, &examined.evidence);
    }
    let mut doctor = Doctor::default();
    if let Some(target) = target {
        doctor = doctor.with(target);
    }
    let mut found = doctor.examine(&subject);
    found.extend(check_manifest(&opened.checkpoint, &opened.source, scope).unwrap());
    found
}

/// What matters of it.
pub(crate) fn above_info(found: &[Diagnosis]) -> Vec<String> {
    let above = found.iter().filter(|d| d.severity > Severity::Info);
    above.map(ToString::to_string).collect()
}
