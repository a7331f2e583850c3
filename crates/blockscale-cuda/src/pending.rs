//! Answers that a kernel leaves in device memory, to be fetched once they are needed.

use std::sync::Arc;

use blockscale::ScaleElement;
use cudarc::driver::{CudaSlice, CudaStream, CudaView};

use crate::CudaError;

/// What `first_bad` holds where nothing was refused.
const NOTHING: u64 = u64::MAX;

/// An operation that is queued, and whose outcome the device has yet to tell.
///
/// Dropping it loses no work, only the answer.
#[must_use = "the operation may have refused its input; `wait` tells"]
pub struct Pending<'a, T> {
    stream: Arc<CudaStream>,
    words: CudaSlice<u64>,
    read: Read<'a, T>,
}

/// Makes the answer of the words that a kernel left.
type Read<'a, T> = Box<dyn FnOnce(&[u64]) -> Result<T, CudaError> + 'a>;

impl<T> std::fmt::Debug for Pending<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl<'a, T> Pending<'a, T> {
    /// `read` makes the answer of `words`.
    pub(crate) fn new(
        stream: &Arc<CudaStream>,
        words: CudaSlice<u64>,
        read: impl FnOnce(&[u64]) -> Result<T, CudaError> + 'a,
    ) -> Self {
        Self {
            stream: Arc::clone(stream),
            words,
            read: Box::new(read),
        }
    }

    /// Waits for the stream to come this far, and tells the outcome.
    ///
    /// # Errors
    ///
    /// What the operation refuses, and what the driver says.
    pub fn wait(self) -> Result<T, CudaError> {
        let words = self.stream.clone_dtoh(&self.words)?;
        self.stream.synchronize()?;
        (self.read)(&words)
    }
}

/// Words for counts, zero, and after them one for `first_bad`.
pub(crate) fn answer_words(
    stream: &Arc<CudaStream>,
    counts: usize,
) -> Result<CudaSlice<u64>, CudaError> {
    let mut words = vec![0; counts];
    words.push(NOTHING);
    let words = stream.clone_htod(&words)?;
    Ok(words)
}

/// The index that was refused, if one was.
pub(crate) fn first_bad(word: u64) -> Option<usize> {
    (word != NOTHING).then(|| usize::try_from(word).unwrap_or(usize::MAX))
}

/// One little-endian scale of a plane that may still be on its way.
pub(crate) fn scale_at(
    stream: &Arc<CudaStream>,
    element: ScaleElement,
    plane: &CudaView<'_, u8>,
    index: usize,
) -> Result<f32, CudaError> {
    let first = index.saturating_mul(element.bytes());
    let range = first..first.saturating_add(element.bytes());
    let Some(scale) = plane.try_slice(range) else {
        return Ok(f32::NAN);
    };
    let bytes = stream.clone_dtoh(&scale)?;
    stream.synchronize()?;
    Ok(element.decode(&bytes))
}
