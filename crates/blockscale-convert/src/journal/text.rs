//! The lines of a journal.

use blockscale_model::ShardName;
use serde::{Deserialize, Serialize};

use crate::tally::Comparison;

/// A shard that is written, checked and in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinishedShard {
    /// File name.
    pub name: String,
    /// Length in bytes.
    pub len: u64,
    /// BLAKE3 of the file, in hexadecimal.
    pub blake3: String,
    /// The weights in it that were converted.
    pub comparisons: Vec<Comparison>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Line {
    Conversion { fingerprint: String },
    Shard(FinishedShard),
}

impl Line {
    pub(super) fn encode(&self) -> Vec<u8> {
        // Strings, numbers and lists only: nothing that JSON cannot hold.
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// What a journal says.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalRecord {
    /// What the conversion is known by.
    pub fingerprint: String,
    /// Shards that are finished, each once.
    pub finished: Vec<FinishedShard>,
    /// Bytes of the whole lines; what is behind was cut short by a crash.
    pub whole_bytes: u64,
}

impl JournalRecord {
    /// Reads a journal; `None` where not even its first line is whole.
    ///
    /// A journal is data from elsewhere: the names in it cannot lead out of the folder. Of two lines
    /// about one shard the later one counts, since the shard was written again.
    ///
    /// # Errors
    /// The number, from 1, of a whole line that is no line of a journal.
    ///
    /// ```
    /// use blockscale_convert::JournalRecord;
    ///
    /// let text = b"{\"conversion\":{\"fingerprint\":\"5eed\"}}\n{\"shard\":{\"na";
    /// let record = JournalRecord::read(text)?.unwrap();
    /// assert_eq!((record.fingerprint.as_str(), record.whole_bytes), ("5eed", 38));
    /// assert_eq!(JournalRecord::read(b"{\"conv"), Ok(None));
    /// assert_eq!(JournalRecord::read(b"no journal\n"), Err(1));
    /// # Ok::<(), usize>(())
    /// ```
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, usize> {
        let mut record: Option<Self> = None;
        let whole_lines = bytes.split_inclusive(|&byte| byte == b'\n');
        for (number, line) in whole_lines.filter(|line| line.ends_with(b"\n")).enumerate() {
            let known = match (serde_json::from_slice(line), &mut record) {
                (Ok(Line::Conversion { fingerprint }), None) => record.insert(Self {
                    fingerprint,
                    finished: Vec::new(),
                    whole_bytes: 0,
                }),
                (Ok(Line::Shard(shard)), Some(known)) if ShardName::new(&shard.name).is_ok() => {
                    known.finished.retain(|earlier| earlier.name != shard.name);
                    known.finished.push(shard);
                    known
                }
                _ => return Err(number + 1),
            };
            known.whole_bytes += line.len() as u64;
        }
        Ok(record)
    }
}
