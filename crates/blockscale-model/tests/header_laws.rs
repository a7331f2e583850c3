//! Laws of reading and writing headers, over many inputs.

use std::collections::{BTreeMap, HashMap};

use blockscale_model::{Dtype, Header, NewTensor, PREFIX_BYTES, lay_out};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use safetensors::tensor::TensorView;

const DTYPES: &[Dtype] = &[
    Dtype::BOOL,
    Dtype::F4,
    Dtype::F6_E2M3,
    Dtype::F6_E3M2,
    Dtype::U8,
    Dtype::I8,
    Dtype::F8_E5M2,
    Dtype::F8_E4M3,
    Dtype::F8_E8M0,
    Dtype::F8_E4M3FNUZ,
    Dtype::F8_E5M2FNUZ,
    Dtype::I16,
    Dtype::U16,
    Dtype::F16,
    Dtype::BF16,
    Dtype::I32,
    Dtype::U32,
    Dtype::F32,
    Dtype::C64,
    Dtype::F64,
    Dtype::I64,
    Dtype::U64,
];

/// Tensors with names of any characters. Shapes begin with 4, so that elements of less than a byte
/// fill whole bytes.
fn tensors() -> impl Strategy<Value = Vec<NewTensor>> {
    let shape = vec(0usize..5, 0..4).prop_map(|rest| [vec![4], rest].concat());
    btree_map(".{0,12}", (select(DTYPES), shape), 0..12)
        .prop_map(|tensors| {
            let new = |(name, (dtype, shape))| NewTensor { name, dtype, shape };
            tensors.into_iter().map(new).collect::<Vec<_>>()
        })
        .prop_shuffle()
}

fn metadata() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(".{0,8}", ".{0,8}", 0..4)
}

proptest! {
    #[test]
    fn what_is_laid_out_is_read_back(tensors in tensors(), metadata in metadata()) {
        let layout = lay_out(&tensors, &metadata).unwrap();
        let json_len = Header::json_len(&layout.bytes, layout.file_len).unwrap();
        let json = &layout.bytes[PREFIX_BYTES..];
        prop_assert_eq!(json_len, json.len() as u64);

        let header = Header::parse(json, layout.file_len).unwrap();
        prop_assert_eq!(&header.metadata, &metadata);
        prop_assert_eq!(header.data_start % 8, 0);
        prop_assert_eq!(header.tensors.len(), tensors.len());
        for (tensor, range) in tensors.iter().zip(&layout.ranges) {
            let read = header.tensors.iter().find(|read| read.name == tensor.name).unwrap();
            prop_assert_eq!((read.dtype, &read.shape), (tensor.dtype, &tensor.shape));
            prop_assert_eq!(&read.range, range);
            let alignment = (tensor.dtype.bitsize() as u64).div_ceil(8);
            prop_assert_eq!(range.start % alignment, 0);
        }
    }

    #[test]
    fn crate_safetensors_writes_the_same_bytes(tensors in tensors(), text in ".{0,8}") {
        let metadata = BTreeMap::from([("format".to_owned(), text)]);
        let layout = lay_out(&tensors, &metadata).unwrap();

        let zeros = vec![0; layout.file_len as usize];
        let views = tensors.iter().zip(&layout.ranges).map(|(tensor, range)| {
            let data = &zeros[..(range.end - range.start) as usize];
            let view = TensorView::new(tensor.dtype, tensor.shape.clone(), data).unwrap();
            (tensor.name.as_str(), view)
        });
        let metadata = HashMap::from_iter(metadata);
        let theirs = safetensors::serialize(views, Some(metadata)).unwrap();
        prop_assert_eq!(&theirs[..layout.bytes.len()], layout.bytes);
        prop_assert_eq!(theirs.len() as u64, layout.file_len);
    }

    #[test]
    fn any_bytes_give_a_header_or_an_error(bytes in vec(any::<u8>(), 0..200), len in any::<u64>()) {
        let _ = Header::json_len(&bytes, len);
        let _ = Header::parse(&bytes, len);
    }

    /// What is accepted after a change covers the data from end to end all the same.
    #[test]
    fn changed_header_is_refused_or_still_covers_the_file(
        tensors in tensors(),
        changes in vec((any::<Index>(), select(&b"0123456789-,:[]{}\"\\abF_ "[..])), 1..4),
        longer in 0u64..3,
    ) {
        let layout = lay_out(&tensors, &BTreeMap::new()).unwrap();
        let mut json = layout.bytes[PREFIX_BYTES..].to_vec();
        for (at, byte) in changes {
            let at = at.index(json.len());
            json[at] = byte;
        }
        let file_len = layout.file_len + longer;
        if let Ok(header) = Header::parse(&json, file_len) {
            let mut covered = header.data_start;
            for tensor in &header.tensors {
                prop_assert_eq!(tensor.range.start, covered);
                covered = tensor.range.end;
            }
            prop_assert_eq!(covered, file_len);
        }
    }
}
