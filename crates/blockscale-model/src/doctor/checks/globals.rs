//! Scales of whole tensors: their direction, their loss, and whether halves share them.

use std::collections::HashMap;

use blockscale::format::{Element, GlobalScale, ScaleElement};

use super::super::rules::{GLOBAL_INVERTED, GLOBAL_LOST, GLOBALS_UNEQUAL, INPUT_SCALE_UNUSABLE};
use super::super::subject::common_name;
use super::super::{Diagnosis, Evidence, Subject};
use super::scales::{Measured, measured};
use crate::catalog::{PartRole, Weight};
use crate::finding::Severity;

/// The largest weight of a tensor lies within these, by far.
const ORDINARY: std::ops::RangeInclusive<f32> = 6.103_515_6e-5..=256.0;

/// No trained tensor has its largest weight outside of these.
const POSSIBLE: std::ops::RangeInclusive<f32> = 9.313_226e-10..=1000.0;

/// Block scales above this use the range that a global scale leaves them.
const WIDE: f32 = 64.0;

/// Global scales that make the largest weight absurd, or that are one.
pub(super) fn direction(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    for measured in measured(subject) {
        let Some(evidence) = subject.evidence(&measured.weight.name) else {
            continue;
        };
        let one_for_all = evidence.globals.len() == 1;
        let nvfp4 = measured.format.element == Element::E2m1
            && measured.format.scale == ScaleElement::E4m3Fn;
        let written = measured.blocks.zero_blocks < measured.blocks.blocks;
        if let (true, true, true, Some(&global)) =
            (one_for_all, nvfp4, written, evidence.globals.first())
        {
            found.extend(judge(subject, &measured, global));
        }
    }
}

fn judge(subject: &Subject<'_>, measured: &Measured<'_>, global: f32) -> Option<Diagnosis> {
    let largest_scale = measured.blocks.scales.max;
    let as_multiplier = 6.0 * largest_scale * global;
    let as_divisor = 6.0 * largest_scale / global;
    let (direction, as_stated, inverted) = match measured.format.global {
        GlobalScale::Multiplier => ("multiplies", as_multiplier, as_divisor),
        GlobalScale::Divisor => ("divides", as_divisor, as_multiplier),
        GlobalScale::None => return None,
    };
    let (name, file) = subject.part(measured.weight, PartRole::GlobalScale)?;
    let of = |rule, message| {
        let diagnosis = Diagnosis::new(rule, message).of_tensor(name).in_file(file);
        Some(diagnosis)
    };
    if global == 1.0 && largest_scale > WIDE {
        return of(
            &GLOBAL_LOST,
            format!(
                "it is 1, and block scales go up to {largest_scale}, so that weights could reach \
                 {as_stated:.0}"
            ),
        );
    }
    if !POSSIBLE.contains(&as_stated) && ORDINARY.contains(&inverted) {
        return of(
            &GLOBAL_INVERTED,
            format!(
                "{global:e} {direction} by its name, which allows weights up to {as_stated:.3e}; \
                 inverted it allows {inverted:.3e}"
            ),
        );
    }
    None
}

/// Two parts of a module that runtimes run as one product.
struct Fused {
    first: &'static str,
    second: &'static str,
    /// What becomes of halves whose global scales differ.
    severity: Severity,
}

/// Gate and up of routed experts always; the others where a runtime leaves them in NVFP4.
const FUSED: &[Fused] = &[
    fused(".w1.weight", ".w3.weight", Severity::Error),
    fused(".gate_proj.weight", ".up_proj.weight", Severity::Error),
    fused(".wq_a.weight", ".wkv.weight", Severity::Info),
    fused(".q_proj.weight", ".k_proj.weight", Severity::Info),
    fused(".k_proj.weight", ".v_proj.weight", Severity::Info),
    fused(
        ".compressor.wkv.weight",
        ".compressor.wgate.weight",
        Severity::Info,
    ),
];

const fn fused(first: &'static str, second: &'static str, severity: Severity) -> Fused {
    Fused {
        first,
        second,
        severity,
    }
}

/// Halves with different global scales. What is only a note is said once for each pair of parts.
pub(super) fn shared(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    let by_common_name: HashMap<String, (&Weight, &Evidence)> = subject
        .measured()
        .filter(|(_, evidence)| !evidence.globals.is_empty())
        .map(|(weight, e)| (common_name(&weight.name).into_owned(), (weight, e)))
        .collect();
    for fused in FUSED {
        let mut notes = Vec::new();
        for (weight, evidence) in subject.measured() {
            let name = common_name(&weight.name);
            let Some(module) = name.strip_suffix(fused.first) else {
                continue;
            };
            let other = by_common_name.get(&format!("{module}{}", fused.second));
            let Some((other, of_other)) = other else {
                continue;
            };
            if evidence.globals.is_empty() || evidence.globals == of_other.globals {
                continue;
            }
            let message = format!(
                "its global scale is {:e}, that of `{}` is {:e}",
                evidence.globals.first().copied().unwrap_or_default(),
                other.name,
                of_other.globals.first().copied().unwrap_or_default(),
            );
            let diagnosis = Diagnosis::new(&GLOBALS_UNEQUAL, message)
                .of_tensor(&weight.name)
                .in_file(subject.file_of(weight));
            // Only routed experts stay in NVFP4 in every runtime.
            match name.contains(".experts.") && fused.severity == Severity::Error {
                true => found.push(diagnosis),
                false => notes.push(diagnosis.as_severe_as(Severity::Info)),
            }
        }
        let others = notes.len().saturating_sub(1);
        found.extend(notes.into_iter().next().map(|mut first| {
            if others > 0 {
                first.message = format!("{}; so it is with {others} more", first.message);
            }
            first
        }));
    }
}

/// Activation scales that make activations NaN or zero.
pub(super) fn inputs(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    for (weight, evidence) in subject.measured() {
        let wrong = evidence
            .inputs
            .iter()
            .find(|s| !s.is_finite() || **s <= 0.0);
        let (Some(wrong), Some((name, file))) = (wrong, subject.part(weight, PartRole::InputScale))
        else {
            continue;
        };
        found.push(
            Diagnosis::new(&INPUT_SCALE_UNUSABLE, format!("it is {wrong}"))
                .of_tensor(name)
                .in_file(file),
        );
    }
}
