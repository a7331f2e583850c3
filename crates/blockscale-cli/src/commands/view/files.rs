//! The files of a checkpoint, open and named.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use blockscale_convert::source::{SourceError, checkpoint_files};
use serde_json::{Value, json};

use crate::error::CliError;

/// A checkpoint that is served: its files by name.
///
/// They are opened once, links followed and checked, and stay open: what a name leads to later changes
/// nothing, and no path is ever made of a request.
#[derive(Debug)]
pub(crate) struct Served {
    name: String,
    role: &'static str,
    files: BTreeMap<String, Arc<ServedFile>>,
}

/// A file that is served.
#[derive(Debug)]
pub(crate) struct ServedFile {
    pub(crate) file: File,
    path: PathBuf,
}

/// What tells a file from a changed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) len: u64,
    pub(crate) etag: String,
}

impl Served {
    /// Opens the files of the checkpoint at `path`.
    ///
    /// # Errors
    /// Where there is no checkpoint, a link leads out of it, or a file is not to be read.
    pub(crate) fn open(path: &Path, role: &'static str) -> Result<Self, CliError> {
        let mut files = BTreeMap::new();
        for found in checkpoint_files(path)? {
            let file = open_regular(&found.path)?;
            let path = found.path;
            files.insert(found.name, Arc::new(ServedFile { file, path }));
        }
        let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = whole
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        Ok(Self {
            name: name.unwrap_or_else(|| whole.display().to_string()),
            role,
            files,
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<ServedFile>> {
        self.files.get(name)
    }

    /// The checkpoint as the page reads it; `id` is its place among those served.
    pub(crate) fn listing(&self, id: usize) -> Value {
        let file = |(name, file): (&String, &Arc<ServedFile>)| {
            let len = file.version().map_or(0, |version| version.len);
            json!({ "name": name, "bytes": len, "url": url_of(id, name) })
        };
        json!({
            "id": id.to_string(),
            "role": self.role,
            "name": self.name,
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
        })
    }
}

impl ServedFile {
    /// How the file is now: it may be written to while it is open.
    pub(crate) fn version(&self) -> std::io::Result<Version> {
        let meta = self.file.metadata()?;
        let changed = meta.modified()?.duration_since(UNIX_EPOCH);
        let nanos = changed.map_or(0, |time| time.as_nanos());
        let len = meta.len();
        Ok(Version {
            len,
            etag: format!("\"{len:x}-{nanos:x}\""),
        })
    }

    /// Fills `buf` from `offset` on, or says why it can't.
    pub(crate) fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), SourceError> {
        blockscale_convert::source::read_exact_at(&self.file, &self.path, offset, buf)
    }
}

/// A pipe or a device could block or never end, so it is refused unopened.
fn open_regular(path: &Path) -> Result<File, CliError> {
    let error = |source| SourceError::Io {
        path: path.to_owned(),
        action: "open",
        source,
    };
    if !fs::metadata(path).map_err(error)?.is_file() {
        let path = path.to_owned();
        return Err(SourceError::NotRegular { path }.into());
    }
    Ok(File::open(path).map_err(error)?)
}

/// The URL of a file, relative to the page.
fn url_of(id: usize, name: &str) -> String {
    let mut url = format!("api/files/{id}/");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                url.push(char::from(byte));
            }
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    url
}

/// The name that a path of a URL means; `None` where its escapes are broken or are no UTF-8.
pub(crate) fn name_of(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            plain => plain,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back_from_its_url() {
        let all: String = (1..=0x2ff).filter_map(char::from_u32).collect();
        for name in ["model.safetensors", "a b/c%d?e#f", "\u{fc}ml\u{e4}ut", &all] {
            let url = url_of(3, name);
            let path = url.strip_prefix("api/files/3/").unwrap();
            assert!(
                path.bytes()
                    .all(|b| b.is_ascii_graphic() && !b"?#".contains(&b)),
                "{path}"
            );
            assert_eq!(name_of(path).as_deref(), Some(name));
        }
    }

    #[test]
    fn broken_escapes_are_no_name() {
        for path in ["%", "%4", "%zz", "a%", "%ff", "%+1"] {
            assert_eq!(name_of(path), None, "{path}");
        }
    }
}
