//! Names, shapes and counts that the architecture fixes.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use super::super::rules::{
    COMPRESSOR_CONFUSED, CONFIG_REFUSED, LAYERS_MISSING, TENSOR_SHAPE, UNKNOWN_NAME,
    WEIGHTS_MISSING,
};
use super::super::{Diagnosis, Subject};
use crate::catalog::Weight;
use crate::checkpoint::NameList;
use crate::comparable::comparables;
use crate::deepseek_v4::{DeepSeekV4, NativeName, Part, fused_experts, parse, to_native};
use crate::finding::Severity;

/// Holds every tensor of a DeepSeek-V4 against its config.
pub(super) fn deepseek_v4(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    match &subject.architecture {
        Some(Ok(arch)) => {
            missing(subject, arch, found);
            for weight in &subject.catalog.weights {
                found.extend(misfit(subject, arch, weight));
            }
        }
        Some(Err(reason)) => found.push(
            Diagnosis::new(&CONFIG_REFUSED, format!("as a DeepSeek-V4: {reason}"))
                .in_file("config.json"),
        ),
        None => {}
    }
}

fn missing(subject: &Subject<'_>, arch: &DeepSeekV4, found: &mut Vec<Diagnosis>) {
    let all = comparables(subject.checkpoint, subject.catalog);
    let mut there: BTreeSet<String> = all.iter().map(|c| native_of(&c.name)).collect();
    // A weight that is refused is there.
    let refused = subject.catalog.refusals.iter();
    there.extend(refused.map(|r| native_of(&r.tensor)));
    let names: Vec<String> = arch
        .tensor_names()
        .filter(|name| !there.contains(name))
        .collect();
    if names.is_empty() {
        return;
    }
    let parts = names.iter().filter_map(|name| parse(name));
    let count = |is: &dyn Fn(&NativeName) -> bool| parts.clone().filter(|n| is(n)).count();
    let counts = arch.counts();
    let message = format!(
        "{} of {} weights are missing (of {} wo_a {}, of {} main compressors {}, of {} indexers {}): {}",
        names.len(),
        arch.tensor_names().count(),
        counts.wo_a,
        count(&|n| n.part == Part::WoA),
        counts.main_compressors,
        count(&|n| n.part == Part::CompressorWkv),
        counts.indexers,
        count(&|n| n.part == Part::IndexerWkv),
        NameList(&names),
    );
    found.push(Diagnosis::new(&WEIGHTS_MISSING, message).of_tensor(&names[0]));
}

/// What is wrong with name and shape of one weight.
fn misfit(subject: &Subject<'_>, arch: &DeepSeekV4, weight: &Weight) -> Option<Diagnosis> {
    let of = |diagnosis: Diagnosis| {
        Some(
            diagnosis
                .of_tensor(&weight.name)
                .in_file(subject.file_of(weight)),
        )
    };
    if is_scale(&weight.name) || fused_experts(&weight.name).is_some() {
        return None;
    }
    // Joined weights are taken apart by their members' names.
    if !weight.members.is_empty() || weight.name.contains(".fused_") {
        return None;
    }
    let native = native_of(&weight.name);
    if parse(&native).is_none() {
        let message = "its name is none of the architecture";
        return of(Diagnosis::new(&UNKNOWN_NAME, message));
    }
    let Some(expected) = arch.expected_shape(&native) else {
        let message = format!("a model of these dimensions has no `{native}`");
        return of(Diagnosis::new(&UNKNOWN_NAME, message));
    };
    if expected == weight.shape {
        return None;
    }
    let message = format!("its shape is {:?}, expected {expected:?}", weight.shape);
    let other = parse(&native).and_then(counterpart);
    let shape_of_other = other.and_then(|other| arch.expected_shape(&other.to_string()));
    match (other, shape_of_other) {
        (Some(other), Some(shape)) if shape == weight.shape => of(Diagnosis::new(
            &COMPRESSOR_CONFUSED,
            format!("{message}; that is the shape of `{other}`"),
        )),
        _ => of(Diagnosis::new(&TENSOR_SHAPE, message)),
    }
}

/// The native name, also where a dialect leaves `.weight` away; else the name as it is.
fn native_of(name: &str) -> String {
    let with_suffix = || to_native(&format!("{name}.weight")).map(Cow::into_owned);
    let native = to_native(name).map(Cow::into_owned);
    native
        .or_else(with_suffix)
        .unwrap_or_else(|| name.to_owned())
}

/// Names that only scales have; those without a weight are reported as such.
fn is_scale(name: &str) -> bool {
    let ends = ["_scale", "_scale_2", "_scale_inv", "input_scale"];
    ends.iter().any(|end| name.ends_with(end)) && to_native(name).is_none()
}

/// The same part of the other compressor.
fn counterpart(name: NativeName) -> Option<NativeName> {
    let part = match name.part {
        Part::CompressorWkv => Part::IndexerWkv,
        Part::CompressorWgate => Part::IndexerWgate,
        Part::CompressorApe => Part::IndexerApe,
        Part::CompressorNorm => Part::IndexerNorm,
        Part::IndexerWkv => Part::CompressorWkv,
        Part::IndexerWgate => Part::CompressorWgate,
        Part::IndexerApe => Part::CompressorApe,
        Part::IndexerNorm => Part::CompressorNorm,
        _ => return None,
    };
    Some(NativeName { part, ..name })
}

/// Layers that names mention, against the number in the config.
pub(super) fn layers(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    let config = subject.checkpoint.config.as_ref();
    let number = |key: &str| config.and_then(|c| c.get(key)?.as_u64());
    let Some(stated) = number("num_hidden_layers") else {
        return;
    };
    // Some models keep the layers of multi-token prediction behind the others.
    let extra = number("num_nextn_predict_layers").unwrap_or(0);
    let mut by_prefix: HashMap<&str, BTreeSet<u64>> = HashMap::new();
    for tensor in &subject.checkpoint.tensors {
        if let Some((prefix, rest)) = tensor.name.split_once("layers.")
            && let Some(number) = rest.split('.').next().and_then(|n| n.parse().ok())
        {
            by_prefix.entry(prefix).or_default().insert(number);
        }
    }
    // A vision tower has layers of its own: the text model is what has the most.
    let Some(seen) = by_prefix.values().max_by_key(|seen| seen.len()) else {
        return;
    };
    let absent: Vec<u64> = (0..stated).filter(|n| !seen.contains(n)).collect();
    let beyond = seen.iter().filter(|n| **n >= stated + extra).count();
    if absent.is_empty() && beyond == 0 {
        return;
    }
    let message = format!(
        "the config says `num_hidden_layers` is {stated}; names mention {} layers, {} of the stated \
         are absent and {beyond} lie beyond them",
        seen.len(),
        absent.len()
    );
    let severity = match absent.len() as u64 == stated {
        // Names of another kind: nothing to compare.
        true => Severity::Info,
        false => Severity::Error,
    };
    found.push(
        Diagnosis::new(&LAYERS_MISSING, message)
            .in_file("config.json")
            .as_severe_as(severity),
    );
}
