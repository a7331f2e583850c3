//! What a file is, and whether it is all there.

use blockscale_model::gguf::{
    GgufError, GgufHeader, MAX_HEADER_BYTES, MAX_METADATA_ENTRIES, ValueKind,
};

use crate::build::{File, array, patched, sample, whole};

#[test]
fn file_without_tensors_may_end_before_the_data() {
    let bytes = File::new().header();
    let header = whole(&bytes).unwrap();
    assert_eq!((bytes.len(), header.data_start), (24, 32));
}

#[test]
fn cut_header_is_told_from_cut_data() {
    let header = sample().header();
    for len in 0..header.len() {
        match whole(&header[..len]).unwrap_err() {
            GgufError::EndsInsideHeader { expected, found } => {
                assert_eq!(found, len as u64);
                assert!(expected > found && expected <= header.len() as u64);
            }
            error => panic!("{len} bytes: {error}"),
        }
    }
    assert!(matches!(
        whole(&header),
        Err(GgufError::EndsEarly { tensor, .. }) if tensor == "a.weight"
    ));
}

#[test]
fn counts_and_lengths_are_held_against_the_file() {
    const HUGE: [u8; 8] = u64::MAX.to_le_bytes();
    let tensors = patched(&sample(), 8, &HUGE);
    let key_len = patched(&sample(), 24, &HUGE);
    let array_len = sample().entry(
        "k",
        ValueKind::Array,
        &array(ValueKind::Array, u64::MAX, &[]),
    );
    for file in [tensors, key_len, array_len.bytes()] {
        let message = format!(
            "the file ends inside the header: {} of at least {} bytes; it was cut short or is damaged",
            file.len(),
            u64::MAX
        );
        assert_eq!(whole(&file).unwrap_err().to_string(), message);
    }
    let entries = patched(&sample(), 16, &(MAX_METADATA_ENTRIES + 1).to_le_bytes());
    assert_eq!(
        whole(&entries).unwrap_err().to_string(),
        "metadata entries above the limit: 65537 of at most 65536"
    );
}

#[test]
fn header_length_is_limited() {
    let counted = patched(&File::new(), 8, &(1u64 << 30).to_le_bytes());
    let array = array(ValueKind::U8, MAX_HEADER_BYTES, &[]);
    let start = File::new().entry("k", ValueKind::Array, &array).header();
    let mut given = vec![0; MAX_HEADER_BYTES as usize + start.len()];
    given[..start.len()].copy_from_slice(&start);
    for (prefix, len) in [
        (&counted, 24 + 24 * (1 << 30)),
        (&given, start.len() as u64 + MAX_HEADER_BYTES),
    ] {
        match GgufHeader::parse(prefix, u64::MAX).unwrap_err() {
            GgufError::TooLong { limit, found } => {
                assert_eq!((limit, found), (MAX_HEADER_BYTES, len));
            }
            error => panic!("{error}"),
        }
    }
}

#[test]
fn bytes_after_the_end_of_the_file_do_not_count() {
    let header = sample().header();
    let file_len = header.len() as u64 - 1;
    match GgufHeader::parse(&header, file_len).unwrap_err() {
        GgufError::EndsInsideHeader { expected, found } => {
            assert_eq!((expected, found), (header.len() as u64, file_len));
        }
        error => panic!("{error}"),
    }
}

#[test]
fn what_is_not_a_gguf_file_is_named() {
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    let lfs = "this is a Git LFS pointer, not the data: fetch it with `git lfs pull`, or download the file";
    let big_endian =
        "the file is big-endian, and only little-endian GGUF is read: convert its byte order";
    for (file, message) in [
        (
            b"PK\x03\x04....".to_vec(),
            r"not a GGUF file: it begins with `PK\x03\x04`, expected `GGUF`",
        ),
        (pointer.to_vec(), lfs),
        (patched(&sample(), 0, b"FUGG"), big_endian),
        (patched(&sample(), 4, &3u32.to_be_bytes()), big_endian),
        (
            patched(&sample(), 4, &1u32.to_le_bytes()),
            "GGUF version 1 is not supported, only 2 and 3 are",
        ),
        (
            patched(&sample(), 4, &[0; 4]),
            "GGUF version 0 is not supported, only 2 and 3 are",
        ),
    ] {
        assert_eq!(whole(&file).unwrap_err().to_string(), message);
    }
}

#[test]
fn version_2_is_read_as_version_3() {
    let older = File {
        version: 2,
        ..sample()
    };
    let expected = GgufHeader {
        version: 2,
        ..sample().read()
    };
    assert_eq!(older.read(), expected);
}
