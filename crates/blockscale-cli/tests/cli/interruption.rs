//! A conversion that is stopped leaves nothing wrong, and is finished to the same bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::process::{Finished, assert_same_files, convert, files, run, run_watched, sample};

pub(crate) const JOURNAL: &str = "blockscale-journal.jsonl";

/// Many small shards and small jobs, so that there is much to be stopped between.
const SMALL_STEPS: [&str; 4] = ["--shard-size", "384KiB", "--max-memory", "4MiB"];

/// A source, and its conversion that nothing stopped.
struct Case {
    dir: TempDir,
    source: PathBuf,
    whole: PathBuf,
    shards: usize,
}

impl Case {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let source = sample(dir.path(), 12);
        let whole = dir.path().join("whole");
        run(&mut stepwise(&source, &whole)).ok();
        let is_shard = |name: &&String| name.ends_with(".safetensors");
        let shards = files(&whole).keys().filter(is_shard).count();
        assert!(shards >= 20, "{shards}");
        Self {
            dir,
            source,
            whole,
            shards,
        }
    }

    /// Begins a conversion into the folder `name` and calls `stop` on it, `delay`
    /// after its journal has listed `shards`.
    fn stopped(
        &self,
        name: &str,
        shards: usize,
        delay: Duration,
        stop: fn(&mut Child),
    ) -> (PathBuf, Finished) {
        let output = self.dir.path().join(name);
        let mut due = None;
        let mut stopped = false;
        let finished = run_watched(&mut stepwise(&self.source, &output), |child| {
            if due.is_none() && finished_shards(&output) >= Some(shards) {
                due = Some(Instant::now() + delay);
            }
            if !stopped && due.is_some_and(|due| due <= Instant::now()) {
                stop(child);
                stopped = true;
            }
        });
        (output, finished)
    }

    /// Whatever has its final name is complete.
    fn assert_nothing_half_done(&self, output: &Path) {
        let whole = files(&self.whole);
        for (name, bytes) in files(output) {
            if name != JOURNAL && !name.ends_with(".partial") {
                assert!(
                    bytes == whole[&name],
                    "`{name}` has its name but not its content"
                );
            }
        }
    }

    fn resume(&self, output: &Path) {
        run(stepwise(&self.source, output).arg("--resume")).ok();
        assert_same_files(output, &self.whole);
    }
}

fn stepwise(source: &Path, output: &Path) -> Command {
    let mut command = convert(source, output);
    command.args(SMALL_STEPS);
    command
}

/// Shards that the journal lists; nothing before there is one.
fn finished_shards(output: &Path) -> Option<usize> {
    let journal = fs::read_to_string(output.join(JOURNAL)).ok()?;
    journal.matches('\n').count().checked_sub(1)
}

/// Numbers that are the same in every run (SplitMix64).
fn pseudo_random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) % below
}

/// Places at which a test interferes: ten, or as many as `cargo xtask stress` asks for.
pub(crate) fn points() -> usize {
    let asked = std::env::var("BLOCKSCALE_STRESS_POINTS").ok();
    asked.and_then(|points| points.parse().ok()).unwrap_or(10)
}

#[test]
fn killed_at_many_points_it_resumes_to_the_same_bytes() {
    let case = Case::new();
    let points = points();
    let mut state = 4;
    let mut midway = 0;
    for point in 0..points {
        let shards = pseudo_random(&mut state, case.shards as u64 * 3 / 4) as usize;
        let delay = Duration::from_micros(pseudo_random(&mut state, 8000));
        let kill = |child: &mut Child| child.kill().unwrap();
        let (output, killed) = case.stopped(&format!("killed-{point}"), shards, delay, kill);
        case.assert_nothing_half_done(&output);
        // The last shards may be written before the kill comes.
        if output.join(JOURNAL).exists() {
            assert_ne!(killed.code, Some(0));
            midway += 1;
            case.resume(&output);
        } else {
            assert_same_files(&output, &case.whole);
        }
        fs::remove_dir_all(output).unwrap();
    }
    assert!(
        midway * 10 >= points * 7,
        "only {midway} of {points} conversions were still going when they were killed"
    );
    eprintln!("kills: {points} conversions killed, {midway} midway, all resumed to the same bytes");
}

/// Interrupted again while it is stopping, it ends at once, and that is no worse than a crash.
#[test]
#[cfg(unix)]
fn a_second_interrupt_ends_it_at_once_and_it_resumes() {
    let case = Case::new();
    let twice = |child: &mut Child| {
        for _ in 0..2 {
            let id = child.id().to_string();
            let sent = Command::new("kill").args(["-INT", &id]).status();
            assert!(sent.is_ok());
        }
    };
    let (output, stopped) = case.stopped("twice", 2, Duration::ZERO, twice);
    assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    case.assert_nothing_half_done(&output);
    case.resume(&output);
}

#[test]
#[cfg(unix)]
fn an_interrupt_exits_with_130_and_says_how_to_go_on() {
    let case = Case::new();
    let interrupt = |child: &mut Child| {
        let sent = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    };
    let (output, stopped) = case.stopped("interrupted", 2, Duration::ZERO, interrupt);
    assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    assert!(stopped.stderr.contains("--resume"), "{}", stopped.stderr);
    assert!(finished_shards(&output) >= Some(2));
    case.assert_nothing_half_done(&output);
    case.resume(&output);
}
