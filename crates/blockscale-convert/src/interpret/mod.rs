//! How the bytes of a checkpoint are meant, where a file cannot be believed.
//!
//! What bytes may be meant as, and how one matrix is judged, is in [`blockscale_model::interpret`].
//! Here they are read: which interpretation is right is told
//!
//! - by a reference, a checkpoint of the same weights that is right: [`compare`] tries all
//!   interpretations of some rows and ranks them by SQNR;
//! - by the bytes alone: [`examine`] judges a [`Sample`] of each weight, and says how sure it is.
//!
//! What bytes can tell, how, and how often that was right on real weights is in
//! `docs/interpretations.md`.

mod anchors;
mod counterpart;
mod diagnose;
mod examine;
mod products;
mod reading;
mod reference;

pub use blockscale_model::interpret::{
    Answer, Candidate, Certainty, Channels, GlobalUse, Interpretation, NibbleOrder, Question,
    Sample, ScaleOrder, ScaleUse, SignForm, orders,
};
pub use diagnose::{Interpreted, diagnose, diagnose_explained, diagnose_readings};
pub use examine::{ExamineOptions, Reading, examine};
pub use reference::{CompareOptions, Explained, Ranked, compare};
