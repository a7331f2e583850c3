//! Why a checkpoint cannot be opened, as a diagnosis.

use std::error::Error;
use std::path::Path;

use blockscale_model::Severity;
use blockscale_model::doctor::Diagnosis;
use blockscale_model::doctor::rules::{FILE_REFUSED, FILES_DO_NOT_FIT, PART_WITHOUT_INDEX};

use crate::source::OpenError;

/// The diagnosis of a checkpoint whose files are wrong; `None` where they could not be read at all,
/// or there is none.
pub fn open_diagnosis(error: &OpenError) -> Option<Diagnosis> {
    let (rule, path) = match error {
        OpenError::Header { path, .. }
        | OpenError::Gguf { path, .. }
        | OpenError::Index { path, .. }
        | OpenError::Json { path, .. } => (&FILE_REFUSED, path),
        OpenError::Checkpoint { path, .. } => (&FILES_DO_NOT_FIT, path),
        OpenError::NoIndex { path, .. } => (&PART_WITHOUT_INDEX, path),
        _ => return None,
    };
    let diagnosis = Diagnosis::new(rule, with_causes(error)).in_file(file_name(path));
    Some(diagnosis.as_severe_as(Severity::Error))
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.map_or_else(|| path.display().to_string(), |name| name.into_owned())
}

fn with_causes(error: &OpenError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
