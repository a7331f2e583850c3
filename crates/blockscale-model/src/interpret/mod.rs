//! How the bytes of a weight are meant, where a file cannot be believed.
//!
//! Scales in a runtime's tiles, swapped nibbles or an inverted global scale are as plausible, byte
//! by byte, as right ones. An [`Interpretation`] says what bytes are meant as; its methods turn them
//! into what every reader expects, and back. A [`Sample`] of a matrix is judged by its bytes alone:
//! [`Sample::judge`] says which interpretations explain them, and how sure that is.
//!
//! ```
//! use blockscale::{Format, Shape};
//! use blockscale_model::interpret::{Channels, Question, Sample};
//!
//! // One row: nothing tells the order of its scales.
//! let (codes, scales) = (vec![0x21; 16], vec![0x38; 2]);
//! let sample = Sample::whole(Format::NVFP4, Shape::new(1, 32), codes, scales, 0.5);
//! let (found, answers) = sample.judge(&Channels::default());
//! assert!(found.is_as_stored());
//! let order = answers.iter().find(|answer| answer.question == Question::ScaleOrder).unwrap();
//! assert_eq!((order.candidates.len(), order.margin()), (1, 0.0));
//! ```

mod answer;
mod candidates;
mod channels;
mod codes;
mod interpretation;
mod judge;
mod levels;
mod planes;
mod sample;
mod structure;
mod unaided;

pub use answer::{Answer, Candidate, Certainty, Question};
pub use candidates::{
    elements, has_global, moves_codes, nibble_orders, orders, scale_uses, sign_forms,
};
pub use interpretation::{GlobalUse, Interpretation, NibbleOrder, ScaleOrder, ScaleUse, SignForm};
pub use judge::Channels;
pub use sample::{Order, Sample, block_height, block_width};
pub use structure::{LevelsOf, Structure};
