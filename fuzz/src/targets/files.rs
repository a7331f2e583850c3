//! Headers and indexes of safetensors.

use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path};

use blockscale_model::{
    Header, HeaderError, Index, NewTensor, PREFIX_BYTES, ShardName, lay_out, tensor_bytes,
    write_index,
};

/// A file whose header is read, at its own length and at the one that its tensors ask for.
pub(super) fn header(data: &[u8]) {
    let file_len = data.len() as u64;
    let Ok(json_len) = Header::json_len(data, file_len) else {
        return;
    };
    let data_start = PREFIX_BYTES as u64 + json_len;
    let json = &data[PREFIX_BYTES..data_start as usize];
    let file_len = match Header::parse(json, file_len) {
        Err(HeaderError::EndsEarly { expected, .. }) => match data_start.checked_add(expected) {
            Some(len) => len,
            None => return,
        },
        Err(HeaderError::TrailingBytes { bytes }) => file_len - bytes,
        _ => file_len,
    };
    if let Ok(header) = Header::parse(json, file_len) {
        check_header(&header, file_len);
    }
}

/// The tensors cover the data, each byte once, and can be written again.
fn check_header(header: &Header, file_len: u64) {
    let mut covered = header.data_start;
    let mut names = HashSet::new();
    for tensor in &header.tensors {
        assert_eq!(tensor.range.start, covered, "{}", tensor.name);
        covered = tensor.range.end;
        let bytes = tensor.range.end - tensor.range.start;
        assert_eq!(tensor_bytes(tensor.dtype, &tensor.shape), Some(bytes));
        assert!(names.insert(&tensor.name), "`{}` twice", tensor.name);
    }
    assert_eq!(covered, file_len);

    let new: Vec<NewTensor> = header
        .tensors
        .iter()
        .map(|tensor| NewTensor {
            name: tensor.name.clone(),
            dtype: tensor.dtype,
            shape: tensor.shape.clone(),
        })
        .collect();
    if let Ok(layout) = lay_out(&new, &header.metadata) {
        let again = Header::parse(&layout.bytes[PREFIX_BYTES..], layout.file_len)
            .expect("what was laid out is read");
        assert_eq!(again.metadata, header.metadata);
        assert_eq!(again.tensors.len(), header.tensors.len());
    }
}

/// An index, and its text as the name of a shard.
pub(super) fn index(data: &[u8]) {
    if let Ok(name) = ShardName::new(&String::from_utf8_lossy(data)) {
        check_inside(&name);
    }
    let Ok(index) = Index::parse(data) else {
        return;
    };
    for (_, shard) in &index.weight_map {
        check_inside(shard);
    }
    let map: BTreeMap<String, ShardName> = index.weight_map.iter().cloned().collect();
    assert_eq!(
        map.len(),
        index.weight_map.len(),
        "a tensor is listed twice"
    );
    let again = Index::parse(&write_index(&map, 7)).expect("what was written is read");
    assert_eq!(
        again.weight_map.into_iter().collect::<BTreeMap<_, _>>(),
        map
    );
}

/// The name leads into the folder and nowhere else.
fn check_inside(name: &ShardName) {
    let path = Path::new(name.as_str());
    let normal = |part| matches!(part, Component::Normal(_));
    assert!(path.components().all(normal), "{name:?}");
    assert!(!name.as_str().contains(['\\', ':', '\0']), "{name:?}");
    let _ = name.part();
}
