//! Output files: written under a temporary name, made durable, then renamed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::ConvertError;

/// Prefix and suffix of a file that is not finished.
const PARTIAL_PREFIX: &str = ".";
const PARTIAL_SUFFIX: &str = ".partial";

/// Bytes read at a time to hash a finished file.
const HASH_CHUNK: usize = 4 << 20;

/// An output file that is not finished.
pub(crate) struct PartialFile {
    file: File,
    partial: PathBuf,
    path: PathBuf,
}

/// Turns an I/O error into one that names the path and the action.
pub(crate) fn write_error<'a>(
    path: &'a Path,
    action: &'static str,
) -> impl FnOnce(io::Error) -> ConvertError + 'a {
    move |source| ConvertError::Write {
        path: path.to_owned(),
        action,
        source,
    }
}

/// The temporary name of a file in `dir`.
pub(crate) fn partial_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{PARTIAL_PREFIX}{name}{PARTIAL_SUFFIX}"))
}

/// Whether a file name is one that [`partial_path`] gives.
pub(crate) fn is_partial(name: &str) -> bool {
    name.starts_with(PARTIAL_PREFIX) && name.ends_with(PARTIAL_SUFFIX)
}

impl PartialFile {
    /// Creates the file `name` of `len` bytes in `dir`, under its temporary name.
    pub(crate) fn create(dir: &Path, name: &str, len: u64) -> Result<Self, ConvertError> {
        let partial = partial_path(dir, name);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&partial)
            .map_err(write_error(&partial, "create"))?;
        file.set_len(len).map_err(write_error(&partial, "resize"))?;
        Ok(Self {
            file,
            partial,
            path: dir.join(name),
        })
    }

    pub(crate) fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), ConvertError> {
        write_all_at(&self.file, bytes, offset).map_err(write_error(&self.partial, "write"))
    }

    /// Makes the content durable, gives the file its name and returns its BLAKE3,
    /// read back from the file.
    pub(crate) fn publish(mut self) -> Result<String, ConvertError> {
        self.file
            .sync_all()
            .map_err(write_error(&self.partial, "sync"))?;
        let hash = hash(&mut self.file).map_err(write_error(&self.partial, "read back"))?;
        rename(&self.partial, &self.path)?;
        Ok(hash)
    }
}

/// Writes a small file as a whole, by way of a temporary name.
pub(crate) fn write_file(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), ConvertError> {
    let path = dir.join(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(write_error(parent, "create"))?;
    }
    let partial = path.with_file_name(format!(
        "{PARTIAL_PREFIX}{}{PARTIAL_SUFFIX}",
        path.file_name().unwrap_or_default().to_string_lossy()
    ));
    fs::write(&partial, bytes).map_err(write_error(&partial, "write"))?;
    File::open(&partial)
        .and_then(|file| file.sync_all())
        .map_err(write_error(&partial, "sync"))?;
    rename(&partial, &path)
}

fn rename(from: &Path, to: &Path) -> Result<(), ConvertError> {
    fs::rename(from, to).map_err(write_error(to, "rename into"))?;
    let Some(dir) = to.parent() else {
        return Ok(());
    };
    sync_dir(dir).map_err(write_error(dir, "sync"))
}

/// Makes a rename durable.
#[cfg(unix)]
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Folders cannot be opened there; the system keeps their entries itself.
#[cfg(not(unix))]
fn sync_dir(_dir: &Path) -> io::Result<()> {
    Ok(())
}

fn hash(file: &mut File) -> io::Result<String> {
    io::Seek::rewind(file)?;
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; HASH_CHUNK];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(hasher.finalize().to_hex().to_string());
        }
        hasher.update_rayon(&chunk[..read]);
    }
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
        offset += written as u64;
    }
    Ok(())
}
