//! Header rules that no case from the field covers.

use std::collections::BTreeMap;

use blockscale_model::{
    Dtype, Header, HeaderError, MAX_AXES, MAX_HEADER_BYTES, MAX_NAME_BYTES, MAX_TENSORS, NewTensor,
    lay_out, tensor_bytes,
};

/// Parses a header in a file with that many bytes of data.
fn parse(json: &str, data_len: u64) -> Result<Header, HeaderError> {
    Header::parse(json.as_bytes(), 8 + json.len() as u64 + data_len)
}

fn refusal(json: &str, data_len: u64) -> String {
    parse(json, data_len).unwrap_err().to_string()
}

fn new(name: &str, dtype: Dtype, shape: &[usize]) -> NewTensor {
    NewTensor {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
    }
}

#[test]
fn fault_in_an_entry_names_tensor_and_field() {
    for (json, text) in [
        (r#"{"a":3}"#, "tensor `a`: its entry is not an object"),
        (
            r#"{"a":{"shape":[1],"data_offsets":[0,1]}}"#,
            "tensor `a`: field `dtype` is missing",
        ),
        (
            r#"{"a":{"dtype":"U8","data_offsets":[0,1]}}"#,
            "tensor `a`: field `shape` is missing",
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[1]}}"#,
            "tensor `a`: field `data_offsets` is missing",
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}}"#,
            "tensor `a`: field `shape` occurs twice",
        ),
        (
            r#"{"a":{"dtype":8,"shape":[1],"data_offsets":[0,1]}}"#,
            "tensor `a`: unknown dtype 8",
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}}"#,
            "tensor `a`: bad shape [1.5], expected a list of whole numbers from 0 up",
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}"#,
            "tensor `a`: bad offsets [0,1,2], expected two whole numbers from 0 up",
        ),
        (
            r#"{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}"#,
            "tensor `a`: 3 elements of F4 do not fill whole bytes",
        ),
    ] {
        assert_eq!(refusal(json, 1), text);
    }
}

#[test]
fn fault_in_the_metadata_names_the_key() {
    for (json, text) in [
        (r#"{"__metadata__":[]}"#, "`__metadata__` is not an object"),
        (
            r#"{"__metadata__":{"k":"1","k":"1"}}"#,
            "name occurs twice in `__metadata__`: `k`",
        ),
        (
            r#"{"__metadata__":{"k":null}}"#,
            "metadata value is not a string: `k` is null",
        ),
        (
            r#"{"__metadata__":{},"__metadata__":{}}"#,
            "name occurs twice: `__metadata__`",
        ),
    ] {
        assert_eq!(refusal(json, 0), text);
    }
}

#[test]
fn metadata_are_kept() {
    let header = parse(r#"{"__metadata__":{"format":"pt"}}"#, 0).unwrap();
    assert_eq!(header.metadata["format"], "pt");
    assert_eq!(
        parse(r#"{"__metadata__":null}"#, 0).unwrap().metadata,
        BTreeMap::new()
    );
}

#[test]
fn long_text_of_a_file_is_cut_in_messages() {
    let dtype = "é".repeat(1000);
    let json = format!(r#"{{"a":{{"dtype":"{dtype}","shape":[1],"data_offsets":[0,1]}}}}"#);
    assert!(refusal(&json, 1).len() < 200);
}

#[test]
fn data_before_the_first_tensor_is_a_hole() {
    let json = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#;
    assert_eq!(refusal(json, 3), "unused bytes before tensor `a`: 2");
}

#[test]
fn empty_tensor_inside_another_is_an_overlap() {
    let json = r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                   "e":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}}"#;
    let text = "ranges overlap: tensors `a` and `e` share bytes from 2";
    assert_eq!(refusal(json, 4), text);
}

#[test]
fn data_without_a_tensor_are_trailing() {
    assert_eq!(refusal("{}", 2), "2 bytes after the last tensor");
}

#[test]
fn first_cut_tensor_is_named() {
    let json = r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                   "b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]},
                   "c":{"dtype":"U8","shape":[4],"data_offsets":[8,12]}}"#;
    match parse(json, 6).unwrap_err() {
        HeaderError::EndsEarly {
            tensor,
            expected,
            found,
        } => {
            assert_eq!((tensor.as_str(), expected, found), ("b", 12, 6));
        }
        error => panic!("{error}"),
    }
}

#[test]
fn offsets_beyond_4_gib_are_kept() {
    let json = r#"{"filler":{"dtype":"U8","shape":[5368709120],"data_offsets":[0,5368709120]},
                   "a":{"dtype":"U8","shape":[2],"data_offsets":[5368709120,5368709122]}}"#;
    let header = parse(json, 5_368_709_122).unwrap();
    let start = 8 + json.len() as u64 + 5_368_709_120;
    assert_eq!(header.tensors[1].range, start..start + 2);
}

#[test]
fn offsets_at_the_end_of_64_bits_do_not_wrap() {
    let json = r#"{"a":{"dtype":"U8","shape":[18446744073709551615],
                   "data_offsets":[0,18446744073709551615]}}"#;
    assert!(matches!(
        parse(json, 1),
        Err(HeaderError::SizeOverflows { .. })
    ));
}

