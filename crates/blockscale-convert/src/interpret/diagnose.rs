//! What readings and comparisons say, as diagnoses.

use blockscale_model::doctor::{Diagnosis, Rule, rules};
use blockscale_model::interpret::{
    Answer, Certainty, GlobalUse, Interpretation, NibbleOrder, Question, ScaleOrder, ScaleUse,
    SignForm, moves_codes,
};

use crate::ConvertError;
use crate::doctor::Scope;
use crate::doctor::counting::Counting;
use crate::weights::Weights;

use super::{CompareOptions, ExamineOptions, Explained, Reading, compare, examine};

/// What interpreting a checkpoint found.
#[derive(Clone, Debug, Default)]
pub struct Interpreted {
    /// Weights that are meant otherwise than the file says.
    pub diagnoses: Vec<Diagnosis>,
    /// Bytes of the checkpoint's tensors that were read.
    pub bytes_read: u64,
}

/// A checkpoint of so many bytes is judged whole in a sample too.
const SMALL: u64 = 64 << 20;

/// A sample is this part of a larger checkpoint, and never more than so many bytes.
const PART: u64 = 400;
const MOST: u64 = 256 << 20;

/// Judges a checkpoint, by a reference where there is one, else by its bytes alone.
///
/// # Errors
/// What the sources say.
pub fn diagnose(
    weights: Weights<'_>,
    reference: Option<Weights<'_>>,
    scope: Scope,
) -> Result<Interpreted, ConvertError> {
    let counting = Counting::new(weights.source);
    let weights = Weights {
        source: &counting,
        ..weights
    };
    let total = weights.checkpoint.total_bytes();
    let (seed, max_bytes) = match scope {
        Scope::Sample { seed } if total > SMALL => (seed, MOST.min(total / PART)),
        Scope::Sample { seed } => (seed, u64::MAX),
        Scope::Full => (0, u64::MAX),
    };
    let diagnoses = match reference {
        Some(reference) => {
            let options = CompareOptions {
                seed,
                max_bytes,
                ..CompareOptions::default()
            };
            diagnose_explained(&compare(weights, reference, &options)?)
        }
        None => {
            let mut options = ExamineOptions {
                seed,
                max_bytes,
                ..ExamineOptions::default()
            };
            if max_bytes < u64::MAX {
                options.blocks /= 4;
                options.anchor_bytes = 0;
            }
            diagnose_readings(&examine(weights, &options)?)
        }
    };
    Ok(Interpreted {
        diagnoses,
        bytes_read: counting.bytes(),
    })
}

/// The rule that an interpretation breaks, the gravest departure first. `None` for what is as stored.
fn rule_of(found: &Interpretation) -> Option<&'static Rule> {
    let of_order = match (found.code_rows, found.scales) {
        (_, ScaleOrder::Twice(_) | ScaleOrder::Undone(_)) => Some(&rules::SCALES_LAID_OUT_TWICE),
        (Some(_), ScaleOrder::Linear) => Some(&rules::ROWS_APART),
        (None, ScaleOrder::In(layout)) if moves_codes(layout) => Some(&rules::ROWS_APART),
        (_, ScaleOrder::In(_)) => Some(&rules::SCALES_LAID_OUT),
        (_, ScaleOrder::Transposed) => Some(&rules::SCALES_BY_COLUMN),
        (None, ScaleOrder::Linear) => None,
    };
    let of_codes = match (found.element, found.nibbles, found.sign) {
        (Some(_), _, _) => Some(&rules::OTHER_ELEMENT),
        (_, NibbleOrder::Swapped | NibbleOrder::Halves, _) => Some(&rules::NIBBLE_ORDER),
        (_, _, SignForm::TwosComplement) => Some(&rules::TWOS_COMPLEMENT),
        _ => None,
    };
    let of_scales = match (found.scale_use, found.global) {
        (ScaleUse::Divides, _) => Some(&rules::SCALES_DIVIDE),
        (_, GlobalUse::Inverted) => Some(&rules::GLOBAL_INVERTED),
        (_, GlobalUse::Unused | GlobalUse::Times(_)) => Some(&rules::FACTOR_LOST),
        _ => None,
    };
    of_order.or(of_codes).or(of_scales)
}

/// Diagnoses of weights that bytes alone say are meant otherwise. What a second-level scale is has
/// rules of its own, which look at every weight.
pub fn diagnose_readings(readings: &[Reading]) -> Vec<Diagnosis> {
    let of_reading = |reading: &Reading| {
        let found = Interpretation {
            global: GlobalUse::AsStored,
            ..reading.interpretation
        };
        let decisive = reading.answers.iter().filter(|answer| departs(answer));
        let grounds: Vec<String> = decisive.map(grounds).collect();
        let message = format!("read rightly with {found}: {}", grounds.join("; "));
        Some(Diagnosis::new(rule_of(&found)?, message).of_tensor(reading.name.clone()))
    };
    readings.iter().filter_map(of_reading).collect()
}

fn departs(answer: &Answer) -> bool {
    answer.certainty() == Certainty::Decided
        && !answer.best().is_as_stored()
        && answer.question != Question::GlobalScale
}

fn grounds(answer: &Answer) -> String {
    let what = match answer.question {
        Question::ScaleOrder => "blocks fit rows and columns",
        Question::RowOrder => "rows go with channels",
        Question::NibbleOrder => "columns go with channels",
        Question::Sign => "codes are as frequent above zero as below",
        Question::GlobalScale => "numbers have the size of weights",
    };
    let stored = answer
        .candidates
        .iter()
        .find(|c| c.interpretation.is_as_stored());
    let behind = stored.map_or(answer.margin(), |stored| stored.behind);
    let others: Vec<String> = answer.equals().map(|other| other.to_string()).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("; as good is {}", others.join(", or ")),
    };
    format!(
        "{what} better by {behind:.0} nats than as stored, by {:.0} than the next \
         (confidence {:.2} %){others}",
        answer.margin(),
        100.0 * answer.confidence()
    )
}

/// Diagnoses of weights that a reference says are meant otherwise, or are other weights.
pub fn diagnose_explained(explained: &[Explained]) -> Vec<Diagnosis> {
    explained
        .iter()
        .filter_map(|weight| {
            let best = weight.ranking.first()?;
            let (rule, message) = match weight.interpretation() {
                Some(found) => (
                    rule_of(&found)?,
                    format!(
                        "read rightly with {found}: {:.1} dB against the reference, {:.1} as stored, \
                         {:.1} by the next interpretation",
                        best.sqnr_db,
                        weight.as_stored_db,
                        best.sqnr_db - weight.margin_db()
                    ),
                ),
                None => (
                    &rules::NOT_THE_REFERENCE,
                    format!(
                        "the best interpretation ({}) has {:.1} dB against the reference, a {} \
                         weight has {:.1} at least",
                        best.interpretation, best.sqnr_db, weight.format, weight.bound_db
                    ),
                ),
            };
            Some(Diagnosis::new(rule, message).of_tensor(weight.name.clone()))
        })
        .collect()
}
