//! A conversion that stopped goes on and ends in the same bytes.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use blockscale_convert::sample::{SampleOptions, write_sample};
use blockscale_convert::{
    ConvertError, ConvertOptions, Existing, JOURNAL, MANIFEST, Progress, convert,
};
use blockscale_model::plan::Plan;
use blockscale_model::recipe::builtin;
use tempfile::TempDir;

use crate::files::{assert_same, names};
use crate::run::Opened;

/// Raises the stop flag after so many bytes of output.
struct StopAfter<'a> {
    left: AtomicU64,
    stop: &'a AtomicBool,
}

impl Progress for StopAfter<'_> {
    fn advance(&self, bytes: u64) {
        let before = self.left.load(Ordering::Relaxed);
        self.left
            .store(before.saturating_sub(bytes), Ordering::Relaxed);
        if before <= bytes {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// A sample, its plan in many shards, and the folder of a conversion that nothing interrupted.
struct Conversion {
    _source_dir: TempDir,
    source: Opened,
    plan: Plan,
    uninterrupted: TempDir,
}

impl Conversion {
    fn new() -> Self {
        let source_dir = tempfile::tempdir().unwrap();
        let options = SampleOptions {
            layers: 2,
            ..SampleOptions::default()
        };
        write_sample(source_dir.path(), &options).unwrap();
        let source = Opened::new(source_dir.path());
        let plan = source
            .plan_with(&builtin("deepseek-v4").unwrap(), 300_000)
            .unwrap();
        // Where a test stops, whole shards have to follow: the reader runs ahead within one.
        assert!(plan.shards.len() > 10, "{} shards", plan.shards.len());
        let uninterrupted = tempfile::tempdir().unwrap();
        source
            .convert(&plan, uninterrupted.path(), &small_jobs(Existing::Refuse))
            .unwrap();
        Self {
            _source_dir: source_dir,
            source,
            plan,
            uninterrupted,
        }
    }

    /// Converts into `out` until `bytes` are written.
    fn interrupt(&self, out: &Path, bytes: u64, existing: Existing) -> Result<(), ConvertError> {
        let stop = AtomicBool::new(bytes == 0);
        let progress = StopAfter {
            left: AtomicU64::new(bytes),
            stop: &stop,
        };
        let options = small_jobs(existing);
        convert(
            self.source.weights(),
            &self.plan,
            out,
            &options,
            &progress,
            &stop,
        )
        .map(drop)
    }

    fn resume(&self, out: &Path) -> Result<(), ConvertError> {
        self.source
            .convert(&self.plan, out, &small_jobs(Existing::Resume))
            .map(drop)
    }

    /// A folder with some shards finished and one begun.
    fn half_done(&self) -> TempDir {
        let out = tempfile::tempdir().unwrap();
        let half = self.plan.output_bytes() / 2;
        let error = self
            .interrupt(out.path(), half, Existing::Refuse)
            .unwrap_err();
        assert!(matches!(error, ConvertError::Interrupted), "{error}");
        out
    }
}

/// Little memory makes many jobs, and many points to stop at.
fn small_jobs(existing: Existing) -> ConvertOptions {
    ConvertOptions {
        max_memory: 4 << 20,
        existing,
        ..ConvertOptions::default()
    }
}

/// No shard is there that is not complete, and nothing says that the checkpoint is.
fn assert_unfinished(plan: &Plan, out: &Path) {
    let names = names(out);
    assert!(names.contains(&JOURNAL.to_owned()), "{names:?}");
    for name in [MANIFEST, "config.json", "model.safetensors.index.json"] {
        assert!(!names.contains(&name.to_owned()), "{names:?}");
    }
    for shard in plan
        .shards
        .iter()
        .filter(|shard| names.contains(&shard.name))
    {
        assert_eq!(
            fs::metadata(out.join(&shard.name)).unwrap().len(),
            shard.len
        );
    }
}

#[test]
fn stopped_anywhere_and_resumed_ends_in_the_same_bytes() {
    let conversion = Conversion::new();
    let total = conversion.plan.output_bytes();
    for eighth in 0..8 {
        let out = tempfile::tempdir().unwrap();
        let error = conversion
            .interrupt(out.path(), total * eighth / 8, Existing::Refuse)
            .unwrap_err();
        assert!(matches!(error, ConvertError::Interrupted), "{error}");
        assert_unfinished(&conversion.plan, out.path());
        conversion.resume(out.path()).unwrap();
        assert_same(conversion.uninterrupted.path(), out.path());
    }
}

#[test]
fn stopped_again_and_again_ends_in_the_same_bytes() {
    let conversion = Conversion::new();
    let out = tempfile::tempdir().unwrap();
    let step = conversion.plan.output_bytes() / 4;
    let mut existing = Existing::Refuse;
    let mut stops = 0;
    while let Err(error) = conversion.interrupt(out.path(), step, existing) {
        assert!(matches!(error, ConvertError::Interrupted), "{error}");
        existing = Existing::Resume;
        stops += 1;
        assert!(stops < 20, "no progress between stops");
    }
    assert!(stops >= 2, "stopped {stops} times");
    assert_same(conversion.uninterrupted.path(), out.path());
}

#[test]
fn journal_line_that_a_crash_cut_short_costs_one_shard() {
    let conversion = Conversion::new();
    let out = conversion.half_done();
    let journal = out.path().join(JOURNAL);
    let text = fs::read(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 10]).unwrap();
    conversion.resume(out.path()).unwrap();
    assert_same(conversion.uninterrupted.path(), out.path());
}

#[test]
fn finished_shards_are_not_written_again() {
    let conversion = Conversion::new();
    let out = conversion.half_done();
    let finished: Vec<_> = names(out.path())
        .into_iter()
        .filter(|name| name.ends_with(".safetensors"))
        .collect();
    let modified = |name: &String| {
        fs::metadata(out.path().join(name))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before: Vec<_> = finished.iter().map(modified).collect();
    assert!(!before.is_empty());
    conversion.resume(out.path()).unwrap();
    assert_eq!(finished.iter().map(modified).collect::<Vec<_>>(), before);
}

#[test]
fn finished_shard_of_another_length_is_refused() {
    let conversion = Conversion::new();
    let out = conversion.half_done();
    let shard = out.path().join(&conversion.plan.shards[0].name);
    fs::write(&shard, "cut").unwrap();
    let error = conversion.resume(out.path()).unwrap_err();
    assert!(
        matches!(error, ConvertError::ShardChanged { found: 3, .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains(&conversion.plan.shards[0].name),
        "{error}"
    );
    fs::remove_file(&shard).unwrap();
    conversion.resume(out.path()).unwrap();
    assert_same(conversion.uninterrupted.path(), out.path());
}

#[test]
fn journal_of_another_recipe_is_refused() {
    let mut conversion = Conversion::new();
    let out = conversion.half_done();
    let other = builtin("deepseek-v4-bf16").unwrap();
    let other = conversion.source.plan_with(&other, 300_000).unwrap();
    // The manifest names the recipe, so the name alone makes another conversion.
    let mut renamed = conversion.plan.clone();
    renamed.recipe.push_str(" of mine");
    for plan in [other, renamed] {
        conversion.plan = plan;
        let error = conversion.resume(out.path()).unwrap_err();
        assert!(
            matches!(error, ConvertError::OtherConversion { .. }),
            "{error}"
        );
    }
}

#[test]
fn journal_of_another_source_is_refused() {
    let conversion = Conversion::new();
    let out = conversion.half_done();
    let other = tempfile::tempdir().unwrap();
    let options = SampleOptions {
        layers: 2,
        seed: 1,
        ..SampleOptions::default()
    };
    write_sample(other.path(), &options).unwrap();
    let other = Opened::new(other.path());
    let error = other
        .convert(&conversion.plan, out.path(), &small_jobs(Existing::Resume))
        .unwrap_err();
    assert!(
        matches!(error, ConvertError::OtherConversion { .. }),
        "{error}"
    );
}

#[test]
fn journal_that_is_no_journal_is_refused_with_its_line() {
    let conversion = Conversion::new();
    let out = conversion.half_done();
    let journal = out.path().join(JOURNAL);
    let text = fs::read_to_string(&journal).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    fs::write(&journal, format!("{first}\nsomething else\n{rest}")).unwrap();
    let error = conversion.resume(out.path()).unwrap_err();
    assert!(
        matches!(error, ConvertError::BadJournal { line: 2, .. }),
        "{error}"
    );
}

#[test]
fn nothing_to_resume_is_said() {
    let conversion = Conversion::new();
    let out = tempfile::tempdir().unwrap();
    for folder in [out.path(), conversion.uninterrupted.path()] {
        let error = conversion.resume(folder).unwrap_err();
        assert!(
            matches!(error, ConvertError::NothingToResume { .. }),
            "{error}"
        );
    }
}
