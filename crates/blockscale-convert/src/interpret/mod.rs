//! How the bytes of a checkpoint are meant, where a file cannot be believed.
//!
//! Scales in a runtime's tiles, swapped nibbles or an inverted global scale are as plausible, byte
//! by byte, as right ones. An [`Interpretation`] says what bytes are meant as; its methods turn them
//! into what every reader expects, and back. Which one is right is told
//!
//! - by a reference, a checkpoint of the same weights that is right: [`compare`] tries all
//!   interpretations of some rows and ranks them by SQNR;
//! - by the bytes alone: [`examine`] judges a [`Sample`] of each weight, and says how sure it is.
//!
//! What bytes can tell, how, and how often that was right on real weights is in
//! `docs/interpretations.md`.

mod anchors;
mod answer;
mod candidates;
mod channels;
mod codes;
mod counterpart;
mod diagnose;
mod examine;
mod interpretation;
mod levels;
mod planes;
mod products;
mod reference;
mod sample;
mod unaided;

pub use answer::{Answer, Candidate, Certainty, Question};
pub use candidates::orders;
pub use diagnose::{Interpreted, diagnose, diagnose_explained, diagnose_readings};
pub use examine::{Channels, ExamineOptions, Reading, examine};
pub use interpretation::{GlobalUse, Interpretation, NibbleOrder, ScaleOrder, ScaleUse, SignForm};
pub use reference::{CompareOptions, Explained, Ranked, compare};
pub use sample::Sample;
