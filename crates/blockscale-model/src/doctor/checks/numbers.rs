//! Codes and numbers.

use blockscale::format::{Block, Element, GlobalScale, Packing, ScaleElement};

use super::super::rules::{
    BLOCK_MAXIMUM, CAST_AS_INTEGERS, CAST_NOT_LOSSLESS, NAN_CODES, NON_FINITE_VALUES, SATURATED,
    UNDERFLOW, WEIGHT_OF_ZEROS,
};
use super::super::{Diagnosis, Evidence, Subject};
use super::scales::{Measured, measured};
use super::{fresh_least, share};
use crate::catalog::Encoding;

/// Codes that it takes to speak of their distribution.
const ENOUGH: u64 = 1000;

/// Blocks that it takes to speak of their largest codes.
const ENOUGH_BLOCKS: u64 = 2;

/// Share of blocks below the least value of a fresh quantisation.
const STALE: f64 = 0.05;

/// NaN and infinities, in codes or as numbers.
pub(super) fn not_finite(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    for (weight, evidence) in subject.measured() {
        let values = &evidence.values;
        let places = places(evidence);
        let diagnosis = match (&weight.encoding, evidence.blocks.as_deref()) {
            (Encoding::Block(format), Some(blocks)) => {
                let nan = blocks.count_where(format.element, |value| !value.is_finite());
                if nan == 0 {
                    continue;
                }
                let of = share(nan, blocks.count(), "code");
                Diagnosis::new(&NAN_CODES, format!("{of} mean NaN or infinity{places}"))
            }
            _ if values.nan + values.inf > 0 => Diagnosis::new(
                &NON_FINITE_VALUES,
                format!("{} NaN and {} infinities{places}", values.nan, values.inf),
            ),
            _ => continue,
        };
        let file = subject.file_of(weight);
        found.push(diagnosis.of_tensor(&weight.name).in_file(file));
    }
}

/// `, at (3, 17), (3, 18)`; rows are counted over all matrices.
fn places(evidence: &Evidence) -> String {
    let places = evidence.not_finite_at.iter();
    let places: Vec<String> = places.map(|[row, col]| format!("({row}, {col})")).collect();
    match places.is_empty() {
        true => String::new(),
        false => format!(", at (row, column) {}", places.join(", ")),
    }
}

/// FP8 codes whose distribution no quantiser gives.
pub(super) fn fp8(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    for measured in measured(subject) {
        let element = measured.format.element;
        if element.bits() != 8 {
            continue;
        }
        let count = |is: &dyn Fn(f32) -> bool| measured.blocks.count_where(element, is);
        let written = count(&|value| value != 0.0);
        if written < ENOUGH {
            continue;
        }
        let all = measured.blocks.count();
        let top = count(&|value| value.abs() == element.max_finite());
        let explained = 4.0 / elements_of_block(&measured) + 0.005;
        let saturated = top as f64 > all as f64 * explained;
        if saturated {
            let of = share(top, all, "code");
            let message = format!("{of} are {}", element.max_finite());
            found.push(measured.of_codes(subject, &SATURATED, message));
        }
        let normal = smallest_normal(element);
        let low = count(&|value| value.abs() < normal);
        // Weights that were cast as they are lie there, and have a rule of their own.
        let scales = &measured.blocks.scales;
        let unscaled = scales.is_constant() && scales.max == 1.0;
        if low * 2 > all && !unscaled {
            let of = share(low, all, "code");
            let message = format!("{of} are zero or below {normal}");
            found.push(measured.of_codes(subject, &UNDERFLOW, message));
        }
        let whole = count(&|value| value.fract() != 0.0) == 0;
        // Truncation leaves zeros and ones; codes of another element have neither.
        let small = count(&|value| value.abs() <= 1.0);
        if whole && !saturated && element == Element::E4m3Fn && small * 1000 >= all {
            let message = format!("all {written} codes that are not zero are whole numbers");
            found.push(measured.of_codes(subject, &CAST_AS_INTEGERS, message));
        }
    }
}

fn elements_of_block(measured: &Measured<'_>) -> f64 {
    let shape = measured.weight.matrices().shape;
    let count = match measured.format.block {
        Block::Grid { rows, cols } => rows.min(shape.rows) * cols.min(shape.cols),
        Block::Row => shape.cols,
        Block::Tensor => shape.len().unwrap_or(usize::MAX),
    };
    count.max(1) as f64
}

