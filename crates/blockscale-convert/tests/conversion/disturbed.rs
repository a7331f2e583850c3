//! What others do to the folders while a conversion goes on, and clocks that are wrong.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use blockscale_convert::source::SourceError;
use blockscale_convert::{ConvertError, ConvertOptions, Existing, FailureKind, Progress, convert};
use blockscale_model::plan::Plan;
use blockscale_model::recipe::Target;
use tempfile::TempDir;

use crate::checkpoint::{NewTensor, write_sharded};
use crate::files::{assert_same, contents, names};
use crate::run::{Opened, to};

/// Does something once, when the first bytes are written.
struct Meanwhile<F> {
    action: F,
    done: AtomicBool,
}

impl<F: Fn() + Sync> Progress for Meanwhile<F> {
    fn advance(&self, _bytes: u64) {
        if !self.done.swap(true, Ordering::Relaxed) {
            (self.action)();
        }
    }
}

/// A source of three shards, the plan of its conversion, and what comes of it undisturbed.
struct Case {
    dir: TempDir,
    plan: Plan,
    whole: TempDir,
}

impl Case {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let shards: Vec<_> = ["a", "b", "c"]
            .map(|module| vec![NewTensor::noise(&format!("{module}.weight"), &[64, 64])])
            .into();
        write_sharded(dir.path(), &shards);
        let source = Opened::new(dir.path());
        let plan = source.plan_with(&to(Target::F16), 1 << 13).unwrap();
        let whole = tempfile::tempdir().unwrap();
        source
            .convert(&plan, whole.path(), &ConvertOptions::default())
            .unwrap();
        Self { dir, plan, whole }
    }

    fn shard(&self) -> PathBuf {
        self.dir.path().join("model-00002-of-00003.safetensors")
    }

    /// Converts with an action in between.
    fn convert_while(
        &self,
        out: &Path,
        existing: Existing,
        action: impl Fn() + Sync,
    ) -> Result<(), ConvertError> {
        let source = Opened::new(self.dir.path());
        let progress = Meanwhile {
            action,
            done: AtomicBool::new(false),
        };
        let stop = AtomicBool::new(false);
        let options = ConvertOptions {
            existing,
            ..ConvertOptions::default()
        };
        convert(
            source.weights(),
            &self.plan,
            out,
            &options,
            &progress,
            &stop,
        )
        .map(drop)
    }

    fn convert(&self, out: &Path, existing: Existing) -> Result<(), ConvertError> {
        self.convert_while(out, existing, || ())
    }
}

#[test]
fn a_second_conversion_into_the_folder_is_refused_and_the_first_undisturbed() {
    let case = Case::new();
    let out = tempfile::tempdir().unwrap();
    let refusals = std::sync::Mutex::new(Vec::new());
    case.convert_while(out.path(), Existing::Refuse, || {
        let again = [Existing::Refuse, Existing::Resume, Existing::Overwrite]
            .map(|existing| case.convert(out.path(), existing).unwrap_err());
        refusals.lock().unwrap().extend(again);
    })
    .unwrap();
    let refusals = refusals.into_inner().unwrap();
    assert!(matches!(refusals[0], ConvertError::NotEmpty { .. }));
    for refusal in &refusals[1..] {
        assert!(matches!(refusal, ConvertError::InUse { .. }), "{refusal}");
        assert_eq!(refusal.kind(), FailureKind::Usage);
        let text = refusal.to_string();
        assert!(text.contains(&out.path().display().to_string()), "{text}");
    }
    assert_same(case.whole.path(), out.path());
}

#[test]
fn a_source_that_is_written_to_meanwhile_is_an_error_and_no_shard_of_two_halves() {
    let case = Case::new();
    let out = tempfile::tempdir().unwrap();
    let error = case
        .convert_while(out.path(), Existing::Refuse, || {
            let later = SystemTime::now() + Duration::from_secs(3);
            let file = File::options().write(true).open(case.shard()).unwrap();
            file.set_modified(later).unwrap();
        })
        .unwrap_err();
    let ConvertError::Source(SourceError::Changed { path }) = &error else {
        panic!("{error}");
    };
    assert_eq!(path.file_name(), case.shard().file_name());
    assert!(
        names(out.path())
            .iter()
            .all(|name| !name.ends_with(".safetensors"))
    );

    // What was begun with the old source does not go on with the new one.
    let error = case.convert(out.path(), Existing::Resume).unwrap_err();
    assert!(
        matches!(error, ConvertError::OtherConversion { .. }),
        "{error}"
    );
    case.convert(out.path(), Existing::Overwrite).unwrap();
}

