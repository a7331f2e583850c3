//! Headers of GGUF files.

use blockscale_model::gguf::{GgufHeader, MAX_HEADER_BYTES, Parsed};
use blockscale_model::{Checkpoint, ShardName};

use super::catalog::plan_everything;

/// A file, read in pieces as a source does, at its own length and at one far beyond.
pub(super) fn gguf(data: &[u8]) {
    for file_len in [data.len() as u64, u64::MAX] {
        if let Some(header) = header_of(data, file_len) {
            check_header(&header, file_len);
            let name = ShardName::new("model.gguf").expect("it stays in its folder");
            plan_everything(&Checkpoint::of_gguf(name, file_len, header));
        }
    }
}

/// The header, asked for in growing pieces; it is the same as of all bytes at once.
fn header_of(data: &[u8], file_len: u64) -> Option<GgufHeader> {
    let whole = GgufHeader::parse(data, file_len);
    let mut known = data.len().min(24);
    loop {
        match GgufHeader::parse(&data[..known], file_len) {
            Ok(Parsed::NeedMore { at_least }) => {
                assert!(at_least > known as u64, "asks for what it has");
                assert!(at_least <= file_len.min(MAX_HEADER_BYTES));
                if known == data.len() {
                    return None;
                }
                known = (at_least as usize).min(data.len());
            }
            Ok(Parsed::Header(header)) => {
                assert_eq!(whole.ok(), Some(Parsed::Header(header.clone())));
                return Some(header);
            }
            Err(_) => {
                assert!(whole.is_err(), "a piece is refused, and the whole is not");
                return None;
            }
        }
    }
}

/// Tensors lie in the file, apart from each other.
fn check_header(header: &GgufHeader, file_len: u64) {
    let mut ranges: Vec<_> = header
        .tensors
        .iter()
        .map(|tensor| tensor.range.clone())
        .collect();
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
    assert!(
        ranges
            .iter()
            .all(|range| range.start >= header.data_start && range.end <= file_len)
    );
}
