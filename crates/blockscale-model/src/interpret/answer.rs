//! What was found out about one question, and how sure it is.

use serde::Serialize;

use super::Interpretation;

/// A question that bytes, or a reference, answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// The order of scales and of rows of codes, and whether scales multiply.
    ScaleOrder,
    /// Which of several orders of rows, in which blocks are equally loud.
    RowOrder,
    /// Which code of a byte comes first.
    NibbleOrder,
    /// What the highest bit of a code says.
    Sign,
    /// What the second-level scale is.
    GlobalScale,
}

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// The bytes do not tell.
    Undecided,
    /// Right in about nine cases of ten.
    Likely,
    /// Right in more than 99 cases of a hundred.
    Decided,
}

/// An interpretation and how much worse it explains the bytes than the best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The interpretation.
    pub interpretation: Interpretation,
    /// Nats behind the best: its probability is smaller by a factor of `e` to this power.
    pub behind: f64,
}

impl Candidate {
    /// Whether it is so far behind that it is certainly wrong.
    pub fn is_ruled_out(&self) -> bool {
        self.behind >= DECIDED
    }
}

/// Nats ahead of all others from which an answer is decided.
const DECIDED: f64 = 8.0;

/// Nats from which it is likely.
const LIKELY: f64 = 4.0;

/// The interpretations that one question leaves open, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// All candidates, best first; of those that the bytes cannot tell apart, the simplest first.
    pub candidates: Vec<Candidate>,
}

/// Two candidates nearer than this say the same of every byte.
const SAME: f64 = 1e-6;

impl Answer {
    /// Ranks candidates by the nats that each is behind a common point.
    pub(super) fn rank(question: Question, costs: Vec<(Interpretation, f64)>) -> Self {
        let best = costs
            .iter()
            .map(|(_, cost)| *cost)
            .fold(f64::INFINITY, f64::min);
        let mut candidates: Vec<Candidate> = costs
            .into_iter()
            .map(|(interpretation, cost)| {
                let behind = cost - best;
                let behind = if behind < SAME { 0.0 } else { behind };
                Candidate {
                    interpretation,
                    behind,
                }
            })
            .collect();
        candidates.sort_by(|a, b| {
            let simpler = || {
                a.interpretation
                    .departures()
                    .cmp(&b.interpretation.departures())
            };
            a.behind.total_cmp(&b.behind).then_with(simpler)
        });
        Self {
            question,
            candidates,
        }
    }

    /// The interpretation that explains the bytes best.
    pub fn best(&self) -> Interpretation {
        let first = self.candidates.first();
        first.map_or(Interpretation::AS_STORED, |first| first.interpretation)
    }

    /// Others that explain them exactly as well: only a reference tells them from the best.
    pub fn equals(&self) -> impl Iterator<Item = Interpretation> + '_ {
        let same = self
            .candidates
            .iter()
            .skip(1)
            .take_while(|c| c.behind == 0.0);
        same.map(|candidate| candidate.interpretation)
    }

    /// Nats between the best, with its equals, and the next: 0 where there is no other.
    pub fn margin(&self) -> f64 {
        let next = self.candidates.iter().find(|c| c.behind > 0.0);
        next.map_or(0.0, |next| next.behind)
    }

    /// The probability that the best, or one of its equals, is right.
    ///
    /// Fitted to real weights of which a few blocks each were judged (docs/interpretations.md); it
    /// is never 1.
    pub fn confidence(&self) -> f64 {
        let odds = 0.62 * self.margin() - 0.45;
        (1.0 / (1.0 + libm::exp(-odds))).min(0.9999)
    }

    /// How sure the best is.
    pub fn certainty(&self) -> Certainty {
        match self.margin() {
            margin if margin >= DECIDED => Certainty::Decided,
            margin if margin >= LIKELY => Certainty::Likely,
            _ => Certainty::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::{NibbleOrder, ScaleOrder};

    fn answer(costs: [f64; 3]) -> Answer {
        let transposed = Interpretation {
            scales: ScaleOrder::Transposed,
            ..Interpretation::AS_STORED
        };
        let both = Interpretation {
            nibbles: NibbleOrder::Swapped,
            ..transposed
        };
        let readings = [both, transposed, Interpretation::AS_STORED];
        Answer::rank(
            Question::ScaleOrder,
            readings.into_iter().zip(costs).collect(),
        )
    }

    #[test]
    fn of_equals_the_simplest_is_first() {
        let answer = answer([5.0, 5.0, 105.0]);
        assert_eq!(answer.best().to_string(), "scales transposed");
        assert_eq!(answer.equals().count(), 1);
        assert_eq!(answer.margin(), 100.0);
        assert_eq!(answer.certainty(), Certainty::Decided);
    }

    #[test]
    fn near_ties_are_undecided() {
        let answer = answer([0.0, 1.0, 3.0]);
        assert_eq!(answer.certainty(), Certainty::Undecided);
        assert!(answer.confidence() < 0.6);
    }
}
