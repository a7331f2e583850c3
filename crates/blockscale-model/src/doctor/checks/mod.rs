//! The built-in checks, by what they look at.

mod architecture;
mod config;
mod globals;
mod ignored;
mod layouts;
mod numbers;
mod scales;
mod siblings;

use blockscale::format::{Block, Element, Format, ScaleElement};

use super::{Check, known};

/// All of them.
pub(super) const BUILTIN: &[&'static dyn Check] = &[
    &known::noticed,
    &scales::constant,
    &scales::unusable,
    &globals::direction,
    &globals::shared,
    &globals::inputs,
    &numbers::not_finite,
    &numbers::fp8,
    &numbers::block_maximum,
    &numbers::cast_not_lossless,
    &numbers::zeros,
    &siblings::near_copies,
    &siblings::exchanged,
    &layouts::on_disk,
    &architecture::deepseek_v4,
    &architecture::layers,
    &config::excluded,
    &config::announced,
    &config::block_size,
    &config::tied,
];

/// The least value that a block's largest code has when its scale was made for it by any rule in use;
/// `None` where scales cover more than blocks, or where it is not known.
///
/// NVFP4 aims at 6, or at 4 where that is better. A power of two is at most twice too large, or for
/// MXFP4 leaves 3.
fn fresh_least(format: &Format) -> Option<f32> {
    let blocks = matches!(format.block, Block::Grid { .. } | Block::Row);
    let least = match (format.element, format.scale) {
        (Element::E2m1, ScaleElement::E4m3Fn) => 4.0,
        (Element::E2m1, ScaleElement::E8m0Fnu) => 3.0,
        (Element::E4m3Fn, _) => 224.0,
        _ => return None,
    };
    blocks.then_some(least)
}

/// `3 of 4 blocks (75 %)`.
fn share(some: u64, all: u64, noun: &str) -> String {
    let plural = if all == 1 { "" } else { "s" };
    let percent = some as f64 / all.max(1) as f64 * 100.0;
    let digits = usize::from(percent < 10.0 && percent > 0.0);
    format!("{some} of {all} {noun}{plural} ({percent:.digits$} %)")
}
