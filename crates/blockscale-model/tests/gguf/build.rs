//! Builds small GGUF files, right and wrong ones.

use blockscale_model::gguf::{GgmlType, GgufError, GgufHeader, Parsed, ValueKind};

/// A file in the making.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) version: u32,
    /// Keys with kind and value as bytes.
    pub(crate) entries: Vec<(String, Vec<u8>)>,
    /// Names with axes in the order of the file, type id and offset.
    pub(crate) tensors: Vec<(String, Vec<u64>, u32, u64)>,
    pub(crate) alignment: usize,
    pub(crate) data_len: usize,
}

impl File {
    pub(crate) fn new() -> Self {
        Self {
            version: 3,
            entries: Vec::new(),
            tensors: Vec::new(),
            alignment: 32,
            data_len: 0,
        }
    }

    pub(crate) fn entry(mut self, key: &str, kind: ValueKind, bytes: &[u8]) -> Self {
        let value = [&id(kind)[..], bytes].concat();
        self.entries.push((key.to_owned(), value));
        self
    }

    pub(crate) fn tensor(mut self, name: &str, dims: &[u64], kind: GgmlType, offset: u64) -> Self {
        self.tensors
            .push((name.to_owned(), dims.to_vec(), kind.id(), offset));
        self
    }

    pub(crate) fn data(mut self, len: usize) -> Self {
        self.data_len = len;
        self
    }

    pub(crate) fn header(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.entries.len() as u64).to_le_bytes());
        for (key, value) in &self.entries {
            bytes.extend(text(key));
            bytes.extend(value);
        }
        for (name, dims, id, offset) in &self.tensors {
            bytes.extend(text(name));
            bytes.extend((dims.len() as u32).to_le_bytes());
            bytes.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
            bytes.extend(id.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn data_start(&self) -> u64 {
        self.header().len().next_multiple_of(self.alignment) as u64
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header();
        bytes.resize(self.data_start() as usize + self.data_len, 0);
        bytes
    }

    pub(crate) fn read(&self) -> GgufHeader {
        whole(&self.bytes()).unwrap()
    }

    pub(crate) fn refusal(&self) -> String {
        whole(&self.bytes()).unwrap_err().to_string()
    }
}

pub(crate) fn id(kind: ValueKind) -> [u8; 4] {
    let id = ValueKind::ALL.iter().position(|&of| of == kind).unwrap();
    (id as u32).to_le_bytes()
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

/// An array's bytes after the kind of the value itself.
pub(crate) fn array(kind: ValueKind, len: u64, items: &[u8]) -> Vec<u8> {
    [&id(kind)[..], &len.to_le_bytes(), items].concat()
}

/// Parses a file given as a whole.
pub(crate) fn whole(file: &[u8]) -> Result<GgufHeader, GgufError> {
    match GgufHeader::parse(file, file.len() as u64)? {
        Parsed::Header(header) => Ok(header),
        Parsed::NeedMore { at_least } => panic!("{at_least} bytes wanted of {}", file.len()),
    }
}

/// The file with those bytes in place of its own.
pub(crate) fn patched(file: &File, at: usize, with: &[u8]) -> Vec<u8> {
    let mut bytes = file.bytes();
    bytes[at..at + with.len()].copy_from_slice(with);
    bytes
}

pub(crate) fn sample() -> File {
    File::new()
        .entry("general.architecture", ValueKind::String, &text("llama"))
        .entry("llama.block_count", ValueKind::U32, &2u32.to_le_bytes())
        .tensor("a.weight", &[64, 3, 2], GgmlType::Nvfp4, 0)
        .tensor("a.scale", &[1], GgmlType::F32, 224)
        .data(256)
}
