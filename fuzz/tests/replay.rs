//! Every seed, every former finding and thousands of mutations of them, without a fuzzer.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use blockscale_fuzz::{Mutator, TARGETS, Target, seeds};

/// Mutations a target.
const ROUNDS: u64 = 400;

/// Runs an input; one that panics is kept in a file, so that it can become test data.
fn run(target: &Target, input: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_ok() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("finding-{}", target.name));
    let kept = match fs::write(&path, input) {
        Ok(()) => path.display().to_string(),
        Err(error) => format!("nowhere, {error}"),
    };
    panic!(
        "`{}` failed on {} bytes, kept in {kept}",
        target.name,
        input.len()
    );
}

#[test]
fn former_findings_stay_mended() {
    for target in TARGETS {
        for (_, input) in seeds::findings(target) {
            run(target, &input);
        }
    }
}

#[test]
fn seeds_and_their_mutations_are_survived() {
    for target in TARGETS {
        let corpus = (target.seeds)();
        for seed in &corpus {
            run(target, seed);
        }
        let mut mutator = Mutator::new(8);
        for _ in 0..ROUNDS {
            run(target, &mutator.next(&corpus));
        }
    }
}

#[test]
fn targets_that_read_files_have_seeds_and_all_have_names_of_their_own() {
    use blockscale_fuzz::Reads;
    for target in TARGETS {
        assert_eq!(
            (target.seeds)().is_empty(),
            target.reads == Reads::Choices,
            "{}",
            target.name
        );
        assert_eq!(
            blockscale_fuzz::named(target.name).map(|t| t.name),
            Some(target.name)
        );
        let same = TARGETS.iter().filter(|other| other.name == target.name);
        assert_eq!(same.count(), 1, "{}", target.name);
    }
}
