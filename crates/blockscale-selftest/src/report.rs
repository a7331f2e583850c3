//! What a self-test found.

use blockscale::stats::ErrorStats;
use serde::Serialize;

use crate::engine::{Failure, Outcome};
use crate::numbers::Numbers;

/// Mismatches of a group that are described; the others are counted.
const DESCRIBED: usize = 5;

/// Outcome of a self-test.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What was tested, such as `NVIDIA H200 (sm_90)`.
    pub engine: String,
    /// One for each kind of operation.
    pub groups: Vec<Group>,
}

/// Cases of one kind.
#[derive(Debug, Default, Serialize)]
pub struct Group {
    /// The kind of operation.
    pub name: String,
    /// Cases that were compared.
    pub cases: usize,
    /// Values compared: bytes, numbers, sums.
    pub values: usize,
    /// Cases that the engine leaves to the CPU.
    pub left_to_cpu: usize,
    /// Cases of which something differed, or that failed.
    pub mismatches: usize,
    /// The first of them.
    pub described: Vec<String>,
}

impl Report {
    pub(crate) fn new(engine: String) -> Self {
        Self {
            engine,
            groups: Vec::new(),
        }
    }

    /// Whether nothing differed.
    pub fn passed(&self) -> bool {
        self.groups.iter().all(|group| group.mismatches == 0)
    }

    pub(crate) fn group(&mut self, name: &str) -> &mut Group {
        if let Some(at) = self.groups.iter().position(|group| group.name == name) {
            return &mut self.groups[at];
        }
        self.groups.push(Group {
            name: name.to_owned(),
            ..Group::default()
        });
        // It was pushed just now.
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }
}

/// Something that can be compared value by value.
pub(crate) trait Compared {
    fn count(&self) -> usize;

    /// Where the two first differ, in words.
    fn difference(&self, expected: &Self) -> Option<String>;
}

fn first_difference<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T]) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} values, not {}", found.len(), expected.len()));
    }
    let at = found.iter().zip(expected).position(|(a, b)| a != b)?;
    let differing = found.iter().zip(expected).filter(|(a, b)| a != b).count();
    Some(format!(
        "[{at}] is {:x?}, not {:x?} ({differing} of {} differ)",
        found[at],
        expected[at],
        found.len()
    ))
}

impl Compared for Vec<u8> {
    fn count(&self) -> usize {
        self.len()
    }

    fn difference(&self, expected: &Self) -> Option<String> {
        first_difference(self, expected)
    }
}

impl Compared for Vec<u64> {
    fn count(&self) -> usize {
        self.len()
    }

    fn difference(&self, expected: &Self) -> Option<String> {
        first_difference(self, expected)
    }
}

/// Bits are compared; of a NaN its being one, since the payload is nobody's contract.
impl Compared for Numbers {
    fn count(&self) -> usize {
        self.len()
    }

    fn difference(&self, expected: &Self) -> Option<String> {
        let canonical = |numbers: &Self| -> Vec<u32> {
            let bits = numbers.bits().into_iter();
            bits.map(|(bits, nan)| if nan { u32::MAX } else { bits })
                .collect()
        };
        first_difference(&canonical(self), &canonical(expected))
    }
}

impl Compared for Vec<f32> {
    fn count(&self) -> usize {
        self.len()
    }

    fn difference(&self, expected: &Self) -> Option<String> {
        Numbers::F32(self.clone()).difference(&Numbers::F32(expected.clone()))
    }
}

impl Compared for crate::engine::Encoded {
    fn count(&self) -> usize {
        self.codes.len() + self.scales.len()
    }

    fn difference(&self, expected: &Self) -> Option<String> {
        let of = |what: &str, difference: Option<String>| {
            difference.map(|difference| format!("{what}{difference}"))
        };
        of("scales", self.scales.difference(&expected.scales))
            .or_else(|| of("codes", self.codes.difference(&expected.codes)))
    }
}

impl Compared for crate::engine::Transcoded {
    fn count(&self) -> usize {
        self.encoded.count() + self.counts.len()
    }

