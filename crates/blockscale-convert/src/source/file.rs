//! Regular files and positioned reads.
//!
//! Files are read, not mapped: a file that is shortened while it is read then gives an error and not
//! a signal, and resident memory is what the caller allocates.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use super::error::SourceError;

/// Opens a regular file. A pipe or device could block or never end, so it is refused unopened.
pub(super) fn open_regular(path: &Path) -> Result<File, SourceError> {
    let meta = fs::metadata(path).map_err(|error| io_error("open", path, error))?;
    if !meta.is_file() {
        return Err(SourceError::NotRegular {
            path: path.to_owned(),
        });
    }
    File::open(path).map_err(|error| io_error("open", path, error))
}

/// Length and time of the last change.
pub(super) fn metadata(file: &File, path: &Path) -> Result<Metadata, SourceError> {
    file.metadata()
        .map_err(|error| io_error("open", path, error))
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> SourceError {
    SourceError::Io {
        path: path.to_owned(),
        action,
        source,
    }
}

/// Fills `buf` from the file, starting `offset` bytes into it; `path` is for errors.
///
/// # Errors
/// [`SourceError::Shortened`] where the file is shorter, and [`SourceError::Io`] where it can't be read.
pub fn read_exact_at(
    file: &File,
    path: &Path,
    offset: u64,
    buf: &mut [u8],
) -> Result<(), SourceError> {
    let expected = offset.saturating_add(buf.len() as u64);
    let mut done = 0;
    while done < buf.len() {
        let at = offset.saturating_add(done as u64);
        match read_at(file, &mut buf[done..], at) {
            Ok(0) => {
                let end = file.metadata().map_or(at, |meta| meta.len().min(at));
                return Err(SourceError::Shortened {
                    path: path.to_owned(),
                    end,
                    expected,
                });
            }
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io_error("read", path, error)),
        }
    }
    Ok(())
}

/// Reads a file as a whole.
pub(super) fn read_whole(path: &Path, limit: u64) -> Result<Vec<u8>, SourceError> {
    let file = open_regular(path)?;
    let len = metadata(&file, path)?.len();
    match usize::try_from(len) {
        Ok(in_memory) if len <= limit => {
            let mut bytes = vec![0; in_memory];
            read_exact_at(&file, path, 0, &mut bytes)?;
            Ok(bytes)
        }
        _ => Err(SourceError::TooLarge {
            path: path.to_owned(),
            len,
            limit,
        }),
    }
}

#[cfg(unix)]
fn read_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, offset)
}

/// Moves the file's cursor too, which nothing here relies on.
#[cfg(windows)]
fn read_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, offset)
}
