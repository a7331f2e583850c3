//! The folder of the sample. A file appears under its name when it is complete.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::SampleError;

pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder, and checks that it holds nothing but files called `names`, or what an
    /// interrupted run left of them.
    pub(super) fn prepare<'a>(
        dir: &Path,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Self, SampleError> {
        let own: BTreeSet<String> = names
            .flat_map(|name| [name.to_owned(), temporary(name)])
            .collect();
        let failed = |operation| failure(operation, dir);
        fs::create_dir_all(dir).map_err(failed("create the folder"))?;
        let mut foreign = BTreeSet::new();
        for entry in fs::read_dir(dir).map_err(failed("read the folder"))? {
            let entry = entry.map_err(failed("read the folder"))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !own.contains(&name) {
                foreign.insert(name);
            }
        }
        match foreign.pop_first() {
            Some(found) => Err(SampleError::NotEmpty {
                dir: dir.to_owned(),
                found,
            }),
            None => Ok(Self(dir.to_owned())),
        }
    }

    /// Writes a file beside its place, makes it durable, and renames it.
    pub(super) fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), SampleError> {
        let path = self.0.join(name);
        let unfinished = self.0.join(temporary(name));
        let mut file = File::create(&unfinished).map_err(failure("create", &unfinished))?;
        content(&mut file)
            .and_then(|()| file.sync_all())
            .map_err(failure("write", &unfinished))?;
        fs::rename(&unfinished, &path).map_err(failure("put in place", &path))
    }
}

fn temporary(name: &str) -> String {
    format!(".{name}.tmp")
}

fn failure(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SampleError {
    let path = path.to_owned();
    move |source| SampleError::Io {
        operation,
        path,
        source,
    }
}
