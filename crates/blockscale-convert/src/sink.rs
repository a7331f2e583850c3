//! Output files: written under a temporary name, made durable, then renamed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;

use crate::ConvertError;
use crate::publish::join;

/// Prefix and suffix of a file that is not finished.
const PARTIAL_PREFIX: &str = ".";
const PARTIAL_SUFFIX: &str = ".partial";

/// Bytes read at a time to hash a finished file.
const HASH_PIECE: usize = 2 << 20;

/// Bytes that small pieces are gathered to.
const GATHERED: usize = 1 << 20;

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
        let file = create_anew(&partial)?;
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

    /// Lets the system copy bytes of another file. Returns how many it did; where it does none, or
    /// stops, reading and writing find out why.
    pub(crate) fn copy_from(&self, from: &File, offset: u64, to: u64, len: u64) -> u64 {
        system_copy(from, offset, &self.file, to, len)
    }

    /// Makes the content durable, gives the file its name and returns its BLAKE3,
    /// read back from the file.
    pub(crate) fn publish(self) -> Result<String, ConvertError> {
        let (synced, hash) = thread::scope(|scope| {
            let sync = scope.spawn(|| self.file.sync_all());
            let hash = hash(&self.file);
            (join(sync), hash)
        });
        synced.map_err(write_error(&self.partial, "sync"))?;
        let hash = hash.map_err(write_error(&self.partial, "read back"))?;
        rename(&self.partial, &self.path)?;
        Ok(hash)
    }
}

/// Writes pieces that follow upon one another as one.
pub(crate) struct Gatherer<'a> {
    file: &'a PartialFile,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> Gatherer<'a> {
    pub(crate) fn new(file: &'a PartialFile) -> Self {
        Self {
            file,
            start: 0,
            bytes: Vec::new(),
        }
    }

    /// Writes some bytes, or keeps them for what may follow.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), ConvertError> {
        let follows = self.start + self.bytes.len() as u64 == offset;
        if !follows || self.bytes.len() + bytes.len() > GATHERED {
            self.flush()?;
        }
        if bytes.len() > GATHERED / 4 {
            return self.file.write_at(offset, bytes);
        }
        if self.bytes.is_empty() {
            self.start = offset;
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes what is kept.
    pub(crate) fn flush(&mut self) -> Result<(), ConvertError> {
        if !self.bytes.is_empty() {
            self.file.write_at(self.start, &self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
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
    let mut file = create_anew(&partial)?;
    file.write_all(bytes)
        .map_err(write_error(&partial, "write"))?;
    file.sync_all().map_err(write_error(&partial, "sync"))?;
    rename(&partial, &path)
}

/// Creates a file. What an interrupted run left under the name is removed and not written into: it
/// might be a link to anything.
fn create_anew(path: &Path) -> Result<File, ConvertError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(write_error(path, "remove")(error));
        }
        _ => {}
    }
    File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(write_error(path, "create"))
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

/// Hashes a file from its start: one piece is read while the one before is hashed.
fn hash(mut file: &File) -> io::Result<String> {
    file.rewind()?;
    let mut hasher = blake3::Hasher::new();
    let (mut piece, mut next) = (vec![0; HASH_PIECE], vec![0; HASH_PIECE]);
    let mut len = read_piece(file, &mut piece)?;
    while len > 0 {
        let update = || {
            hasher.update_rayon(&piece[..len]);
        };
        let ((), read) = rayon::join(update, || read_piece(file, &mut next));
        len = read?;
        std::mem::swap(&mut piece, &mut next);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Fills a piece as far as the file goes.
fn read_piece(mut file: &File, piece: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < piece.len() {
        match file.read(&mut piece[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// Bytes copied by `copy_file_range`, which moves no byte through this program, and none at all where
/// the file system can let two files share them.
#[cfg(target_os = "linux")]
fn system_copy(from: &File, offset: u64, into: &File, to: u64, len: u64) -> u64 {
    let (mut from_at, mut to_at) = (offset, to);
    let end = offset.saturating_add(len);
    while from_at < end {
        let rest = usize::try_from(end - from_at).unwrap_or(usize::MAX);
        // Both places move on with what was copied.
        let copied =
            rustix::fs::copy_file_range(from, Some(&mut from_at), into, Some(&mut to_at), rest);
        match copied {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    from_at - offset
}

#[cfg(not(target_os = "linux"))]
fn system_copy(_from: &File, _offset: u64, _into: &File, _to: u64, _len: u64) -> u64 {
    0
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
