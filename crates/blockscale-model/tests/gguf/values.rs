//! Metadata.

use blockscale_model::gguf::{MAX_ARRAY_DEPTH, MAX_KEPT_ITEMS, Value, ValueKind};

use crate::build::{File, array, sample, text};

#[test]
fn metadata_keep_their_types_and_order() {
    let strings = [text("x"), text("é")].concat();
    let file = File::new()
        .entry("u8", ValueKind::U8, &[200])
        .entry("i8", ValueKind::I8, &[200])
        .entry("u16", ValueKind::U16, &[1, 2])
        .entry("i16", ValueKind::I16, &[0, 0x80])
        .entry("u32", ValueKind::U32, &u32::MAX.to_le_bytes())
        .entry("i32", ValueKind::I32, &i32::MIN.to_le_bytes())
        .entry("f32", ValueKind::F32, &1.5f32.to_le_bytes())
        .entry("no", ValueKind::Bool, &[0])
        .entry("yes", ValueKind::Bool, &[1])
        .entry("text", ValueKind::String, &text("two\nlines"))
        .entry(
            "list",
            ValueKind::Array,
            &array(ValueKind::String, 2, &strings),
        )
        .entry("none", ValueKind::Array, &array(ValueKind::F64, 0, &[]))
        .entry("u64", ValueKind::U64, &u64::MAX.to_le_bytes())
        .entry("i64", ValueKind::I64, &(-2i64).to_le_bytes())
        .entry("f64", ValueKind::F64, &(-0.1f64).to_le_bytes());
    let header = file.read();
    let shown: Vec<String> = header
        .metadata
        .iter()
        .map(|(key, value)| format!("{key}: {} = {value}", value.kind()))
        .collect();
    let expected = [
        "u8: U8 = 200",
        "i8: I8 = -56",
        "u16: U16 = 513",
        "i16: I16 = -32768",
        "u32: U32 = 4294967295",
        "i32: I32 = -2147483648",
        "f32: F32 = 1.5",
        "no: Bool = false",
        "yes: Bool = true",
        r#"text: String = "two\nlines""#,
        r#"list: Array = ["x", "é"]"#,
        "none: Array = []",
        "u64: U64 = 18446744073709551615",
        "i64: I64 = -2",
        "f64: F64 = -0.1",
    ];
    assert_eq!(shown, expected);
    assert_eq!(header.get("u64"), Some(&Value::U64(u64::MAX)));
    assert_eq!(header.get("U64"), None);
}

#[test]
fn architecture_is_a_text() {
    assert_eq!(sample().read().architecture(), Some("llama"));
    assert_eq!(File::new().read().architecture(), None);
    let number = File::new().entry("general.architecture", ValueKind::U8, &[1]);
    assert_eq!(number.read().architecture(), None);
}

#[test]
fn long_array_is_passed_over() {
    for (len, kept) in [(MAX_KEPT_ITEMS, true), (MAX_KEPT_ITEMS + 1, false)] {
        let words: Vec<u8> = (0..len).flat_map(|n| text(&n.to_string())).collect();
        let header = File::new()
            .entry(
                "words",
                ValueKind::Array,
                &array(ValueKind::String, len, &words),
            )
            .entry(
                "flags",
                ValueKind::Array,
                &array(ValueKind::I16, len, &vec![7; 2 * len as usize]),
            )
            .entry("after", ValueKind::U8, &[9])
            .read();
        for key in ["words", "flags"] {
            match header.get(key) {
                Some(Value::Array {
                    len: found, items, ..
                }) => {
                    assert_eq!(*found, len);
                    assert_eq!(items.as_ref().map(Vec::len), kept.then_some(len as usize));
                }
                other => panic!("{key}: {other:?}"),
            }
        }
        assert_eq!(header.get("after"), Some(&Value::U8(9)));
    }
}

#[test]
fn nested_arrays_are_passed_over_up_to_a_depth() {
    let nested = |depth: usize| {
        let inner = array(ValueKind::U8, 2, &[1, 2]);
        let value = (1..depth).fold(inner, |inner, _| array(ValueKind::Array, 1, &inner));
        File::new()
            .entry("k", ValueKind::Array, &value)
            .entry("after", ValueKind::U8, &[9])
    };
    let header = nested(MAX_ARRAY_DEPTH).read();
    assert_eq!(header.metadata[0].1.to_string(), "[1 x Array]");
    assert_eq!(header.get("after"), Some(&Value::U8(9)));
    assert_eq!(
        nested(MAX_ARRAY_DEPTH + 1).refusal(),
        "metadata `k`: arrays lie more than 4 deep in each other"
    );
}

#[test]
fn fault_in_the_metadata_names_the_key() {
    let alignment = |kind, bytes: &[u8]| File::new().entry("general.alignment", kind, bytes);
    let unknown = File {
        entries: vec![("k".to_owned(), 13u32.to_le_bytes().to_vec())],
        ..File::new()
    };
    for (file, message) in [
        (
            File::new()
                .entry("k", ValueKind::U8, &[1])
                .entry("k", ValueKind::U8, &[1]),
            "metadata key occurs twice: `k`",
        ),
        (
            File::new().entry("k", ValueKind::Bool, &[2]),
            "metadata `k`: boolean is 2, expected 0 or 1",
        ),
        (unknown.data(16), "metadata `k`: unknown value type 13"),
        (
            File::new().entry("k", ValueKind::String, b"\x03\0\0\0\0\0\0\0ab\xff"),
            "text in the header is not UTF-8: bad byte at 47",
        ),
        (
            alignment(ValueKind::U32, &48u32.to_le_bytes()),
            "metadata `general.alignment`: 48 of type U32, expected a power of two of type U32",
        ),
        (
            alignment(ValueKind::U32, &[0; 4]),
            "metadata `general.alignment`: 0 of type U32, expected a power of two of type U32",
        ),
        (
            alignment(ValueKind::U64, &32u64.to_le_bytes()),
            "metadata `general.alignment`: 32 of type U64, expected a power of two of type U32",
        ),
        (
            alignment(ValueKind::String, &text(&"é".repeat(1000))),
            &format!(
                "metadata `general.alignment`: \"{}…\" of type String, expected a power of two of type U32",
                "é".repeat(60)
            ),
        ),
    ] {
        assert_eq!(file.refusal(), message);
    }
}
