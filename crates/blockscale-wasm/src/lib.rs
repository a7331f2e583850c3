//! blockscale for a browser: types in, types out.
//!
//! Three steps, each of which says which bytes it needs and is given them, so that a checkpoint may
//! lie anywhere that byte ranges can be read:
//!
//! 1. [`Opening`]: from names and sizes of files to a [`Checkpoint`].
//! 2. [`Checkpoint`]: its weights in columns, its findings, and for rows of a weight the ranges of
//!    their bytes.
//! 3. [`Sight`]: those rows, reduced to heat maps, histograms, statistics, or one block number by
//!    number.
//!
//! A checkpoint far away is opened [in parts](Opening::in_parts): it can be looked at after one header.
//! [`Checkpoint::judge`] says what the bytes of a matrix tell of how they are meant, and a [`Survey`]
//! counts over a few rows of each weight what the doctor's rules ask.
//!
//! ```js
//! const opening = new Opening(["model.safetensors"], [file.size]);
//! for (let want; (want = opening.wants()[0]); )
//!   opening.give(want.file, want.start, await read(want));
//! const checkpoint = opening.finish();
//! const region = new Region(weight, 0, 0, 1024);
//! const bytes = await Promise.all(checkpoint.scalePieces(region).map(read));
//! const map = checkpoint.scales(region, bytes).heatMap(Layer.Scales, window, 512, 256);
//! ```
//!
//! The arithmetic is the core's, the meaning of files the model's, the reductions those of
//! [`blockscale_wgpu::cpu`]. Errors are JavaScript's `Error` with the message of the library.
//! Offsets and counts are JavaScript numbers, exact up to 2^53.

mod block;
mod checkpoint;
mod compare;
mod facts;
mod held;
mod js;
mod judging;
mod looks;
mod opening;
mod pictures;
mod region;
mod sight;
mod stats;
mod survey;
mod table;
#[cfg(test)]
mod tests;

pub use checkpoint::Checkpoint;
pub use compare::{Comparison, scatter};
pub use opening::Opening;
pub use pictures::{HeatMap, Histogram, Layer, Rect};
pub use region::Region;
pub use sight::Sight;
pub use survey::Survey;
pub use table::WeightTable;

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

/// The version of the library.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The names of the layouts of scales, `linear` first.
#[wasm_bindgen(js_name = layoutNames)]
pub fn layout_names() -> Vec<String> {
    let all = blockscale::layout::ScaleLayout::ALL.iter();
    all.map(|layout| layout.name().to_owned()).collect()
}