/// The smallest positive number of an 8-bit element with all bits of its fraction.
fn smallest_normal(element: Element) -> f32 {
    element.decode(1 << element.mantissa_bits())
}

/// Blocks whose largest code does not go with their scale.
pub(super) fn block_maximum(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    for measured in measured(subject) {
        let Measured { format, blocks, .. } = &measured;
        let Some(least) = fresh_least(format) else {
            continue;
        };
        if is_cast(&measured)
            || blocks.scales.is_constant()
            || is_cut(&measured)
            || is_lost(&measured)
        {
            continue;
        }
        let (all, below) = blocks.blocks_where(format.element, |value| value < least);
        if all >= ENOUGH_BLOCKS && below as f64 > all as f64 * STALE {
            let of = share(below, all, "block");
            let message = format!("in {of} the largest code is below {least}");
            found.push(measured.of_codes(subject, &BLOCK_MAXIMUM, message));
        }
    }
}

/// Whether the scales were taken over from MXFP4: powers of two, equal in pairs. Half of the blocks
/// of such a weight do not hold the number that their scale was made for.
fn is_cast(measured: &Measured<'_>) -> bool {
    let scales = &measured.blocks.scales;
    let one_in_a_hundred = |n: u64, all: u64| n * 100 <= all;
    measured.format.element == Element::E2m1
        && measured.format.scale == ScaleElement::E4m3Fn
        && scales.pairs >= 8
        && !scales.is_constant()
        && one_in_a_hundred(scales.not_power_of_two, scales.count)
        && one_in_a_hundred(scales.pairs - scales.equal_pairs, scales.pairs)
}

/// Whether the codes came from another format, whose blocks are smaller: FP8 that only uses values of
/// FP4 was made from it, and keeps its largest values wherever they lie.
fn is_cut(measured: &Measured<'_>) -> bool {
    let element = measured.format.element;
    element == Element::E4m3Fn
        && measured.format.packing == Packing::Dense
        && measured
            .blocks
            .count_where(element, |value| !is_fp4_times_power(value))
            == 0
}

/// Whether most FP8 codes are zero or subnormal: then the scales are too large, which is another rule.
fn is_lost(measured: &Measured<'_>) -> bool {
    let element = measured.format.element;
    let normal = smallest_normal(element);
    let low = measured
        .blocks
        .count_where(element, |value| value.abs() < normal);
    element.bits() == 8 && low * 2 > measured.blocks.count()
}

/// 0, 0.5, 1, 1.5, 2, 3, 4 and 6 times a power of two have at most one bit of fraction.
fn is_fp4_times_power(value: f32) -> bool {
    value.to_bits() & 0x003f_ffff == 0
}

/// NVFP4 that was made from MXFP4, where that was not exact.
pub(super) fn cast_not_lossless(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    for measured in measured(subject) {
        if !is_cast(&measured) || measured.format.global == GlobalScale::None {
            continue;
        }
        let scales = &measured.blocks.scales;
        let evidence = subject.evidence(&measured.weight.name);
        let globals = evidence.map_or(&[][..], |e| e.globals.as_slice());
        let odd = globals.iter().find(|g| g.to_bits() & 0x007f_ffff != 0);
        let at_floor = scales.histogram[0] + scales.histogram[1];
        let reason = match odd {
            Some(global) => format!("the global scale {global:e} is no power of two"),
            None if at_floor > 0 => {
                let of = share(at_floor, scales.count, "scale");
                format!("{of} are 0 or 2^-9, the smallest")
            }
            None if scales.not_power_of_two > 0 => {
                let of = share(scales.not_power_of_two, scales.count, "scale");
                format!("{of} are no powers of two")
            }
            None => continue,
        };
        found.push(measured.of_codes(subject, &CAST_NOT_LOSSLESS, reason));
    }
}

/// Matrices that are all zero.
pub(super) fn zeros(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    for (weight, evidence) in subject.measured() {
        let values = &evidence.values;
        let is_matrix = weight.shape.len() > 1 && weight.encoding.is_number();
        let silenced = evidence.blocks.as_ref().is_some_and(|b| b.silenced > 0);
        if !is_matrix || silenced || values.count == 0 || values.zeros < values.count {
            continue;
        }
        let message = format!("all {} values read are zero", values.count);
        found.push(
            Diagnosis::new(&WEIGHT_OF_ZEROS, message)
                .of_tensor(&weight.name)
                .in_file(subject.file_of(weight)),
        );
    }
}
