//! Names of shard files as an index gives them.

use std::fmt;

use serde::Serialize;

use crate::json::excerpt;

/// The name of a file inside a checkpoint's folder: relative, `/` between parts, and unable to lead
/// out of the folder on any system.
///
/// An index is data from elsewhere. Its names are checked before any file is opened.
///
/// ```
/// use blockscale_model::ShardName;
///
/// assert!(ShardName::new("sub/part.safetensors").is_ok());
/// assert!(ShardName::new("sub/../../part.safetensors").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ShardName(String);

impl ShardName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`ShardNameError`] says which [rule](ShardNameFault) the name breaks.
    pub fn new(name: &str) -> Result<Self, ShardNameError> {
        match fault(name) {
            None => Ok(Self(name.to_owned())),
            Some(fault) => Err(ShardNameError {
                name: excerpt(name),
                fault,
            }),
        }
    }

    /// The name, with `/` between its parts.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The `i` and `n` of a name that ends in `-<i>-of-<n>.safetensors`.
    pub fn part(&self) -> Option<(u32, u32)> {
        let stem = self.0.strip_suffix(".safetensors")?;
        let (rest, count) = stem.rsplit_once("-of-")?;
        let (_, number) = rest.rsplit_once('-').unwrap_or(("", rest));
        Some((number.parse().ok()?, count.parse().ok()?))
    }
}

impl fmt::Display for ShardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What file systems hold.
const MAX_PART_BYTES: usize = 255;

fn fault(name: &str) -> Option<ShardNameFault> {
    use ShardNameFault::*;
    if name.is_empty() {
        Some(Empty)
    } else if name.contains('\0') {
        Some(Nul)
    } else if name.split('/').any(|part| part.len() > MAX_PART_BYTES) {
        Some(TooLong)
    } else if name.contains('\\') {
        Some(Backslash)
    } else if name.contains(':') {
        Some(Colon)
    } else if name.starts_with('/') {
        Some(Absolute)
    } else if name.split('/').any(|part| part == "..") {
        Some(Parent)
    } else if name.split('/').any(|part| part.is_empty() || part == ".") {
        Some(EmptyPart)
    } else {
        None
    }
}

/// A shard name that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shard name `{name}` {fault}; a name must stay inside the checkpoint's folder")]
pub struct ShardNameError {
    /// The name as found, cut to a readable length.
    pub name: String,
    /// The rule it breaks.
    pub fault: ShardNameFault,
}

/// The rule that a refused [`ShardName`] breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardNameFault {
    /// No character at all.
    Empty,
    /// Holds a NUL character.
    Nul,
    /// Has a part longer than file systems hold.
    TooLong,
    /// Holds a backslash, a separator on some systems.
    Backslash,
    /// Holds a colon: a drive letter or a stream on some systems.
    Colon,
    /// Begins with `/`.
    Absolute,
    /// Has a part `..`.
    Parent,
    /// Has an empty part, or a part `.`.
    EmptyPart,
}

impl fmt::Display for ShardNameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::Nul => "holds a NUL character",
            Self::TooLong => "has a part of more than 255 bytes",
            Self::Backslash => "holds a backslash",
            Self::Colon => "holds a colon (a drive or a stream)",
            Self::Absolute => "is an absolute path",
            Self::Parent => "has a part `..`",
            Self::EmptyPart => "has an empty part or a part `.`",
        })
    }
}
