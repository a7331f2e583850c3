//! What is to be repaired.

use blockscale::format::Format;

use crate::interpret::{Certainty, Explained, Interpretation, Question, Reading};

/// A weight that is meant otherwise than its file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// Index into [`Catalog::weights`](blockscale_model::catalog::Catalog::weights).
    pub weight: usize,
    /// Its name.
    pub name: String,
    /// The format that the file states.
    pub format: Format,
    /// How its bytes are meant.
    pub interpretation: Interpretation,
}

/// A weight of which it is not known how it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// Its name.
    pub name: String,
    /// What is not known.
    pub reason: String,
}

/// What a reference says: weights to repair, and weights that no interpretation explains.
pub fn fixes_of_reference(explained: &[Explained]) -> (Vec<Fix>, Vec<Unsettled>) {
    let (mut fixes, mut unsettled) = (Vec::new(), Vec::new());
    for weight in explained {
        match weight.interpretation() {
            Some(found) if found.is_as_stored() => {}
            Some(interpretation) => fixes.push(Fix {
                weight: weight.weight,
                name: weight.name.clone(),
                format: weight.format,
                interpretation,
            }),
            None => unsettled.push(Unsettled {
                name: weight.name.clone(),
                reason: match weight.ranking.first() {
                    Some(best) => format!(
                        "the best interpretation ({}) has {:.1} dB against the reference, \
                         {:.1} are expected",
                        best.interpretation, best.sqnr_db, weight.bound_db
                    ),
                    None => "it has no number to compare".to_owned(),
                },
            }),
        }
    }
    (fixes, unsettled)
}

/// What bytes alone say. One program wrote a checkpoint: where weights of a format are undecided in
/// a question and all decided ones agree, at least three of them, the undecided follow.
pub fn fixes_of_readings(readings: &[Reading]) -> (Vec<Fix>, Vec<Unsettled>) {
    let (mut fixes, mut unsettled) = (Vec::new(), Vec::new());
    for reading in readings {
        let mut interpretation = reading.interpretation;
        if let Some(nibbles) = agreed(readings, reading, Question::NibbleOrder, |i| i.nibbles) {
            interpretation.nibbles = nibbles;
        }
        if let Some(sign) = agreed(readings, reading, Question::Sign, |i| i.sign) {
            interpretation.sign = sign;
        }
        let orders = |i: &Interpretation| (i.scales, i.code_rows, i.scale_use);
        if let Some(order) = agreed(readings, reading, Question::ScaleOrder, orders) {
            (
                interpretation.scales,
                interpretation.code_rows,
                interpretation.scale_use,
            ) = order;
        }
        if let Some((scales, code_rows)) = agreed(readings, reading, Question::RowOrder, |i| {
            (i.scales, i.code_rows)
        }) {
            (interpretation.scales, interpretation.code_rows) = (scales, code_rows);
        }
        if let Some(reason) = ambiguous(readings, reading) {
            unsettled.push(Unsettled {
                name: reading.name.clone(),
                reason,
            });
        } else if !interpretation.is_as_stored() {
            fixes.push(Fix {
                weight: reading.weight,
                name: reading.name.clone(),
                format: reading.format,
                interpretation,
            });
        }
    }
    (fixes, unsettled)
}

/// What the decided weights of the same format answer, where this one is undecided and does not
/// rule it out.
fn agreed<T: PartialEq>(
    readings: &[Reading],
    reading: &Reading,
    question: Question,
    part: impl Fn(&Interpretation) -> T,
) -> Option<T> {
    const ENOUGH: usize = 3;
    let own = reading.answer(question)?;
    if own.certainty() == Certainty::Decided {
        return None;
    }
    let peers = readings.iter().filter(|peer| peer.format == reading.format);
    let decided = peers.filter_map(|peer| peer.answer(question));
    let decided: Vec<T> = decided
        .filter(|answer| answer.certainty() == Certainty::Decided)
        .map(|answer| part(&answer.best()))
        .collect();
    let [first, rest @ ..] = decided.as_slice() else {
        return None;
    };
    let possible = own
        .candidates
        .iter()
        .find(|c| part(&c.interpretation) == *first)?;
    let agree = rest.iter().all(|answer| answer == first);
    (agree && decided.len() >= ENOUGH && !possible.is_ruled_out()).then(|| {
        let mut decided = decided;
        decided.swap_remove(0)
    })
}

/// Why a decided order cannot be repaired: others explain the bytes as well, and would give other
/// numbers.
fn ambiguous(readings: &[Reading], reading: &Reading) -> Option<String> {
    let answer = reading.answer(Question::ScaleOrder)?;
    let departs = answer.certainty() == Certainty::Decided && !answer.best().is_as_stored();
    let others: Vec<String> = answer.equals().map(|other| other.to_string()).collect();
    if !departs || others.is_empty() || rows_are_settled(readings, reading) {
        return None;
    }
    Some(format!(
        "its bytes do not tell {} from {}; give a reference",
        answer.best(),
        others.join(", or ")
    ))
}

/// Whether channels settle the order of this weight's rows.
fn rows_are_settled(readings: &[Reading], reading: &Reading) -> bool {
    let own = reading.answer(Question::RowOrder);
    let decided = own.is_some_and(|answer| answer.certainty() == Certainty::Decided);
    let orders = |i: &Interpretation| (i.scales, i.code_rows);
    decided || agreed(readings, reading, Question::RowOrder, orders).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::{Answer, Candidate, NibbleOrder};

    fn reading(weight: usize, nibbles: [(NibbleOrder, f64); 2]) -> Reading {
        let candidates = nibbles.map(|(nibbles, behind)| Candidate {
            interpretation: Interpretation {
                nibbles,
                ..Interpretation::AS_STORED
            },
            behind,
        });
        let answer = Answer {
            question: Question::NibbleOrder,
            candidates: candidates.to_vec(),
        };
        let decided = answer.certainty() == Certainty::Decided;
        Reading {
            weight,
            name: format!("w{weight}"),
            matrix: 0,
            format: Format::NVFP4,
            interpretation: match decided {
                true => answer.best(),
                false => Interpretation::AS_STORED,
            },
            answers: vec![answer],
        }
    }

    const SWAPPED: NibbleOrder = NibbleOrder::Swapped;
    const PAIRS: NibbleOrder = NibbleOrder::Pairs;

    #[test]
    fn the_undecided_follow_three_that_agree() {
        let clear = |weight| reading(weight, [(SWAPPED, 0.0), (PAIRS, 50.0)]);
        let unclear = reading(3, [(PAIRS, 0.0), (SWAPPED, 1.0)]);
        let (fixes, _) = fixes_of_readings(&[clear(0), clear(1), clear(2), unclear.clone()]);
        assert_eq!(fixes.len(), 4);
        assert_eq!(fixes[3].interpretation.nibbles, SWAPPED);

        let (fixes, _) = fixes_of_readings(&[clear(0), clear(1), unclear]);
        assert_eq!(fixes.len(), 2);
    }

    #[test]
    fn nobody_follows_a_split_vote() {
        let clear = |weight| reading(weight, [(SWAPPED, 0.0), (PAIRS, 50.0)]);
        let other = reading(3, [(PAIRS, 0.0), (SWAPPED, 50.0)]);
        let unclear = reading(4, [(PAIRS, 0.0), (SWAPPED, 1.0)]);
        let readings = [clear(0), clear(1), clear(2), other, unclear];
        let (fixes, _) = fixes_of_readings(&readings);
        assert_eq!(
            fixes.iter().map(|f| f.weight).collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }
}
