//! A checkpoint read as its bytes are meant, so that a conversion of it is its repair.
//!
//! [`fixes_of_readings`] and [`fixes_of_reference`] say which weights are meant otherwise than the
//! file says. [`Repaired`] puts a source before the damaged one that serves those bytes as every
//! reader expects them: planning, converting and verifying then go as for any checkpoint.

mod fixes;
mod source;

pub use fixes::{Fix, Unsettled, fixes_of_readings, fixes_of_reference};

use blockscale::{Element, Format, ScaleElement};
use blockscale_model::catalog::{Catalog, Encoding};
use blockscale_model::{Checkpoint, Dtype};

use crate::weights::Weights;
use source::RepairedSource;

/// A damaged checkpoint, as it is meant.
pub struct Repaired<'a> {
    checkpoint: Checkpoint,
    catalog: Catalog,
    source: RepairedSource<'a>,
}

impl<'a> Repaired<'a> {
    /// `weights` with `fixes` carried out on whatever is read of them.
    ///
    /// Nothing is read yet. Orders of rows and of scales hold one matrix of a weight in memory
    /// while it is read, beside the buffers of a conversion.
    pub fn new(weights: Weights<'a>, fixes: &[Fix]) -> Self {
        let mut checkpoint = weights.checkpoint.clone();
        let mut catalog = weights.catalog.clone();
        for fix in fixes {
            if let Some(element) = fix.interpretation.element {
                let weight = &mut catalog.weights[fix.weight];
                checkpoint.tensors[weight.codes()].dtype = dtype(element);
                weight.encoding = Encoding::Block(Format {
                    element,
                    ..fix.format
                });
            }
        }
        Self {
            catalog,
            checkpoint,
            source: RepairedSource::new(weights, fixes),
        }
    }

    /// The repaired checkpoint, to plan and convert.
    pub fn weights(&self) -> Weights<'_> {
        Weights {
            checkpoint: &self.checkpoint,
            catalog: &self.catalog,
            source: &self.source,
        }
    }

    /// Its tensors.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Its weights.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

/// The dtype that says that codes are of this element.
fn dtype(element: Element) -> Dtype {
    match element {
        Element::E5m2 => Dtype::F8_E5M2,
        _ => Dtype::F8_E4M3,
    }
}

/// Whether a weight's scales can only say what they mean by being powers of two: the config
/// announces them, and the file holds others.
pub fn needs_powers_of_two(weights: Weights<'_>) -> bool {
    let config = weights.checkpoint.config.as_ref();
    let announced = config
        .and_then(|config| {
            config
                .get("quantization_config")?
                .get("scale_fmt")?
                .as_str()
        })
        .is_some_and(|scales| scales == "ue8m0");
    let stored = weights.catalog.weights.iter().any(|weight| {
        let Encoding::Block(format) = weight.encoding else {
            return false;
        };
        format.scale == ScaleElement::F32 && format.block_rows(256) > 1
    });
    announced && stored
}
