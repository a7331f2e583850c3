//! Rules of indexes and of the shard names in them.

use std::collections::BTreeMap;

use blockscale_model::{Index, IndexError, MAX_NAME_BYTES, ShardName, ShardNameFault, write_index};
use proptest::collection::btree_map;
use proptest::prelude::*;

fn refusal(json: &str) -> IndexError {
    Index::parse(json.as_bytes()).unwrap_err()
}

#[test]
fn order_of_the_file_is_kept() {
    let json = br#"{"weight_map": {"z": "1.safetensors", "a": "2.safetensors"}}"#;
    let index = Index::parse(json).unwrap();
    let names: Vec<_> = index
        .weight_map
        .iter()
        .map(|(tensor, _)| tensor.as_str())
        .collect();
    assert_eq!(names, ["z", "a"]);
    assert_eq!(index.total_size, None);
}

#[test]
fn total_size_may_be_written_as_a_float() {
    for (text, expected) in [
        ("16", Some(16)),
        ("16.0", Some(16)),
        ("1e9", Some(1_000_000_000)),
        ("16.5", None),
        ("-16", None),
        ("\"16\"", None),
    ] {
        let json = format!(r#"{{"metadata": {{"total_size": {text}}}, "weight_map": {{}}}}"#);
        assert_eq!(
            Index::parse(json.as_bytes()).unwrap().total_size,
            expected,
            "{text}"
        );
    }
}

#[test]
fn tensor_listed_twice_is_refused() {
    let json = r#"{"weight_map": {"a": "1.safetensors", "a": "2.safetensors"}}"#;
    assert!(matches!(refusal(json), IndexError::DuplicateName { name } if name == "a"));
    let json = r#"{"weight_map": {}, "weight_map": {}}"#;
    assert!(matches!(refusal(json), IndexError::DuplicateName { name } if name == "weight_map"));
}

#[test]
fn what_is_no_index_is_refused() {
    assert!(matches!(refusal("[]"), IndexError::NotJson(_)));
    assert!(matches!(refusal("{"), IndexError::NotJson(_)));
    assert!(matches!(refusal("{}"), IndexError::NoWeightMap));
    assert!(matches!(
        refusal(r#"{"weight_map": []}"#),
        IndexError::NoWeightMap
    ));
    let error = refusal(r#"{"metadata": 1, "weight_map": {}}"#);
    assert!(matches!(error, IndexError::BadMetadata { .. }));
    let error = refusal(r#"{"weight_map": {"a": 1}}"#);
    assert!(matches!(error, IndexError::ShardNotText { tensor, .. } if tensor == "a"));
}

#[test]
fn shard_names_cannot_leave_the_folder() {
    use ShardNameFault::*;
    for (name, fault) in [
        ("", Empty),
        ("a\0.safetensors", Nul),
        (r"..\a", Backslash),
        (r"C:\a", Backslash),
        ("C:a", Colon),
        ("a:stream", Colon),
        ("/a", Absolute),
        ("//host/a", Absolute),
        ("..", Parent),
        ("a/../../b", Parent),
        ("a/..", Parent),
        ("a//b", EmptyPart),
        ("a/", EmptyPart),
        ("./a", EmptyPart),
    ] {
        assert_eq!(ShardName::new(name).unwrap_err().fault, fault, "{name:?}");
    }
    for name in ["a", "..a", "a..b/c.safetensors", "sub/part.safetensors"] {
        assert_eq!(ShardName::new(name).unwrap().as_str(), name);
    }
}

#[test]
fn part_of_a_set_is_read_from_the_name() {
    for (name, part) in [
        ("model-00002-of-00163.safetensors", Some((2, 163))),
        ("sub/model-1-of-2.safetensors", Some((1, 2))),
        ("00001-of-00002.safetensors", Some((1, 2))),
        ("model.safetensors", None),
        ("model-one-of-two.safetensors", None),
        ("model-00001-of-00002.bin", None),
    ] {
        assert_eq!(ShardName::new(name).unwrap().part(), part, "{name}");
    }
}

proptest! {
    #[test]
    fn written_index_is_read_back(
        weight_map in btree_map(".{0,12}", "[a-z]{1,4}(/[a-z]{1,4})?", 0..8),
        total_size in any::<u64>(),
    ) {
        let weight_map: BTreeMap<String, ShardName> = weight_map
            .into_iter()
            .map(|(tensor, shard)| (tensor, ShardName::new(&shard).unwrap()))
            .collect();
        let index = Index::parse(&write_index(&weight_map, total_size)).unwrap();
        prop_assert_eq!(index.total_size, Some(total_size));
        prop_assert_eq!(index.weight_map, weight_map.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn accepted_name_joined_to_a_folder_stays_inside(name in r#"[a./\\:]{0,10}"#) {
        if let Ok(name) = ShardName::new(&name) {
            let mut depth = 0;
            for part in std::path::Path::new(name.as_str()).components() {
                prop_assert!(matches!(part, std::path::Component::Normal(_)), "{part:?}");
                depth += 1;
            }
            prop_assert!(depth > 0);
        }
    }
}

#[test]
fn index_is_written_as_hugging_face_writes_it() {
    let shard = ShardName::new("model-00001-of-00001.safetensors").unwrap();
    let weight_map = BTreeMap::from([("b".to_owned(), shard.clone()), ("a".to_owned(), shard)]);
    let expected = r#"{
  "metadata": {
    "total_size": 8
  },
  "weight_map": {
    "a": "model-00001-of-00001.safetensors",
    "b": "model-00001-of-00001.safetensors"
  }
}
"#;
    assert_eq!(
        String::from_utf8(write_index(&weight_map, 8)).unwrap(),
        expected
    );
}

#[test]
fn names_of_any_length_are_refused_by_their_start() {
    let longest = "n".repeat(MAX_NAME_BYTES);
    let index = |tensor: &str, shard: &str| format!(r#"{{"weight_map":{{"{tensor}":"{shard}"}}}}"#);
    assert!(Index::parse(index(&longest, &"s".repeat(255)).as_bytes()).is_ok());

    let error = refusal(&index(&format!("{longest}n"), "s"));
    assert!(matches!(error, IndexError::NameTooLong { .. }), "{error}");
    let IndexError::ShardName { source, .. } = refusal(&index("a", &"s".repeat(256))) else {
        panic!("a name that no file system holds was taken");
    };
    assert_eq!(source.fault, ShardNameFault::TooLong);
    assert!(source.to_string().len() < 200, "{source}");
}

#[test]
fn nesting_of_any_depth_is_refused_and_not_followed() {
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let error = refusal(&format!(
        r#"{{"metadata":{{"a":{nested}}},"weight_map":{{}}}}"#
    ));
    assert!(matches!(error, IndexError::BadMetadata { .. }), "{error}");
    let error = refusal(&format!(r#"{{"weight_map":{{"a":{nested}}}}}"#));
    assert!(error.to_string().len() < 200, "{error}");
}
