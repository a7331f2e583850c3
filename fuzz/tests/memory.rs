//! What a file says of itself allocates nothing: memory follows from the bytes that are there.

use blockscale_fuzz::{Mutator, Reads, TARGETS};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Bytes of heap for each byte of input, and at the least.
const PER_BYTE: usize = 400;
const AT_LEAST: usize = 2 << 20;

/// Mutations a target.
const ROUNDS: u64 = 100;

// One test: the counter is that of the whole process.
#[test]
fn memory_is_bounded_by_the_length_of_the_file() {
    for target in TARGETS.iter().filter(|target| target.reads == Reads::File) {
        let corpus = (target.seeds)();
        let mut mutator = Mutator::new(64);
        for _ in 0..ROUNDS {
            let input = mutator.next(&corpus);
            let before = HEAP.current_usage();
            HEAP.reset_peak_usage();
            (target.run)(&input);
            let peak = HEAP.peak_usage() - before;
            let limit = AT_LEAST + PER_BYTE * input.len();
            assert!(
                peak <= limit,
                "`{}` took {peak} bytes for an input of {}, at most {limit} are fine",
                target.name,
                input.len()
            );
        }
    }
}