#[test]
fn size_counts_bits_and_is_checked() {
    assert_eq!(tensor_bytes(Dtype::F6_E2M3, &[4, 5]), Some(15));
    assert_eq!(tensor_bytes(Dtype::F6_E2M3, &[5]), None);
    assert_eq!(tensor_bytes(Dtype::F64, &[usize::MAX]), None);
    assert_eq!(tensor_bytes(Dtype::U8, &[usize::MAX, usize::MAX]), None);
    assert_eq!(tensor_bytes(Dtype::F32, &[0, usize::MAX]), Some(0));
}

#[test]
fn longest_header_is_accepted_and_not_one_byte_more() {
    let len = |length: u64| Header::json_len(&length.to_le_bytes(), u64::MAX);
    assert_eq!(len(MAX_HEADER_BYTES).unwrap(), MAX_HEADER_BYTES);
    assert!(matches!(
        len(MAX_HEADER_BYTES + 1),
        Err(HeaderError::TooLong { .. })
    ));
}

#[test]
fn lfs_pointer_is_known_from_its_first_eight_bytes() {
    let length = |text: &str| Header::json_len(text.as_bytes(), 135);
    assert!(matches!(length("version "), Err(HeaderError::LfsPointer)));
    assert!(matches!(
        length("version https://git-lfs.git"),
        Err(HeaderError::LfsPointer)
    ));
    assert!(matches!(
        length("version of a text file"),
        Err(HeaderError::TooLong { .. })
    ));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let refusal = |tensors: &[NewTensor]| lay_out(tensors, &BTreeMap::new()).unwrap_err();
    let a = new("a", Dtype::U8, &[1]);
    let error = refusal(&[a.clone(), new("b", Dtype::U8, &[1]), a]);
    assert!(matches!(error, HeaderError::DuplicateName { name } if name == "a"));
    let error = refusal(&[new("__metadata__", Dtype::U8, &[1])]);
    assert!(matches!(error, HeaderError::ReservedName));
    let error = refusal(&[new("a", Dtype::F4, &[3])]);
    assert!(matches!(
        error,
        HeaderError::PartialByte { elements: 3, .. }
    ));
    let huge = ["a", "b", "c", "d", "e", "f", "g", "h"]
        .map(|name| new(name, Dtype::U64, &[usize::MAX / 64]));
    let error = refusal(&huge);
    assert!(matches!(error, HeaderError::SizeOverflows { tensor, .. } if tensor == "h"));
}

#[test]
fn metadata_are_written_in_the_order_of_their_keys() {
    let metadata = ["b", "a", "c"].map(|key| (key.to_owned(), "1".to_owned()));
    let layout = lay_out(&[], &BTreeMap::from(metadata)).unwrap();
    let json = std::str::from_utf8(&layout.bytes[8..]).unwrap();
    assert_eq!(
        json.trim_end(),
        r#"{"__metadata__":{"a":"1","b":"1","c":"1"}}"#
    );
}

#[test]
fn more_tensors_than_the_limit_are_refused_without_being_kept() {
    use std::fmt::Write as _;
    let mut json = String::from("{");
    for i in 0..=MAX_TENSORS {
        let _ = write!(json, "\"{i}\":0,");
    }
    json.push_str("\"last\":0}");
    let error = parse(&json, 0).unwrap_err();
    assert!(
        matches!(error, HeaderError::TooManyTensors { limit: MAX_TENSORS }),
        "{error}"
    );
}

#[test]
fn a_name_and_a_shape_of_any_length_are_refused_by_their_start() {
    let entry = |name: &str, axes: usize| {
        let shape = vec!["1"; axes].join(",");
        format!(r#"{{"{name}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[0,1]}}}}"#)
    };
    let longest = "n".repeat(MAX_NAME_BYTES);
    assert!(parse(&entry(&longest, MAX_AXES), 1).is_ok());

    let error = refusal(&entry(&format!("{longest}n"), 1), 1);
    assert!(error.len() < 200 && error.contains("4097 bytes"), "{error}");
    let error = refusal(&entry("a", MAX_AXES + 1), 1);
    assert!(
        error.contains("`a`") && error.contains("65 axes"),
        "{error}"
    );

    let error = lay_out(
        &[new(&format!("{longest}n"), Dtype::U8, &[1])],
        &BTreeMap::new(),
    );
    assert!(
        matches!(error, Err(HeaderError::NameTooLong { .. })),
        "{error:?}"
    );
}

#[test]
fn nesting_of_any_depth_is_refused_and_not_followed() {
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for json in [
        nested.clone(),
        format!(r#"{{"a":{nested}}}"#),
        format!(r#"{{"__metadata__":{{"a":{nested}}}}}"#),
        format!(r#"{{"a":{{"dtype":"U8","shape":{nested},"data_offsets":[0,1]}}}}"#),
    ] {
        let error = refusal(&json, 1);
        assert!(error.len() < 200, "{error}");
    }
}