#[test]
fn a_source_that_is_cut_meanwhile_is_an_error() {
    let case = Case::new();
    let out = tempfile::tempdir().unwrap();
    let error = case
        .convert_while(out.path(), Existing::Refuse, || {
            let file = File::options().write(true).open(case.shard()).unwrap();
            file.set_len(300).unwrap();
        })
        .unwrap_err();
    let shortened = matches!(
        error,
        ConvertError::Source(SourceError::Changed { .. } | SourceError::Shortened { .. })
    );
    assert!(shortened, "{error}");
    assert!(
        error.to_string().contains("model-00002-of-00003"),
        "{error}"
    );
}

#[test]
fn a_source_that_is_replaced_meanwhile_is_read_as_it_was() {
    let case = Case::new();
    let out = tempfile::tempdir().unwrap();
    case.convert_while(out.path(), Existing::Refuse, || {
        let other = case.dir.path().join("other");
        fs::write(&other, "something else").unwrap();
        fs::rename(&other, case.shard()).unwrap();
    })
    .unwrap();
    assert_same(case.whole.path(), out.path());
}

#[test]
fn a_name_that_cannot_be_given_is_an_error_and_is_given_by_resuming() {
    let case = Case::new();
    let out = tempfile::tempdir().unwrap();
    let before = contents(case.dir.path());
    // A folder in the way fails a rename as a full disk may: after all bytes are written.
    let in_the_way = out.path().join("model-00002-of-00003.safetensors");
    let error = case
        .convert_while(out.path(), Existing::Refuse, || {
            fs::create_dir(&in_the_way).unwrap();
        })
        .unwrap_err();
    let ConvertError::Write { path, action, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((path, *action), (&in_the_way, "rename into"));
    assert_eq!(contents(case.dir.path()), before);

    fs::remove_dir(&in_the_way).unwrap();
    case.convert(out.path(), Existing::Resume).unwrap();
    assert_same(case.whole.path(), out.path());
}

#[test]
fn a_link_under_a_temporary_name_is_not_written_through() {
    let case = Case::new();
    let out = tempfile::tempdir().unwrap();
    let precious = case.dir.path().join("precious");
    fs::write(&precious, "mine").unwrap();
    let result = case.convert_while(out.path(), Existing::Refuse, || {
        for name in ["model-00003-of-00003.safetensors", "config.json"] {
            let link = out.path().join(format!(".{name}.partial"));
            fs::hard_link(&precious, link).unwrap();
        }
    });
    result.unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
}

#[test]
fn a_journal_that_a_crash_left_empty_begins_anew() {
    let case = Case::new();
    for torn in ["", "{\"conversion\":{\"finger"] {
        let out = tempfile::tempdir().unwrap();
        fs::write(out.path().join("blockscale-journal.jsonl"), torn).unwrap();
        case.convert(out.path(), Existing::Resume).unwrap();
        assert_same(case.whole.path(), out.path());

        // Beside an older checkpoint it says nothing of what that is.
        fs::write(out.path().join("blockscale-journal.jsonl"), torn).unwrap();
        let error = case.convert(out.path(), Existing::Resume).unwrap_err();
        assert!(
            matches!(error, ConvertError::OtherConversion { .. }),
            "{error}"
        );
        case.convert(out.path(), Existing::Overwrite).unwrap();
        assert_same(case.whole.path(), out.path());
    }
}

#[test]
fn wrong_clocks_change_nothing() {
    let year = Duration::from_secs(365 * 24 * 3600);
    for time in [
        SystemTime::UNIX_EPOCH - 10 * year,
        SystemTime::UNIX_EPOCH,
        SystemTime::now() + 100 * year,
    ] {
        let case = Case::new();
        let file = File::options().write(true).open(case.shard()).unwrap();
        if file.set_modified(time).is_err() {
            continue; // The file system has no such time.
        }
        drop(file);
        let whole = tempfile::tempdir().unwrap();
        case.convert(whole.path(), Existing::Refuse).unwrap();

        let out = tempfile::tempdir().unwrap();
        let in_the_way = out.path().join("model-00002-of-00003.safetensors");
        case.convert_while(out.path(), Existing::Refuse, || {
            fs::create_dir(&in_the_way).unwrap();
        })
        .unwrap_err();
        fs::remove_dir(&in_the_way).unwrap();
        case.convert(out.path(), Existing::Resume).unwrap();
        assert_same(whole.path(), out.path());
    }
}
