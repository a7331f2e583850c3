//! Windows cut where the parts of weights end.

use wgpu::BindGroup;

use crate::resident::Part;
use crate::{Resident, Source, Window};

/// What one launch can look at: a window inside one part of each weight.
pub(super) struct Patch<'a> {
    pub(super) window: Window,
    pub(super) weights: Vec<&'a BindGroup>,
}

/// A window of a source, cut so.
pub(super) fn of_source<'a>(source: Source<&'a Resident>, window: &Window) -> Vec<Patch<'a>> {
    match source {
        Source::Values(weight) => of_elements(weight, window),
        Source::Scales(weight) => of_scales(weight, window),
        Source::Difference(first, second) => of_pair(first, second, window),
    }
}

pub(super) fn of_elements<'a>(weight: &'a Resident, window: &Window) -> Vec<Patch<'a>> {
    of_parts(weight, window, |part| &part.elements)
}

pub(super) fn of_scales<'a>(weight: &'a Resident, window: &Window) -> Vec<Patch<'a>> {
    of_parts(weight, window, |part| &part.scales)
}

pub(super) fn of_pair<'a>(
    first: &'a Resident,
    second: &'a Resident,
    window: &Window,
) -> Vec<Patch<'a>> {
    let mut patches = Vec::new();
    for patch in of_elements(first, window) {
        for other in of_elements(second, &patch.window) {
            patches.push(Patch {
                window: other.window,
                weights: vec![patch.weights[0], other.weights[0]],
            });
        }
    }
    patches
}

fn of_parts<'a>(
    weight: &'a Resident,
    window: &Window,
    of: impl Fn(&Part) -> &Window,
) -> Vec<Patch<'a>> {
    let patch = |part: &'a Part| {
        Some(Patch {
            window: of(part).meet(window)?,
            weights: vec![&part.group],
        })
    };
    weight.parts.iter().filter_map(patch).collect()
}
