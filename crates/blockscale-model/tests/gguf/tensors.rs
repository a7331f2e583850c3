//! Tensor entries and where their data lie.

use blockscale_model::gguf::{GgmlType, GgufTensor, ValueKind};

use crate::build::{File, sample, whole};

#[test]
fn contiguous_axis_comes_last() {
    let file = sample();
    let start = file.data_start();
    let header = file.read();
    assert_eq!(header.version, 3);
    assert_eq!((header.alignment, header.data_start), (32, start));
    let expected = [
        GgufTensor {
            name: "a.weight".to_owned(),
            shape: vec![2, 3, 64],
            kind: GgmlType::Nvfp4,
            range: start..start + 6 * 36,
        },
        GgufTensor {
            name: "a.scale".to_owned(),
            shape: vec![1],
            kind: GgmlType::F32,
            range: start + 224..start + 228,
        },
    ];
    assert_eq!(header.tensors, expected);
}

#[test]
fn fault_in_an_entry_names_the_tensor() {
    let unknown = File {
        tensors: vec![("t".to_owned(), vec![32], 31, 0)],
        ..File::new()
    };
    let tensor = |dims: &[u64], kind, offset| File::new().tensor("t", dims, kind, offset);
    for (file, message) in [
        (
            tensor(&[1; 5], GgmlType::F32, 0),
            "tensor `t`: 5 axes, expected at most 4",
        ),
        (
            unknown,
            "tensor `t`: unknown type id 31; it was dropped from the format, or is newer than this reader",
        ),
        (
            tensor(&[48, 64], GgmlType::Q8_0, 0),
            "tensor `t`: rows of 48 elements are no whole blocks of Q8_0, which hold 32",
        ),
        (
            tensor(&[], GgmlType::Nvfp4, 0),
            "tensor `t`: rows of 1 elements are no whole blocks of NVFP4, which hold 64",
        ),
        (
            tensor(&[1 << 32, 1 << 32], GgmlType::I8, 0),
            "tensor `t`: size overflows: shape [4294967296, 4294967296] of I8",
        ),
        (
            tensor(&[1 << 31, 1 << 31], GgmlType::F64, 0),
            "tensor `t`: size overflows: shape [2147483648, 2147483648] of F64",
        ),
        (
            tensor(&[0, u64::MAX, 2], GgmlType::I8, 0),
            "tensor `t`: size overflows: shape [2, 18446744073709551615, 0] of I8",
        ),
        (
            tensor(&[u64::MAX, 2, 0], GgmlType::I8, 0),
            "tensor `t`: size overflows: shape [0, 2, 18446744073709551615] of I8",
        ),
        (
            tensor(&[32], GgmlType::I8, u64::MAX - 31),
            "tensor `t`: offset overflows: 32 bytes from 18446744073709551584",
        ),
        (
            tensor(&[32], GgmlType::I8, u64::MAX - 63),
            "tensor `t`: offset overflows: 32 bytes from 18446744073709551552",
        ),
        (
            tensor(&[2], GgmlType::F32, 8),
            "tensor `t`: offset 8 is not a multiple of the alignment 32",
        ),
        (
            tensor(&[2], GgmlType::F32, 0).tensor("t", &[2], GgmlType::F32, 32),
            "tensor name occurs twice: `t`",
        ),
    ] {
        assert_eq!(file.data(64).refusal(), message);
    }
}

#[test]
fn stated_alignment_replaces_the_default() {
    let mut file = File::new()
        .entry("general.alignment", ValueKind::U32, &8u32.to_le_bytes())
        .tensor("a", &[2], GgmlType::F32, 0)
        .tensor("b", &[2], GgmlType::F32, 8)
        .data(16);
    file.alignment = 8;
    let header = file.read();
    let start = file.data_start();
    assert_eq!((header.alignment, header.data_start), (8, start));
    assert_eq!(header.tensors[1].range, start + 8..start + 16);
}

#[test]
fn order_and_unused_bytes_are_free() {
    let file = File::new()
        .tensor("late", &[2], GgmlType::F32, 96)
        .tensor("early", &[2], GgmlType::F32, 0)
        .data(200);
    let header = file.read();
    let start = file.data_start();
    assert_eq!(header.tensors[0].name, "late");
    assert_eq!(header.tensors[0].range, start + 96..start + 104);
    assert_eq!(header.tensors[1].range, start..start + 8);
}

#[test]
fn tensors_that_share_bytes_are_refused() {
    let file = File::new()
        .tensor("b", &[4], GgmlType::F32, 32)
        .tensor("a", &[16], GgmlType::F32, 0)
        .data(64);
    let at = file.data_start() + 32;
    assert_eq!(
        file.refusal(),
        format!("ranges overlap: tensors `a` and `b` share bytes from {at}")
    );
}

#[test]
fn empty_tensor_shares_no_bytes() {
    let file = File::new()
        .tensor("a", &[16], GgmlType::F32, 0)
        .tensor("empty", &[32, 0], GgmlType::Q8_0, 32)
        .data(64);
    let at = file.data_start() + 32;
    assert_eq!(file.read().tensors[1].range, at..at);
}

#[test]
fn scalar_has_no_axes() {
    let file = File::new().tensor("s", &[], GgmlType::F32, 0).data(4);
    let tensor = &file.read().tensors[0];
    assert_eq!(tensor.shape, [0usize; 0]);
    assert_eq!(tensor.range.end - tensor.range.start, 4);
}

#[test]
fn cut_data_name_the_first_tensor_that_is_cut() {
    let file = File::new()
        .tensor("c", &[8], GgmlType::F32, 64)
        .tensor("a", &[8], GgmlType::F32, 0)
        .tensor("b", &[8], GgmlType::F32, 32)
        .data(40);
    let start = file.data_start();
    assert_eq!(
        file.refusal(),
        format!(
            "file ends early: {} of {} bytes, tensor `b` is cut; download it again",
            start + 40,
            start + 96
        )
    );
}

#[test]
fn a_name_of_any_length_is_refused_where_it_stands() {
    let named = |len: usize| {
        File::new()
            .tensor(&"n".repeat(len), &[1], GgmlType::F32, 0)
            .data(4)
    };
    assert!(whole(&named(4096).bytes()).is_ok());
    assert_eq!(
        whole(&named(4097).bytes()).unwrap_err().to_string(),
        "a key or a name at byte 24 has 4097 bytes, at most 4096 are read"
    );
}
