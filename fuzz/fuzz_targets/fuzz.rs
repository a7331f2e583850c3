//! The program that libFuzzer drives: one target, named by a variable, so that all share one build.

#![no_main]

use std::sync::LazyLock;

use blockscale_fuzz::{TARGETS, Target, named};

/// Names the target.
const VARIABLE: &str = "BLOCKSCALE_FUZZ";

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var(VARIABLE).unwrap_or_default();
    named(&name).unwrap_or_else(|| {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        panic!("{VARIABLE}=`{name}` names no target; there are {names:?}")
    })
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    (TARGET.run)(data);
});
