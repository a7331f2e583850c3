//! What is asked for, in which order, and what is refused.

use blockscale_model::opening::{ListedFile, Opening, OpeningError};

use crate::files::{Files, bytes, folder, list, open};

fn listed(names: &[&str]) -> Vec<ListedFile> {
    let file = |name: &&str| ListedFile {
        name: (*name).to_owned(),
        len: 100,
    };
    names.iter().map(file).collect()
}

fn wanted(opening: &Opening) -> Vec<String> {
    opening.wants().into_iter().map(|want| want.file).collect()
}

#[test]
fn an_index_is_read_before_the_shards_that_it_lists() {
    let files = folder("dsv4-nvfp4");
    let index = "model.safetensors.index.json";
    assert!(files.contains_key(index));
    let mut opening = Opening::of(list(&files)).unwrap();
    assert!(wanted(&opening).iter().all(|name| name.ends_with(".json")));
    for want in opening.wants() {
        let bytes = bytes(&files, &want.file, &want.range);
        opening.give(&want.file, want.range.start, bytes).unwrap();
    }
    let wants = opening.wants();
    assert!(!wants.is_empty());
    assert!(
        wants
            .iter()
            .all(|want| want.file.ends_with(".safetensors") && want.range == (0..8))
    );
}

#[test]
fn more_bytes_than_were_asked_for_save_a_step() {
    for name in ["dsv4-nvfp4", "modelopt-nvfp4-llama", "torchao"] {
        let files = folder(name);
        let [one, all] = [0, 1 << 20].map(|extra| open(&files, extra).unwrap());
        assert_eq!(one.tensors, all.tensors, "{name}");
        assert_eq!(one.config, all.config, "{name}");
        assert!(one.config.is_some() && one.total_bytes() > 0, "{name}");
    }
}

#[test]
fn less_or_other_bytes_than_were_asked_for_are_refused() {
    let mut opening = Opening::of(listed(&["model.safetensors"])).unwrap();
    for (start, len) in [(0, 7), (1, 8), (8, 8)] {
        let error = opening.give("model.safetensors", start, &vec![0; len]);
        assert!(
            matches!(error, Err(OpeningError::OtherBytes { .. })),
            "{start}"
        );
    }
    let error = opening.give("other.safetensors", 0, &[0; 8]);
    assert!(matches!(error, Err(OpeningError::NotWanted { .. })));
    assert!(matches!(opening.finish(), Err(OpeningError::Unread { .. })));
}

#[test]
fn the_usual_name_wins_and_nothing_is_chosen_among_equals() {
    let first = |names: &[&str]| Opening::of(listed(names)).map(|opening| wanted(&opening));
    let usual = first(&["a.safetensors", "model.safetensors"]).unwrap();
    assert_eq!(usual, ["model.safetensors"]);
    assert_eq!(first(&["m.gguf", "README.md"]).unwrap(), ["m.gguf"]);
    let several = first(&["a.safetensors", "b.safetensors"]).unwrap_err();
    assert_eq!(
        several.to_string(),
        "several files could be meant: `a.safetensors`, `b.safetensors`; open one of them, or add the index"
    );
    for nothing in [&[][..], &["config.json"], &["sub/model.safetensors"]] {
        assert!(matches!(first(nothing), Err(OpeningError::NothingThere)));
    }
}

#[test]
fn a_header_that_is_cut_is_an_error_with_the_files_name() {
    let mut files = Files::new();
    files.insert(
        "model.safetensors".to_owned(),
        vec![200, 0, 0, 0, 0, 0, 0, 0, 1],
    );
    let error = open(&files, 0).unwrap_err().to_string();
    assert!(error.starts_with("`model.safetensors`: "), "{error}");
    files.insert("model.safetensors".to_owned(), Vec::new());
    assert!(matches!(open(&files, 0), Err(OpeningError::Header { .. })));
}

#[test]
fn a_shard_of_the_index_that_is_not_there_is_named() {
    let mut files = folder("dsv4-nvfp4");
    let shard = files.keys().find(|name| name.ends_with(".safetensors"));
    let shard = shard.unwrap().clone();
    files.remove(&shard);
    let error = open(&files, 0).unwrap_err().to_string();
    assert!(error.contains(&shard), "{error}");
}

#[test]
fn a_config_that_is_no_json_is_refused_by_name() {
    let mut files = folder("modelopt-nvfp4-llama");
    for broken in [&b""[..], b"{"] {
        files.insert("config.json".to_owned(), broken.to_vec());
        let error = open(&files, 0).unwrap_err().to_string();
        assert!(error.starts_with("`config.json` is not JSON"), "{error}");
    }
}

#[test]
fn a_gguf_file_is_read_from_its_start_until_its_header_ends() {
    let path = "../../tests/data/gguf/small.gguf";
    let file = std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let files = Files::from([("small.gguf".to_owned(), file)]);
    let opening = Opening::of(list(&files)).unwrap();
    let wants = opening.wants();
    assert_eq!((wants.len(), wants[0].range.start), (1, 0));
    let checkpoint = open(&files, 0).unwrap();
    assert!(checkpoint.gguf.is_some());
    assert!(!checkpoint.tensors.is_empty());
}