    fn difference(&self, expected: &Self) -> Option<String> {
        if self.counts != expected.counts {
            return Some(format!(
                "counts {:?}, not {:?}",
                self.counts, expected.counts
            ));
        }
        let bits = |global: Option<f32>| global.map(f32::to_bits);
        if bits(self.global) != bits(expected.global) {
            return Some(format!(
                "global {:?}, not {:?}",
                self.global, expected.global
            ));
        }
        self.encoded.difference(&expected.encoded)
    }
}

impl Compared for Vec<ErrorStats> {
    fn count(&self) -> usize {
        self.len() * 13
    }

    fn difference(&self, expected: &Self) -> Option<String> {
        let bits = |stats: &Self| -> Vec<[u64; 13]> { stats.iter().map(bits_of).collect() };
        first_difference(&bits(self), &bits(expected))
    }
}

fn bits_of(stats: &ErrorStats) -> [u64; 13] {
    [
        stats.count,
        stats.finite,
        stats.sum_ref_sq.to_bits(),
        stats.sum_out_sq.to_bits(),
        stats.sum_err_sq.to_bits(),
        stats.sum_dot.to_bits(),
        stats.max_abs_err.to_bits(),
        stats.differing,
        stats.ref_nan,
        stats.ref_inf,
        stats.out_nan,
        stats.out_inf,
        stats.special_mismatch,
    ]
}

impl Group {
    /// Compares one outcome with the core's. Refusing what the core refuses, in the same words, is
    /// right too.
    pub(crate) fn compare<T: Compared>(
        &mut self,
        what: impl FnOnce() -> String,
        found: Outcome<T>,
        expected: &Outcome<T>,
    ) {
        let difference = match (found, expected) {
            (Err(Failure::Left(_)), _) => {
                self.left_to_cpu += 1;
                return;
            }
            (Ok(found), Ok(expected)) => {
                self.values += expected.count();
                found.difference(expected)
            }
            (Err(found), Err(expected)) if found == *expected => None,
            (Err(found), _) => Some(found.to_string()),
            (Ok(_), Err(expected)) => Some(format!("taken, where the core says: {expected}")),
        };
        self.cases += 1;
        if let Some(difference) = difference {
            self.mismatches += 1;
            if self.described.len() < DESCRIBED {
                self.described.push(format!("{}: {difference}", what()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared<T: Compared>(found: Outcome<T>, expected: &Outcome<T>) -> Group {
        let mut group = Group::default();
        group.compare(|| "case".to_owned(), found, expected);
        group
    }

    #[test]
    fn one_byte_that_differs_is_a_mismatch_and_is_described() {
        let group = compared(Ok(vec![1_u8, 2, 3]), &Ok(vec![1, 9, 3]));
        assert_eq!((group.cases, group.mismatches), (1, 1));
        assert_eq!(group.described, ["case: [1] is 2, not 9 (1 of 3 differ)"]);
    }

    #[test]
    fn zeros_of_another_sign_differ_and_nans_do_not() {
        let numbers = |values: &[f32]| Numbers::F32(values.to_vec());
        assert_eq!(
            compared(Ok(numbers(&[0.0])), &Ok(numbers(&[-0.0]))).mismatches,
            1
        );
        let nans = [f32::NAN, -f32::NAN];
        assert_eq!(
            compared(Ok(numbers(&nans[..1])), &Ok(numbers(&nans[1..]))).mismatches,
            0
        );
        assert_eq!(
            compared(Ok(numbers(&[1.0])), &Ok(numbers(&nans[..1]))).mismatches,
            1
        );
    }

    #[test]
    fn a_refusal_in_other_words_or_of_good_input_is_a_mismatch() {
        let refused = |words: &str| Err::<Vec<u8>, _>(Failure::Refused(words.to_owned()));
        assert_eq!(compared(refused("a"), &refused("a")).mismatches, 0);
        assert_eq!(compared(refused("a"), &refused("b")).mismatches, 1);
        assert_eq!(compared(refused("a"), &Ok(vec![1])).mismatches, 1);
        assert_eq!(compared(Ok(vec![1]), &refused("a")).mismatches, 1);
    }

    #[test]
    fn what_is_left_to_the_cpu_is_counted_and_no_mismatch() {
        let left = Err::<Vec<u8>, _>(Failure::Left("a rule".to_owned()));
        let group = compared(left, &Ok(vec![1]));
        assert_eq!(
            (group.cases, group.left_to_cpu, group.mismatches),
            (0, 1, 0)
        );
    }
}
