//! Laws over many files.

use blockscale_model::gguf::{
    GgmlType, GgufHeader, GgufTensor, MAX_HEADER_BYTES, Parsed, ValueKind,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::build::{File, array, text, whole};

/// Files with tensors in any order, of any type, and metadata of several kinds.
fn files() -> impl Strategy<Value = File> {
    let words = vec(".{0,6}", 0..80);
    let tensor = (select(GgmlType::ALL), 0u64..4, vec(0u64..4, 0..3), 0u64..3);
    (words, vec(tensor, 0..6), any::<u16>()).prop_map(|(words, tensors, number)| {
        let len = words.len() as u64;
        let words: Vec<u8> = words.iter().flat_map(|word| text(word)).collect();
        let mut file = File::new()
            .entry(
                "words",
                ValueKind::Array,
                &array(ValueKind::String, len, &words),
            )
            .entry("number", ValueKind::U16, &number.to_le_bytes());
        for (at, (kind, blocks, rest, gap)) in tensors.into_iter().enumerate() {
            let offset = file.data_len as u64 + 32 * gap;
            let row = blocks * kind.block_elements() as u64;
            let bytes = rest.iter().product::<u64>() * blocks * kind.block_bytes() as u64;
            let dims = [vec![row], rest].concat();
            let end = (offset + bytes).next_multiple_of(32) as usize;
            file = file
                .tensor(&format!("t{at}"), &dims, kind, offset)
                .data(end);
        }
        file.tensors.reverse();
        file
    })
}

/// What any header that is accepted holds to.
fn assert_sound(header: &GgufHeader, file_len: u64) {
    let mut ranges: Vec<_> = header.tensors.iter().map(|tensor| &tensor.range).collect();
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    assert!(ranges.is_sorted_by(|before, after| before.end <= after.start));
    for GgufTensor {
        name,
        shape,
        kind,
        range,
    } in &header.tensors
    {
        let blocks = shape.iter().product::<usize>() / kind.block_elements();
        assert_eq!(
            range.end - range.start,
            (blocks * kind.block_bytes()) as u64,
            "{name}"
        );
        assert!(
            range.start >= header.data_start && range.end <= file_len,
            "{name}"
        );
        assert_eq!(
            (range.start - header.data_start) % header.alignment,
            0,
            "{name}"
        );
    }
}

proptest! {
    #[test]
    fn file_is_read_back_as_it_was_built(file in files()) {
        let header = file.read();
        assert_sound(&header, file.bytes().len() as u64);
        prop_assert_eq!(header.data_start, file.data_start());
        prop_assert_eq!(header.tensors.len(), file.tensors.len());
        for (read, (name, dims, id, offset)) in header.tensors.iter().zip(&file.tensors) {
            let reversed: Vec<u64> = read.shape.iter().rev().map(|&dim| dim as u64).collect();
            prop_assert_eq!((&read.name, &reversed, read.kind.id()), (name, dims, *id));
            prop_assert_eq!(read.range.start, header.data_start + offset);
        }
    }

    /// Each answer asks for more than there was and for no more than the header has, and the header
    /// read in the end is that of the whole file.
    #[test]
    fn asking_for_more_ends_with_the_header(file in files()) {
        let bytes = file.bytes();
        let header_len = file.header().len() as u64;
        let mut known = 0;
        loop {
            match GgufHeader::parse(&bytes[..known], bytes.len() as u64).unwrap() {
                Parsed::NeedMore { at_least } => {
                    prop_assert!(at_least > known as u64 && at_least <= header_len);
                    known = at_least as usize;
                }
                Parsed::Header(header) => {
                    prop_assert_eq!(known as u64, header_len);
                    prop_assert_eq!(header, file.read());
                    break;
                }
            }
        }
    }

    #[test]
    fn any_bytes_give_an_answer(
        bytes in vec(any::<u8>(), 0..200),
        begun in any::<bool>(),
        file_len in any::<u64>(),
    ) {
        let start: &[u8] = if begun { b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0" } else { b"" };
        let bytes = [start, &bytes].concat();
        if let Ok(Parsed::NeedMore { at_least }) = GgufHeader::parse(&bytes, file_len) {
            prop_assert!(at_least > bytes.len() as u64);
            prop_assert!(at_least <= file_len.min(MAX_HEADER_BYTES));
        }
    }

    #[test]
    fn changed_file_is_refused_or_still_sound(
        file in files(),
        changes in vec((any::<Index>(), prop_oneof![0u8..42, any::<u8>()]), 1..4),
        cut in 0usize..40,
    ) {
        let mut bytes = file.bytes();
        let header_len = file.header().len();
        for (at, byte) in changes {
            bytes[at.index(header_len)] = byte;
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        if let Ok(header) = whole(&bytes) {
            assert_sound(&header, bytes.len() as u64);
        }
    }
}
