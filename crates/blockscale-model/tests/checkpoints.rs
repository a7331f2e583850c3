//! Index and headers against each other: what is an error, what a finding, what is taken.

use std::collections::BTreeMap;

use blockscale_model::{
    Checkpoint, CheckpointError, CheckpointFiles, Dtype, Header, Index, NewTensor, ShardFile,
    ShardName, lay_out, write_index,
};

const INDEX: &str = "model.safetensors.index.json";

fn name(name: &str) -> ShardName {
    ShardName::new(name).unwrap()
}

/// A shard with U8 tensors of 4 bytes.
fn shard(file: &str, tensors: &[&str]) -> ShardFile {
    let tensors: Vec<_> = tensors
        .iter()
        .map(|&tensor| NewTensor {
            name: tensor.into(),
            dtype: Dtype::U8,
            shape: vec![2, 2],
        })
        .collect();
    let layout = lay_out(&tensors, &BTreeMap::new()).unwrap();
    let header = Header::parse(&layout.bytes[8..], layout.file_len).unwrap();
    ShardFile {
        name: name(file),
        len: layout.file_len,
        header,
    }
}

fn indexed(
    weight_map: &[(&str, &str)],
    total_size: u64,
    shards: Vec<ShardFile>,
) -> Result<Checkpoint, CheckpointError> {
    let weight_map = weight_map
        .iter()
        .map(|&(t, s)| (t.to_owned(), name(s)))
        .collect();
    let index = Index::parse(&write_index(&weight_map, total_size)).unwrap();
    let index = Some((INDEX.to_owned(), index));
    Checkpoint::assemble(CheckpointFiles {
        shards,
        index,
        ..CheckpointFiles::default()
    })
}

fn unindexed(shards: Vec<ShardFile>) -> Result<Checkpoint, CheckpointError> {
    Checkpoint::assemble(CheckpointFiles {
        shards,
        ..CheckpointFiles::default()
    })
}

fn codes(checkpoint: &Checkpoint) -> Vec<&'static str> {
    checkpoint
        .findings
        .iter()
        .map(|finding| finding.code)
        .collect()
}

#[test]
fn tensors_come_by_shard_and_in_the_order_of_their_data() {
    let shards = vec![shard("1", &["c", "b"]), shard("2", &["a"])];
    let checkpoint = indexed(&[("a", "2"), ("b", "1"), ("c", "1")], 12, shards).unwrap();
    let found: Vec<_> = checkpoint
        .tensors
        .iter()
        .map(|t| (t.name.as_str(), t.shard))
        .collect();
    assert_eq!(found, [("b", 0), ("c", 0), ("a", 1)]);
    assert_eq!(checkpoint.tensor("a").unwrap().bytes(), 4);
    assert_eq!(checkpoint.tensor("d"), None);
    assert_eq!(checkpoint.total_bytes(), 12);
    assert_eq!(checkpoint.findings, []);
}

#[test]
fn tensor_in_another_shard_than_listed_is_read_there() {
    let shards = vec![shard("1", &["a"]), shard("2", &["b", "c"])];
    let checkpoint = indexed(&[("a", "1"), ("b", "1"), ("c", "2")], 12, shards).unwrap();
    assert_eq!(checkpoint.tensor("b").unwrap().shard, 1);
    let [finding] = checkpoint.findings.as_slice() else {
        panic!("{:?}", checkpoint.findings)
    };
    assert_eq!(finding.code, "index-names-wrong-shard");
    assert_eq!(
        (finding.file.as_deref(), finding.tensor.as_deref()),
        (Some("2"), Some("b"))
    );
    assert!(finding.message.contains("`1`"), "{finding}");
}

#[test]
fn index_chooses_between_two_holders() {
    let shards = || vec![shard("1", &["a"]), shard("2", &["a"])];
    for (listed, id) in [("1", 0), ("2", 1)] {
        let checkpoint = indexed(&[("a", listed)], 4, shards()).unwrap();
        assert_eq!(checkpoint.tensor("a").unwrap().shard, id);
        assert_eq!(checkpoint.tensors.len(), 1);
        assert_eq!(codes(&checkpoint), ["tensor-in-two-shards"]);
    }
}

