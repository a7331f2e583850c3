//! The output does not depend on how much memory or how many threads it was made with.

use std::path::Path;

use blockscale_convert::sample::{SampleOptions, write_sample};
use blockscale_convert::{ConvertError, ConvertOptions, peak_memory};
use blockscale_model::plan::Plan;
use blockscale_model::recipe::{Recipe, Target, builtin};

use crate::checkpoint::{NewTensor, write_sharded};
use crate::files::{assert_same, names};
use crate::run::{Opened, to};

fn limited(max_memory: u64) -> ConvertOptions {
    ConvertOptions {
        max_memory,
        ..ConvertOptions::default()
    }
}

/// The smallest limit that the plan accepts, by asking as the messages advise.
fn smallest_limit(source: &Opened, plan: &Plan) -> u64 {
    let mut limit = 1;
    loop {
        match peak_memory(source.weights(), plan, limit) {
            Ok(_) => return limit,
            Err(ConvertError::Memory { needed, .. }) if needed > limit => limit = needed,
            Err(error) => panic!("{error}"),
        }
    }
}

fn write_noise(dir: &Path) {
    let shards = [
        vec![
            NewTensor::noise("a.q_proj.weight", &[300, 256]),
            NewTensor::noise("stack.weight", &[3, 140, 64]),
        ],
        vec![
            NewTensor::noise("a.k_proj.weight", &[200, 256]),
            NewTensor::noise("a.v_proj.weight", &[1, 256]),
            NewTensor::noise("norm.weight", &[64]),
        ],
    ];
    write_sharded(dir, &shards);
}

#[test]
fn output_is_the_same_under_every_memory_limit() {
    let dir = tempfile::tempdir().unwrap();
    write_noise(dir.path());
    let source = Opened::new(dir.path());
    for target in Target::CONVERSIONS {
        let plan = source.plan(&to(target));
        let smallest = smallest_limit(&source, &plan);
        let reference = tempfile::tempdir().unwrap();
        source
            .convert(&plan, reference.path(), &limited(1 << 30))
            .unwrap();
        for limit in [smallest, 64 << 10, 1 << 20, 5 << 20] {
            if limit < smallest {
                continue;
            }
            let peak = peak_memory(source.weights(), &plan, limit).unwrap();
            assert!(peak <= limit.max(32 << 10), "{peak} bytes under {limit}");
            let out = tempfile::tempdir().unwrap();
            source.convert(&plan, out.path(), &limited(limit)).unwrap();
            assert_same(reference.path(), out.path());
        }
    }
}

#[test]
fn limit_below_one_row_of_blocks_is_an_error_that_says_what_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    write_noise(dir.path());
    let source = Opened::new(dir.path());
    let plan = source.plan(&to(Target::Fp8Block));
    let smallest = smallest_limit(&source, &plan);
    let out = dir.path().join("out");
    let error = source
        .convert(&plan, &out, &limited(smallest - 1))
        .unwrap_err();
    let ConvertError::Memory {
        tensor,
        needed,
        limit,
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!((needed, limit), (&smallest, &(smallest - 1)));
    assert!(
        error.to_string().contains(&format!("`{tensor}`")),
        "{error}"
    );
    assert!(!out.exists(), "nothing is begun that cannot be finished");
}

#[test]
fn whole_model_is_the_same_under_a_small_limit_and_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let options = SampleOptions {
        layers: 3,
        ..SampleOptions::default()
    };
    write_sample(dir.path(), &options).unwrap();
    let source = Opened::new(dir.path());
    for recipe in ["deepseek-v4", "deepseek-v4-bf16"] {
        let plan = plan_in_shards(&source, &builtin(recipe).unwrap());
        assert!(plan.shards.len() > 3, "{} shards", plan.shards.len());
        let reference = tempfile::tempdir().unwrap();
        source
            .convert(&plan, reference.path(), &limited(1 << 30))
            .unwrap();
        assert!(names(reference.path()).contains(&"model.safetensors.index.json".to_owned()));
        for (threads, limit) in [
            (1, 1 << 30),
            (3, 1 << 22),
            (8, smallest_limit(&source, &plan)),
        ] {
            let out = tempfile::tempdir().unwrap();
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| source.convert(&plan, out.path(), &limited(limit)))
                .unwrap();
            assert_same(reference.path(), out.path());
        }
    }
}

fn plan_in_shards(source: &Opened, recipe: &Recipe) -> Plan {
    source
        .plan_with(recipe, 500_000)
        .unwrap_or_else(|error| panic!("{error}"))
}
