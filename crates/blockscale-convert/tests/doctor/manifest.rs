//! Files that were changed after a conversion.

use std::fs;

use blockscale_convert::doctor::{Scope, check_manifest};
use blockscale_convert::sample::SampleDialect;
use blockscale_model::plan::PlanOptions;
use blockscale_model::recipe::{Target, generic};

use crate::opened::{Opened, sample};

#[test]
fn a_changed_byte_is_found_by_its_hash_and_a_changed_length_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (source, out) = (dir.path().join("source"), dir.path().join("out"));
    sample(&source, SampleDialect::Hf);
    let recipe = generic(Target::Bf16, Vec::new(), Vec::new());
    Opened::new(&source).convert(&recipe, &PlanOptions::default(), &out);
    let codes = |scope| {
        let opened = Opened::new(&out);
        let found = check_manifest(&opened.checkpoint, &opened.source, scope).unwrap();
        found.iter().map(|d| d.rule.code).collect::<Vec<_>>()
    };
    let sampled = Scope::Sample { seed: 0 };
    assert_eq!(codes(Scope::Full), [""; 0]);

    let shard = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "safetensors"))
        .unwrap();
    let mut bytes = fs::read(&shard).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&shard, &bytes).unwrap();
    assert_eq!(codes(sampled), [""; 0]);
    assert_eq!(codes(Scope::Full), ["BS010"]);

    let manifest = out.join("blockscale-manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let text = text.replace(&format!("\"len\": {}", bytes.len()), "\"len\": 1");
    fs::write(&manifest, text).unwrap();
    assert_eq!(codes(sampled), ["BS010"]);
}