#[test]
fn nothing_chooses_between_two_holders_without_the_index() {
    let twice = |first: &str, second: &str| CheckpointError::TensorTwice {
        tensor: "a".to_owned(),
        first: name(first),
        second: name(second),
    };
    assert_eq!(
        unindexed(vec![shard("1", &["a"]), shard("2", &["a"])]).unwrap_err(),
        twice("1", "2")
    );

    // The index lists it in a third shard, or not at all.
    let shards = || vec![shard("1", &["a"]), shard("2", &["a"]), shard("3", &["b"])];
    assert_eq!(
        indexed(&[("a", "3"), ("b", "3")], 8, shards()).unwrap_err(),
        twice("1", "2")
    );
    assert_eq!(
        indexed(&[("b", "3")], 4, shards()).unwrap_err(),
        twice("1", "2")
    );
}

#[test]
fn thousands_of_omitted_tensors_are_one_finding() {
    let tensors: Vec<String> = (0..1000).map(|i| format!("t{i:04}.scale")).collect();
    let mut names: Vec<&str> = tensors.iter().map(String::as_str).collect();
    names.push("a");
    let checkpoint = indexed(&[("a", "1")], 4, vec![shard("1", &names)]).unwrap();
    assert_eq!(checkpoint.tensors.len(), 1001);
    let [finding] = checkpoint.findings.as_slice() else {
        panic!("{:?}", checkpoint.findings)
    };
    assert_eq!(finding.tensor.as_deref(), Some("t0000.scale"));
    assert!(finding.message.ends_with("and 997 more"), "{finding}");
}

#[test]
fn total_size_may_count_the_omitted_tensors() {
    for (stated, expected) in [(4, None), (8, None), (5, Some("index-total-size"))] {
        let checkpoint = indexed(&[("a", "1")], stated, vec![shard("1", &["a", "b"])]).unwrap();
        let mut codes = codes(&checkpoint);
        codes.retain(|&code| code != "index-omits-tensor");
        assert_eq!(codes, expected.into_iter().collect::<Vec<_>>(), "{stated}");
    }
}

#[test]
fn size_that_is_no_number_is_reported() {
    let json = br#"{"metadata": {"total_size": "many"}, "weight_map": {"a": "1"}}"#;
    let index = Some((INDEX.to_owned(), Index::parse(json).unwrap()));
    let shards = vec![shard("1", &["a"])];
    let files = CheckpointFiles {
        shards,
        index,
        ..CheckpointFiles::default()
    };
    let checkpoint = Checkpoint::assemble(files).unwrap();
    assert_eq!(codes(&checkpoint), ["index-total-size"]);
    assert!(checkpoint.findings[0].message.contains("\"many\""));
}

#[test]
fn set_without_an_index_is_read_when_it_is_whole() {
    let (first, second) = (
        "m-00001-of-00002.safetensors",
        "m-00002-of-00002.safetensors",
    );
    let whole = unindexed(vec![shard(first, &["a"]), shard(second, &["b"])]).unwrap();
    assert_eq!(whole.findings, []);
    let part = unindexed(vec![shard(first, &["a"])]).unwrap();
    assert_eq!(codes(&part), ["part-without-index"]);
}

#[test]
fn empty_or_doubled_input_is_refused() {
    assert_eq!(unindexed(vec![]).unwrap_err(), CheckpointError::NoShards);
    let doubled = unindexed(vec![shard("1", &["a"]), shard("1", &["b"])]);
    assert_eq!(
        doubled.unwrap_err(),
        CheckpointError::ShardTwice { shard: name("1") }
    );
}

#[test]
fn finding_is_one_line_for_people_and_an_object_for_programs() {
    let checkpoint = indexed(&[("a", "1")], 5, vec![shard("1", &["a"])]).unwrap();
    let finding = &checkpoint.findings[0];
    assert_eq!(
        finding.to_string(),
        format!(
            "warning[index-total-size]: `{INDEX}` states a total size of 5 bytes, but its tensors \
             have 4; the stated size is not used"
        )
    );
    let json = serde_json::to_value(finding).unwrap();
    assert_eq!(json["severity"], "warning");
    assert_eq!(json["file"], INDEX);
    assert_eq!(json.get("tensor"), None);
}
