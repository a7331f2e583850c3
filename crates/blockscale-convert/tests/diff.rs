//! Two checkpoints compared: what is different is named, what is the same is not.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use blockscale_convert::diff::{
    Compared, DiffOptions, DiffReport, Side, StructureDifference, diff,
};
use blockscale_convert::sample::{SampleDialect, SampleOptions, write_sample};
use blockscale_convert::source::LocalSource;
use blockscale_convert::{ConvertOptions, Weights, convert};
use blockscale_model::Checkpoint;
use blockscale_model::catalog::Catalog;
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::{Target, generic};

struct Opened {
    checkpoint: Checkpoint,
    catalog: Catalog,
    source: LocalSource,
}

impl Opened {
    fn new(path: &Path) -> Self {
        let (checkpoint, source) = LocalSource::open(path).unwrap();
        let catalog = Catalog::of(&checkpoint);
        Self {
            checkpoint,
            catalog,
            source,
        }
    }

    fn weights(&self) -> Weights<'_> {
        Weights {
            checkpoint: &self.checkpoint,
            catalog: &self.catalog,
            source: &self.source,
        }
    }

    fn converted(&self, target: Target, out: &Path) -> Self {
        let recipe = generic(target, Vec::new(), Vec::new());
        let options = PlanOptions::default();
        let plan = Plan::build(&self.checkpoint, &self.catalog, &recipe, &options).unwrap();
        let stop = AtomicBool::new(false);
        convert(
            self.weights(),
            &plan,
            out,
            &ConvertOptions::default(),
            &(),
            &stop,
        )
        .unwrap();
        Self::new(out)
    }
}

fn sample(dir: &Path, dialect: SampleDialect, seed: u64) -> Opened {
    let options = SampleOptions {
        layers: 1,
        dialect,
        seed,
        ..SampleOptions::default()
    };
    write_sample(dir, &options).unwrap();
    Opened::new(dir)
}

fn compare(a: &Opened, b: &Opened, options: &DiffOptions) -> DiffReport {
    let stop = AtomicBool::new(false);
    diff(a.weights(), b.weights(), options, &(), &stop).unwrap()
}

const NUMBERS: DiffOptions = DiffOptions {
    compared: Compared::Numbers,
    atol: 0.0,
    rtol: 0.0,
    min_sqnr: None,
    max_memory: 1 << 20,
};

#[test]
fn a_checkpoint_is_the_same_as_itself() {
    let dir = tempfile::tempdir().unwrap();
    let opened = sample(dir.path(), SampleDialect::Hf, 0);
    let report = compare(&opened, &opened, &DiffOptions::default());
    assert!(report.is_same(), "{:?}", report.structure);
    assert_eq!(report.compared, report.equal);
    assert!(report.histogram.by_exponent.is_empty());
}

#[test]
fn numbers_are_the_same_in_both_spellings() {
    let [a, b] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let hf = sample(a.path(), SampleDialect::Hf, 0);
    let native = sample(b.path(), SampleDialect::Native, 0);
    let report = compare(&hf, &native, &NUMBERS);
    assert!(report.is_same(), "{:?}", report.weights);
    assert!(report.compared > 40);
}

#[test]
fn other_weights_differ_the_worst_first() {
    let [a, b] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let first = sample(a.path(), SampleDialect::Hf, 0);
    let second = sample(b.path(), SampleDialect::Hf, 1);
    let report = compare(&first, &second, &NUMBERS);
    assert!(!report.is_same());
    let db: Vec<f64> = report.weights.iter().filter_map(|w| w.sqnr_db).collect();
    assert!(db.is_sorted());
    // Two matrices that have nothing to do with each other: noise twice as strong as the signal.
    let of = |name: &str| {
        report
            .weights
            .iter()
            .find(|w| w.name.ends_with(name))
            .unwrap()
    };
    let wq_b = of("attn.wq_b.weight").sqnr_db.unwrap();
    assert!((-4.0..-2.0).contains(&wq_b), "{wq_b}");
}

#[test]
fn tolerances_decide_what_a_rounded_weight_is() {
    let [a, b] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let original = sample(a.path(), SampleDialect::Hf, 0);
    let rounded = original.converted(Target::Bf16, b.path());
    let strict = compare(&original, &rounded, &NUMBERS);
    assert!(!strict.weights.is_empty());
    // BF16 has eight significant bits: off by 2^-9 of a number at most.
    let loose = DiffOptions {
        rtol: 1.0 / 256.0,
        ..NUMBERS
    };
    assert!(compare(&original, &rounded, &loose).is_same());
    let sqnr = |db| DiffOptions {
        min_sqnr: Some(db),
        ..NUMBERS
    };
    assert!(compare(&original, &rounded, &sqnr(50.0)).is_same());
    assert!(!compare(&original, &rounded, &sqnr(90.0)).is_same());
}

#[test]
fn formats_and_configs_are_named() {
    let [a, b] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let original = sample(a.path(), SampleDialect::Hf, 0);
    let plain = original.converted(Target::Bf16, b.path());
    let report = compare(&original, &plain, &DiffOptions::default());
    let formats = report.structure.iter().filter(|difference| {
        matches!(difference, StructureDifference::Format { a, b, .. } if a.contains("NVFP4") && b == "BF16")
    });
    assert!(formats.count() > 10);
    let config = |key: &str| {
        let is = |difference: &StructureDifference| matches!(difference, StructureDifference::Config { key: found, .. } if found.starts_with(key));
        report.structure.iter().any(is)
    };
    assert!(config("quantization_config"));
    assert!(!config("hidden_size"));
}

#[test]
fn a_weight_that_one_lacks_is_named_with_its_side() {
    let [a, b] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let one = sample(a.path(), SampleDialect::Native, 0);
    let options = SampleOptions {
        layers: 2,
        dialect: SampleDialect::Native,
        ..SampleOptions::default()
    };
    write_sample(b.path(), &options).unwrap();
    let two = Opened::new(b.path());
    let report = compare(&one, &two, &DiffOptions::default());
    let missing = StructureDifference::OnlyIn {
        side: Side::B,
        name: "layers.1.attn.wq_b.weight".to_owned(),
    };
    assert!(report.structure.contains(&missing));
    let of_a = report.structure.iter().filter(|difference| {
        matches!(
            difference,
            StructureDifference::OnlyIn { side: Side::A, .. }
        )
    });
    assert_eq!(of_a.count(), 0);
}
