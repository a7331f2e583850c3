//! Opening a checkpoint.

use blockscale_model::opening::{ListedFile, Opening as Inner, Progress};
use serde::Serialize;
use serde_json::json;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::Checkpoint;
use crate::js::{offset, to_js};

/// A checkpoint that is being opened.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Opening {
    inner: Inner,
}

#[derive(Serialize)]
struct Want<'a> {
    file: &'a str,
    start: u64,
    end: u64,
}

#[wasm_bindgen]
impl Opening {
    /// Settles which of the files make the checkpoint, from their names and sizes in bytes.
    ///
    /// # Errors
    /// Where there is none, or nothing says which of several is meant.
    #[wasm_bindgen(constructor)]
    pub fn new(names: Vec<String>, sizes: Vec<f64>) -> Result<Self, JsError> {
        Ok(Self {
            inner: Inner::of(listed(names, sizes)?)?,
        })
    }

    /// The same for a checkpoint that lies far away: where it has many shards, only the header of the
    /// first is wanted until others are asked for.
    ///
    /// # Errors
    /// Where there is none, or nothing says which of several is meant.
    #[wasm_bindgen(js_name = inParts)]
    pub fn in_parts(names: Vec<String>, sizes: Vec<f64>) -> Result<Self, JsError> {
        Ok(Self {
            inner: Inner::in_parts(listed(names, sizes)?)?,
        })
    }

    /// Whether shards are read when they are asked for.
    #[wasm_bindgen(getter, js_name = isInParts)]
    pub fn is_in_parts(&self) -> bool {
        self.inner.is_in_parts()
    }

    /// The files that hold tensors, and how far their headers were read.
    ///
    /// # Errors
    /// None that a caller can bring about.
    #[wasm_bindgen(unchecked_return_type = "ShardProgress[]")]
    pub fn shards(&self) -> Result<JsValue, JsError> {
        let shards = self.inner.shards().into_iter();
        let shards: Vec<_> = shards
            .map(|shard| {
                json!({
                    "name": shard.file.name,
                    "bytes": shard.file.len,
                    "progress": match shard.progress {
                        Progress::Unread => "unread",
                        Progress::Wanted => "wanted",
                        Progress::Read => "read",
                    },
                })
            })
            .collect();
        to_js(&shards)
    }

    /// Wants the header of one more shard.
    ///
    /// # Errors
    /// Where it is none of the checkpoint's.
    pub fn ask(&mut self, shard: &str) -> Result<(), JsError> {
        Ok(self.inner.ask(shard)?)
    }

    /// Wants the headers of all shards.
    ///
    /// # Errors
    /// Where one is empty.
    #[wasm_bindgen(js_name = askAll)]
    pub fn ask_all(&mut self) -> Result<(), JsError> {
        Ok(self.inner.ask_all()?)
    }

    /// The checkpoint as far as headers were read; weights keep their names, not their indexes.
    ///
    /// # Errors
    /// Before the first header is there, or where files do not fit together.
    #[wasm_bindgen(js_name = soFar)]
    pub fn so_far(&self) -> Result<Checkpoint, JsError> {
        Ok(Checkpoint::of(self.inner.so_far()?))
    }

    /// The bytes that are needed next, at most one range a file; none once all is there.
    ///
    /// # Errors
    /// None that a caller can bring about.
    #[wasm_bindgen(unchecked_return_type = "Want[]")]
    pub fn wants(&self) -> Result<JsValue, JsError> {
        let wants = self.inner.wants();
        let wants: Vec<Want<'_>> = wants
            .iter()
            .map(|want| Want {
                file: &want.file,
                start: want.range.start,
                end: want.range.end,
            })
            .collect();
        to_js(&wants)
    }

    /// Takes bytes of a file from `start` on: those that were wanted, or more behind them.
    ///
    /// # Errors
    /// Where they are not what was wanted, or not what the file should hold.
    pub fn give(&mut self, file: &str, start: f64, bytes: &[u8]) -> Result<(), JsError> {
        Ok(self.inner.give(file, offset(start)?, bytes)?)
    }

    /// The checkpoint.
    ///
    /// # Errors
    /// While something is wanted, or where files do not fit together.
    pub fn finish(self) -> Result<Checkpoint, JsError> {
        Ok(Checkpoint::of(self.inner.finish()?))
    }
}

fn listed(names: Vec<String>, sizes: Vec<f64>) -> Result<Vec<ListedFile>, JsError> {
    if names.len() != sizes.len() {
        let (names, sizes) = (names.len(), sizes.len());
        return Err(JsError::new(&format!("{names} names, but {sizes} sizes")));
    }
    let sizes = sizes.into_iter().map(offset);
    let files = names
        .into_iter()
        .zip(sizes)
        .map(|(name, len)| Ok(ListedFile { name, len: len? }));
    Ok(files.collect::<Result<Vec<_>, crate::js::NotAnOffset>>()?)
}
