//! Work handed to the threads of the processor, and waited for later.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

/// Something under way, or what came of it.
pub(crate) struct Ticket<T>(Receiver<thread::Result<T>>);

/// Hands work to the threads of the pool that this is called from.
pub(super) fn begin<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Ticket<T> {
    let (done, ticket) = sync_channel(1);
    rayon::spawn_fifo(move || {
        // Nobody waits for it any more: the conversion has failed.
        let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
    });
    Ticket(ticket)
}

impl<T> Ticket<T> {
    /// Waits for it. A thread of the pool works on meanwhile: it may be the only one.
    pub(super) fn wait(self) -> T {
        let done = match rayon::current_thread_index() {
            None => self.0.recv().ok(),
            Some(_) => self.work_on(),
        };
        match done {
            Some(Ok(done)) => done,
            Some(Err(panic)) => resume_unwind(panic),
            // Work sends before it is dropped, whatever becomes of it.
            None => resume_unwind(Box::new("work was dropped before it was done")),
        }
    }

    fn work_on(&self) -> Option<thread::Result<T>> {
        const PAUSE: Duration = Duration::from_micros(50);
        loop {
            match self.0.try_recv() {
                Ok(done) => return Some(done),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {}
            }
            if rayon::yield_now() == Some(rayon::Yield::Executed) {
                continue;
            }
            match self.0.recv_timeout(PAUSE) {
                Ok(done) => return Some(done),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_of_one_thread_waits_for_its_own_work() {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        let sum = pool.install(|| {
            let tickets: Vec<_> = (0..5).map(|n| begin(move || n * n)).collect();
            tickets.into_iter().map(Ticket::wait).sum::<i32>()
        });
        assert_eq!(sum, 30);
    }

    #[test]
    fn a_panic_goes_to_who_waits() {
        let ticket = begin(|| panic!("no"));
        let panic = catch_unwind(AssertUnwindSafe(|| ticket.wait())).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"no"));
    }
}
