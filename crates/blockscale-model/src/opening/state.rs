//! How far one file has been read.

use std::ops::Range;

use super::{ListedFile, MAX_JSON_BYTES, OpeningError};
use crate::gguf::{self, GgufHeader, Parsed};
use crate::header::{Header, PREFIX_BYTES};
use crate::header_error::HeaderError;

/// Bytes of a GGUF file that are asked for at first.
const GGUF_START: u64 = 1 << 20;

/// What is being read of a file.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// A whole file of JSON.
    Json,
    /// The bytes that say how long a header is.
    Prefix,
    /// A header of that many bytes.
    Header(u64),
    /// The first bytes of a GGUF file, so many.
    Gguf(u64),
    /// All that is needed.
    Done(Content),
}

/// What was read of a file.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Json(Vec<u8>),
    Header(Header),
    Gguf(GgufHeader),
}

impl State {
    pub(super) fn json() -> Self {
        Self::Json
    }

    pub(super) fn shard() -> Self {
        Self::Prefix
    }

    pub(super) fn gguf() -> Self {
        Self::Gguf(GGUF_START)
    }

    pub(super) fn check_size(&self, file: &ListedFile) -> Result<(), OpeningError> {
        match self {
            Self::Json if file.len > MAX_JSON_BYTES => Err(OpeningError::TooLong {
                file: file.name.clone(),
                limit: MAX_JSON_BYTES,
                found: file.len,
            }),
            // Nothing can be asked of an empty file: say so at once.
            Self::Prefix if file.len == 0 => {
                Err(header_error(file, HeaderError::TooShort { found: 0 }))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn wants(&self, len: u64) -> Option<Range<u64>> {
        let prefix = PREFIX_BYTES as u64;
        let range = match *self {
            Self::Json => 0..len,
            Self::Prefix => 0..prefix.min(len),
            Self::Header(json) => prefix..prefix + json,
            Self::Gguf(bytes) => 0..bytes.min(len),
            Self::Done(_) => return None,
        };
        (!range.is_empty()).then_some(range)
    }

    /// Takes what was wanted, and what lies behind it as far as it is of use.
    pub(super) fn take(
        &mut self,
        file: &ListedFile,
        start: u64,
        bytes: &[u8],
    ) -> Result<(), OpeningError> {
        let Some(wanted) = self.wants(file.len) else {
            return Ok(());
        };
        let given = start..start.saturating_add(bytes.len() as u64);
        if given.start != wanted.start || given.end < wanted.end {
            return Err(OpeningError::OtherBytes {
                file: file.name.clone(),
                expected: wanted,
                found: given,
            });
        }
        let exact = &bytes[..(wanted.end - wanted.start) as usize];
        *self = match self {
            Self::Json => Self::Done(Content::Json(exact.to_vec())),
            Self::Prefix => {
                let json = Header::json_len(bytes, file.len).map_err(|e| header_error(file, e))?;
                match header_in(bytes, json) {
                    Some(header) => parse(file, header)?,
                    None => Self::Header(json),
                }
            }
            Self::Header(_) => parse(file, exact)?,
            Self::Gguf(asked) => match GgufHeader::parse(bytes, file.len) {
                Ok(Parsed::Header(header)) => Self::Done(Content::Gguf(header)),
                Ok(Parsed::NeedMore { at_least }) => {
                    let more = at_least.max(asked.saturating_mul(2));
                    Self::Gguf(more.min(gguf::MAX_HEADER_BYTES))
                }
                Err(problem) => {
                    return Err(OpeningError::Gguf {
                        file: file.name.clone(),
                        problem,
                    });
                }
            },
            Self::Done(_) => return Ok(()),
        };
        Ok(())
    }

    /// Whether it is of a file that holds tensors.
    pub(super) fn is_of_tensors(&self) -> bool {
        !matches!(self, Self::Json | Self::Done(Content::Json(_)))
    }

    /// The bytes of a file of JSON that was read.
    pub(super) fn json_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Done(Content::Json(json)) => Some(json),
            _ => None,
        }
    }

    pub(super) fn into_content(self) -> Option<Content> {
        match self {
            Self::Done(content) => Some(content),
            // An empty file of JSON: nothing was wanted of it, and it does not parse.
            Self::Json => Some(Content::Json(Vec::new())),
            _ => None,
        }
    }
}

/// The header, where the bytes that begin with the prefix reach to its end.
fn header_in(bytes: &[u8], json: u64) -> Option<&[u8]> {
    let end = PREFIX_BYTES.checked_add(usize::try_from(json).ok()?)?;
    bytes.get(PREFIX_BYTES..end)
}

fn parse(file: &ListedFile, json: &[u8]) -> Result<State, OpeningError> {
    let header = Header::parse(json, file.len).map_err(|e| header_error(file, e))?;
    Ok(State::Done(Content::Header(header)))
}

fn header_error(file: &ListedFile, problem: HeaderError) -> OpeningError {
    OpeningError::Header {
        file: file.name.clone(),
        problem,
    }
}
