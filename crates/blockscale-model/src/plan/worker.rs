//! A plan shared out among machines that know nothing of each other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

use super::Plan;

/// One of several machines that carry out a plan, each the shards that fall to it.
///
/// Counted from 0, as array jobs of schedulers are. Written `index/count`:
///
/// ```
/// use blockscale_model::plan::Worker;
///
/// let worker: Worker = "3/8".parse()?;
/// assert_eq!(Some(worker), Worker::new(3, 8));
/// assert_eq!(worker.to_string(), "3/8");
/// assert!("8/8".parse::<Worker>().is_err());
/// # Ok::<(), blockscale_model::plan::WorkerError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    index: usize,
    count: usize,
}

/// A worker that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` is no worker: expected `i/N`, the i-th of N machines counted from 0, such as `0/8` for the \
     first of eight"
)]
pub struct WorkerError {
    /// What was given.
    pub found: String,
}

impl Worker {
    /// The only one.
    pub const ALONE: Self = Self { index: 0, count: 1 };

    /// The `index`-th of `count`, counted from 0; `None` where there is no such one.
    pub const fn new(index: usize, count: usize) -> Option<Self> {
        if index < count {
            Some(Self { index, count })
        } else {
            None
        }
    }

    /// Its number, counted from 0.
    pub const fn index(self) -> usize {
        self.index
    }

    /// How many there are.
    pub const fn count(self) -> usize {
        self.count
    }
}

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Worker {
    type Err = WorkerError;

    fn from_str(text: &str) -> Result<Self, WorkerError> {
        text.split_once('/')
            .and_then(|(index, count)| Self::new(index.parse().ok()?, count.parse().ok()?))
            .ok_or_else(|| WorkerError {
                found: text.to_owned(),
            })
    }
}

impl Plan {
    /// The shards that fall to `worker`, as indices into [`shards`](Self::shards), in order.
    ///
    /// Every shard falls to exactly one of the workers of a count. The largest is given out first, and
    /// each to whom has the fewest bytes so far, so that nobody has more than the average and one shard.
    /// The same plan gives the same answer everywhere: nobody has to be asked.
    pub fn shards_of(&self, worker: Worker) -> Vec<usize> {
        let lens = self
            .shards
            .iter()
            .map(|shard| shard.len)
            .collect::<Vec<_>>();
        share_of(&lens, worker)
    }
}

fn share_of(lens: &[u64], worker: Worker) -> Vec<usize> {
    let mut largest_first: Vec<usize> = (0..lens.len()).collect();
    largest_first.sort_by_key(|&shard| (Reverse(lens[shard]), shard));
    // No more than one for each shard can have any.
    let takers = worker.count.min(lens.len());
    let mut loads: BinaryHeap<_> = (0..takers).map(|taker| Reverse((0_u64, taker))).collect();
    let mut share = Vec::new();
    for shard in largest_first {
        let Some(Reverse((load, taker))) = loads.pop() else {
            break;
        };
        if taker == worker.index {
            share.push(shard);
        }
        loads.push(Reverse((load.saturating_add(lens[shard]), taker)));
    }
    share.sort_unstable();
    share
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shares(lens: &[u64], count: usize) -> Vec<Vec<usize>> {
        let workers = (0..count).filter_map(|index| Worker::new(index, count));
        workers.map(|worker| share_of(lens, worker)).collect()
    }

    fn bytes(lens: &[u64], share: &[usize]) -> u64 {
        share.iter().map(|&shard| lens[shard]).sum()
    }

    proptest! {
        #[test]
        fn every_shard_falls_to_exactly_one_worker(
            lens in prop::collection::vec(0_u64..1 << 40, 0..60),
            count in 1_usize..70,
        ) {
            let mut all: Vec<usize> = shares(&lens, count).concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lens.len()).collect::<Vec<_>>());
        }

        #[test]
        fn no_worker_has_more_than_the_average_and_the_largest_shard(
            lens in prop::collection::vec(0_u64..1 << 40, 1..60),
            count in 1_usize..20,
        ) {
            let total: u64 = lens.iter().sum();
            let largest = lens.iter().max().copied().unwrap_or(0);
            for share in shares(&lens, count) {
                prop_assert!(bytes(&lens, &share) <= total / count as u64 + largest);
            }
        }
    }

    #[test]
    fn a_lone_worker_has_everything() {
        assert_eq!(share_of(&[5, 0, 7], Worker::ALONE), [0, 1, 2]);
    }

    #[test]
    fn more_workers_than_shards_leave_some_idle() {
        let shares = shares(&[3, 4], 4);
        assert_eq!(shares, [vec![1], vec![0], vec![], vec![]]);
    }

    #[test]
    fn what_is_no_worker_is_refused() {
        for text in ["", "1", "1/1", "-1/2", "0/0", "a/b", "1/2/3", " 0/2"] {
            assert!(text.parse::<Worker>().is_err(), "{text}");
        }
    }
}
