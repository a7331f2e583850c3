//! Opening a checkpoint.

use blockscale_model::opening::{ListedFile, Opening as Inner};
use serde::Serialize;
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
        if names.len() != sizes.len() {
            let (names, sizes) = (names.len(), sizes.len());
            return Err(JsError::new(&format!("{names} names, but {sizes} sizes")));
        }
        let sizes = sizes.into_iter().map(offset);
        let files = names
            .into_iter()
            .zip(sizes)
            .map(|(name, len)| Ok(ListedFile { name, len: len? }));
        let files = files.collect::<Result<Vec<_>, crate::js::NotAnOffset>>()?;
        Ok(Self {
            inner: Inner::of(files)?,
        })
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
