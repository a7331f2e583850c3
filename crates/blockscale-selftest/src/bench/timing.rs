//! Two things timed in turn, so that what disturbs one disturbs the other.

use std::time::Instant;

use super::median;

/// Runs of each, at least and at most.
const RUNS: std::ops::RangeInclusive<usize> = 5..=15;
/// Seconds that a comparison takes, about.
const BUDGET: f64 = 0.5;

/// Seconds of one run of each, the medians.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) copy: f64,
    pub(super) operation: f64,
}

fn once<E>(run: &mut impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let begun = Instant::now();
    run()?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Times both in turn, after a run of each that touches every page.
pub(super) fn in_turn<E>(
    mut copy: impl FnMut() -> Result<(), E>,
    mut operation: impl FnMut() -> Result<(), E>,
) -> Result<Pair, E> {
    let expected = once(&mut copy)? + once(&mut operation)?;
    let runs = (BUDGET / expected.max(1e-6)) as usize;
    let runs = runs.clamp(*RUNS.start(), *RUNS.end());
    let (mut copies, mut operations) = (Vec::with_capacity(runs), Vec::with_capacity(runs));
    for _ in 0..runs {
        copies.push(once(&mut copy)?);
        operations.push(once(&mut operation)?);
    }
    Ok(Pair {
        copy: median(copies),
        operation: median(operations),
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn the_two_take_turns() {
        let order = RefCell::new(String::new());
        let run = |name| {
            order.borrow_mut().push(name);
            Ok::<(), Infallible>(())
        };
        in_turn(|| run('c'), || run('o')).unwrap();
        assert_eq!(order.into_inner(), "co".repeat(16));
    }

    #[test]
    fn an_error_ends_it() {
        assert_eq!(in_turn(|| Ok(()), || Err("no")).unwrap_err(), "no");
    }
}
