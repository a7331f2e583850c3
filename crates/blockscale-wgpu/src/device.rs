//! An open adapter: errors as values, and buffers read back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_channel::oneshot;
use wgpu::{
    Buffer, BufferDescriptor, BufferUsages, Device, Error, ErrorFilter, MapMode, PollType, Queue,
};

use crate::GpuError;

/// How long to wait, after a failure, for work that was begun before.
const LAST_WORK: Duration = Duration::from_secs(5);

/// A device and its queue, and what it reported on its own.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    events: Arc<Events>,
}

#[derive(Debug, Default)]
struct Events {
    lost: Mutex<Option<String>>,
    uncaught: Mutex<Option<GpuError>>,
}

impl Handle {
    pub(crate) fn new(device: Device, queue: Queue) -> Self {
        let events = Arc::new(Events::default());
        let of_loss = Arc::clone(&events);
        device.set_device_lost_callback(move |_, said| {
            let reason = match said.as_str() {
                "" => "the driver does not say why".to_owned(),
                _ => said,
            };
            set_first(&of_loss.lost, reason);
        });
        let of_errors = Arc::clone(&events);
        // Without a handler, wgpu panics.
        device.on_uncaptured_error(Arc::new(move |error| {
            set_first(&of_errors.uncaught, refused(error));
        }));
        Self {
            device,
            queue,
            events,
        }
    }

    /// Does `work`, and waits for what the driver says to it.
    ///
    /// # Errors
    ///
    /// [`GpuError::DeviceLost`], [`GpuError::OutOfMemory`], [`GpuError::Device`].
    pub(crate) async fn guarded<T>(
        &self,
        work: impl FnOnce(&Device, &Queue) -> T,
    ) -> Result<T, GpuError> {
        self.check_there()?;
        let (result, answers) = {
            let open = |filter| self.device.push_error_scope(filter);
            let internal = open(ErrorFilter::Internal);
            let validation = open(ErrorFilter::Validation);
            let memory = open(ErrorFilter::OutOfMemory);
            let result = work(&self.device, &self.queue);
            // A scope is of the thread that opened it: all are closed before anything is awaited.
            (result, [memory.pop(), validation.pop(), internal.pop()])
        };
        let mut failure = None;
        for answer in answers {
            failure = failure.or(answer.await);
        }
        if failure.is_some() {
            // A lost device fails in many ways; the loss is what to say, and it may be told only when
            // nothing is under way any more.
            let _ = self.device.poll(PollType::Wait {
                submission_index: None,
                timeout: Some(LAST_WORK),
            });
        }
        self.check_there()?;
        match failure {
            Some(error) => Err(refused(error)),
            None => Ok(result),
        }
    }

    /// The bytes of a buffer that can be mapped. Natively this waits for the work before.
    pub(crate) async fn read(&self, buffer: &Buffer) -> Result<Vec<u32>, GpuError> {
        let (sender, receiver) = oneshot::channel();
        buffer.map_async(MapMode::Read, .., move |result| {
            // Nobody waits for it any more where this future was dropped.
            let _ = sender.send(result);
        });
        // In a browser a no-op: there the event loop answers.
        let polled = self.device.poll(PollType::wait_indefinitely());
        if polled.is_err() || !matches!(receiver.await, Ok(Ok(()))) {
            return Err(self.lost("its memory can't be read"));
        }
        let words = match buffer.get_mapped_range(..) {
            Ok(bytes) => bytemuck::pod_collect_to_vec(&bytes[..]),
            Err(_) => return Err(self.lost("its memory can't be read")),
        };
        buffer.unmap();
        self.check_there()?;
        Ok(words)
    }

    pub(crate) fn destroy(&self) {
        set_first(&self.events.lost, "it was given back".to_owned());
        self.device.destroy();
    }

    fn check_there(&self) -> Result<(), GpuError> {
        if let Some(reason) = get(&self.events.lost) {
            return Err(GpuError::DeviceLost { reason });
        }
        match get(&self.events.uncaught) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The loss, in the driver's words if it has some.
    fn lost(&self, otherwise: &str) -> GpuError {
        let reason = get(&self.events.lost).unwrap_or_else(|| otherwise.to_owned());
        GpuError::DeviceLost { reason }
    }
}

/// A buffer with these bytes, filled up with zeros to whole words and at least one.
pub(crate) fn buffer_with(
    device: &Device,
    queue: &Queue,
    usage: BufferUsages,
    bytes: &[u8],
) -> Buffer {
    let buffer = device.create_buffer(&BufferDescriptor {
        label: None,
        size: bytes.len().next_multiple_of(4).max(4) as u64,
        usage: usage | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let (words, rest) = bytes.split_at(bytes.len() / 4 * 4);
    if !words.is_empty() {
        queue.write_buffer(&buffer, 0, words);
    }
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        queue.write_buffer(&buffer, words.len() as u64, &last);
    }
    buffer
}

fn refused(error: Error) -> GpuError {
    match error {
        Error::OutOfMemory { source } => GpuError::OutOfMemory {
            reason: source.to_string(),
        },
        Error::Validation { description, .. } | Error::Internal { description, .. } => {
            GpuError::Device {
                reason: description,
            }
        }
    }
}

fn set_first<T>(slot: &Mutex<Option<T>>, value: T) {
    slot.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert(value);
}

fn get<T: Clone>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
