//! Bytes of a file as the body of an answer.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

use super::files::ServedFile;

/// Bytes that are read at a time: an answer holds no more, whatever was asked for.
const CHUNK: u64 = 256 << 10;

/// What an answer holds.
#[derive(Debug)]
pub(crate) enum Content {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Bytes of a file, read as they are sent.
    File(FileBytes),
}

/// A range of a file that is being sent.
#[derive(Debug)]
pub(crate) struct FileBytes {
    file: Arc<ServedFile>,
    left: Range<u64>,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

impl FileBytes {
    pub(crate) fn new(file: Arc<ServedFile>, range: Range<u64>) -> Self {
        Self {
            file,
            left: range,
            reading: None,
        }
    }

    /// The next bytes. A file that became shorter, or a read that fails, cuts the answer off.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let (file, start) = (&self.file, self.left.start);
        let len = CHUNK.min(self.left.end - start);
        let reading = self.reading.get_or_insert_with(|| {
            let file = Arc::clone(file);
            spawn_blocking(move || {
                let mut bytes = vec![0; len as usize];
                file.read(start, &mut bytes).map_err(io::Error::other)?;
                Ok(Bytes::from(bytes))
            })
        });
        let read = ready!(Pin::new(reading).poll(context));
        self.reading = None;
        let read = read.map_err(io::Error::other).and_then(|read| read);
        match &read {
            Ok(_) => self.left.start += len,
            Err(_) => self.left.start = self.left.end,
        }
        Poll::Ready(Some(read))
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = match &mut *self {
            Self::Bytes(bytes) if bytes.is_empty() => None,
            Self::Bytes(bytes) => Some(Ok(std::mem::take(bytes))),
            Self::File(file) => ready!(file.poll(context)),
        };
        Poll::Ready(next.map(|read| read.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(file) => file.left.end - file.left.start,
        })
    }
}
