//! The output folder before the first byte is written.

use std::fs;
use std::path::Path;

use crate::ConvertError;
use crate::journal::{FinishedShard, Journal};
use crate::manifest::MANIFEST;
use crate::sink::{is_partial, write_error};
use crate::source::folders;

/// What to do about an output folder that holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse it.
    Refuse,
    /// Finish the conversion that was interrupted there.
    Resume,
    /// Remove the checkpoint in it first. Other files stay.
    Overwrite,
}

/// Refuses an output folder that the source lies in, also where a folder of a Hugging Face cache
/// stands for the snapshot in it.
///
/// # Errors
/// [`ConvertError::InPlace`].
pub fn refuse_in_place(source: &Path, out: &Path) -> Result<(), ConvertError> {
    // A folder that is not there yet is nobody's.
    let in_place = fs::canonicalize(out).is_ok_and(|out| folders(source).contains(&out));
    if in_place {
        Err(ConvertError::InPlace {
            path: out.to_owned(),
        })
    } else {
        Ok(())
    }
}

/// Makes the folder ready and opens its journal; lists the shards that are finished.
pub(crate) fn prepare(
    out: &Path,
    fingerprint: &str,
    existing: Existing,
) -> Result<(Journal, Vec<FinishedShard>), ConvertError> {
    fs::create_dir_all(out).map_err(write_error(out, "create"))?;
    let journal = match existing {
        Existing::Resume => return Journal::resume(out, fingerprint),
        Existing::Overwrite => {
            let journal = Journal::take(out)?;
            remove_checkpoint(out)?;
            journal.restart(fingerprint)?
        }
        Existing::Refuse => {
            if names(out)?.next().is_some() {
                return Err(ConvertError::NotEmpty {
                    path: out.to_owned(),
                });
            }
            Journal::begin(out, fingerprint)?
        }
    };
    Ok((journal, Vec::new()))
}

fn names(dir: &Path) -> Result<impl Iterator<Item = String>, ConvertError> {
    let entries = fs::read_dir(dir).map_err(write_error(dir, "list"))?;
    Ok(entries.filter_map(|e| Some(e.ok()?.file_name().to_string_lossy().into_owned())))
}

/// Whether some file in the folder is what a conversion writes, the journal left out.
pub(crate) fn holds_checkpoint(dir: &Path) -> Result<bool, ConvertError> {
    Ok(names(dir)?.any(|name| is_of_checkpoint(&name)))
}

/// Removes what a conversion writes but the journal, which is held; the index first, so that what is
/// left never looks complete.
fn remove_checkpoint(dir: &Path) -> Result<(), ConvertError> {
    let mut doomed: Vec<String> = names(dir)?.filter(|name| is_of_checkpoint(name)).collect();
    doomed.sort_by_key(|name| name.ends_with(".safetensors"));
    for name in doomed {
        let path = dir.join(name);
        fs::remove_file(&path).map_err(write_error(&path, "remove"))?;
    }
    Ok(())
}

fn is_of_checkpoint(name: &str) -> bool {
    name.ends_with(".safetensors")
        || name.ends_with(".safetensors.index.json")
        || is_partial(name)
        || ["config.json", "hf_quant_config.json", MANIFEST].contains(&name)
}
