//! Values of block scales.

use blockscale::format::{Format, ScaleElement};
use blockscale::stats::BlockStats;

use super::super::rules::{
    CAST_WITHOUT_SCALE, EXPONENT_BYTES_AS_NUMBERS, NUMBERS_AS_EXPONENT_BYTES, SCALE_NEGATIVE,
    SCALE_NOT_FINITE, SCALE_NOT_POWER_OF_TWO, SCALE_NOT_WRITTEN, SCALE_PLANE_CONSTANT,
    SCALE_PLANE_ONES,
};
use super::super::{Diagnosis, Rule, Subject};
use super::{fresh_least, share};
use crate::catalog::{PartRole, Weight};
use crate::finding::Severity;

/// Scales that it takes to call a plane one of ones.
const ONES: u64 = 2;

/// Scales that it takes to call a plane constant: a few can be equal by chance.
const EQUAL: u64 = 8;

/// Largest value of codes that may have been weights as they are.
const UNSCALED: f32 = 16.0;

/// A weight in a block format of which codes and scales were read.
pub(super) struct Measured<'a> {
    pub(super) weight: &'a Weight,
    pub(super) format: &'a Format,
    pub(super) blocks: &'a BlockStats,
}

impl Measured<'_> {
    /// A diagnosis about the scales of this weight.
    pub(super) fn of_scales(
        &self,
        subject: &Subject<'_>,
        rule: &'static Rule,
        message: String,
    ) -> Diagnosis {
        let (name, file) = subject
            .part(self.weight, PartRole::BlockScale)
            .unwrap_or((&self.weight.name, subject.file_of(self.weight)));
        Diagnosis::new(rule, message).of_tensor(name).in_file(file)
    }

    /// A diagnosis about the weight itself.
    pub(super) fn of_codes(
        &self,
        subject: &Subject<'_>,
        rule: &'static Rule,
        message: String,
    ) -> Diagnosis {
        Diagnosis::new(rule, message)
            .of_tensor(&self.weight.name)
            .in_file(subject.file_of(self.weight))
    }

    /// The largest magnitude among the codes.
    fn largest(&self) -> f32 {
        let codes = (0..=255_u8).zip(&self.blocks.codes);
        codes
            .filter(|&(_, &seen)| seen > 0)
            .map(|(code, _)| self.format.element.decode(code).abs())
            .fold(0.0, f32::max)
    }
}

/// Weights in a block format of which something was read.
pub(super) fn measured<'a>(subject: &'a Subject<'_>) -> impl Iterator<Item = Measured<'a>> {
    subject.measured().filter_map(|(weight, evidence)| {
        Some(Measured {
            weight,
            format: weight.encoding.format()?,
            blocks: evidence.blocks.as_deref()?,
        })
    })
}

/// Planes of ones, and of one other value.
pub(super) fn constant(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    for measured in measured(subject) {
        let blocks = measured.blocks;
        let scales = &blocks.scales;
        let is_zero = blocks.zero_blocks == blocks.blocks || scales.max == 0.0;
        if is_zero || !scales.is_constant() {
            continue;
        }
        if scales.max == 1.0 && scales.count >= ONES {
            found.push(of_ones(subject, &measured));
        } else if scales.count >= EQUAL {
            found.extend(of_one_value(subject, &measured));
        }
    }
}

fn of_ones(subject: &Subject<'_>, measured: &Measured<'_>) -> Diagnosis {
    let (count, largest) = (measured.blocks.scales.count, measured.largest());
    let fp8 = measured.format.element.bits() == 8;
    if fp8 && largest < UNSCALED {
        let message = format!("all {count} scales read are 1, and no code is above {largest}");
        measured.of_scales(subject, &CAST_WITHOUT_SCALE, message)
    } else {
        let message = format!("all {count} scales read are 1, and codes reach {largest}");
        measured.of_scales(subject, &SCALE_PLANE_ONES, message)
    }
}

/// Powers of two are left out: blocks of like size share them.
fn of_one_value(subject: &Subject<'_>, measured: &Measured<'_>) -> Option<Diagnosis> {
    let Measured { format, blocks, .. } = measured;
    let scales = &blocks.scales;
    let least = fresh_least(format)?;
    if format.scale != ScaleElement::E4m3Fn && scales.not_power_of_two == 0 {
        return None;
    }
    let (all, at_top) = blocks.blocks_where(format.element, |value| value >= least);
    let message = format!(
        "all {} scales read are {}; the largest code is {least} or more in {}",
        scales.count,
        scales.max,
        share(at_top, all, "block")
    );
    let diagnosis = measured.of_scales(subject, &SCALE_PLANE_CONSTANT, message);
    let each_by_itself = at_top * 10 >= all * 9;
    Some(match each_by_itself {
        true => diagnosis,
        // As one scale for the tensor looks that was spread over the grid.
        false => diagnosis.as_severe_as(Severity::Info),
    })
}

/// Scales that no quantiser writes.
pub(super) fn unusable(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    let announced = announces_powers_of_two(subject);
    for measured in measured(subject) {
        let Measured { format, blocks, .. } = &measured;
        let scales = &blocks.scales;
        if blocks.silenced > 0 {
            let of = share(blocks.silenced, blocks.blocks, "block");
            let message = format!("{of} have codes under a scale of 0");
            let diagnosis = measured.of_scales(subject, &SCALE_NOT_WRITTEN, message);
            let few = blocks.silenced * 100 <= blocks.blocks;
            found.push(match few {
                true => diagnosis.as_severe_as(Severity::Warning),
                false => diagnosis,
            });
        }
        let mut add = |rule, message| found.push(measured.of_scales(subject, rule, message));
        if scales.negative > 0 {
            let of = share(scales.negative, scales.count, "scale");
            add(&SCALE_NEGATIVE, format!("{of} have their sign set"));
        }
        if scales.not_finite > 0 {
            let of = share(scales.not_finite, scales.count, "scale");
            add(&SCALE_NOT_FINITE, format!("{of} are NaN or infinite"));
        }
        let is_float = format.scale.bytes() > 1;
        if is_float && scales.count > 0 && scales.like_exponent_bytes == scales.count {
            add(
                &EXPONENT_BYTES_AS_NUMBERS,
                format!(
                    "all {} scales read are whole numbers from {} to {}",
                    scales.count, scales.min, scales.max
                ),
            );
        } else if is_float && announced && scales.not_power_of_two > 0 {
            let of = share(scales.not_power_of_two, scales.count, "scale");
            add(
                &SCALE_NOT_POWER_OF_TWO,
                format!("the config says `scale_fmt: ue8m0`, and {of} are no powers of two"),
            );
        }
        if format.scale == ScaleElement::E8m0Fnu {
            let tiny: u64 = scales.histogram[..16].iter().sum();
            let written = blocks.blocks - blocks.zero_blocks;
            if written > 0 && tiny > blocks.zero_blocks && tiny * 10 >= scales.count * 9 {
                let of = share(tiny, scales.count, "scale byte");
                add(
                    &NUMBERS_AS_EXPONENT_BYTES,
                    format!("{of} are below 16, which stands for 2^-111"),
                );
            }
        }
    }
}

fn announces_powers_of_two(subject: &Subject<'_>) -> bool {
    let config = subject.checkpoint.config.as_ref();
    let stated = config.and_then(|c| c.get("quantization_config")?.get("scale_fmt")?.as_str());
    stated.is_some_and(|word| word.eq_ignore_ascii_case("ue8m0"))
}
