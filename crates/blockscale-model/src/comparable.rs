//! The weights of a checkpoint under names that two checkpoints share.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::catalog::{Catalog, ExpertPart, RowOrder, Weight, module_of, names_of_halves};
use crate::checkpoint::Checkpoint;
use crate::deepseek_v4::{self, DeepSeekV4, Detection};
use crate::plan::experts;

/// Rows of a weight, under a name that does not depend on who wrote the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparable {
    /// The shared name.
    pub name: String,
    /// Index into [`Catalog::weights`].
    pub weight: usize,
    /// Rows, counted through all matrices of the weight.
    pub rows: Range<usize>,
    /// The order of gate and up in which the rows of each matrix are counted; `None`: as stored. In
    /// a bias it is the order along its last axis.
    pub order: Option<RowOrder>,
}

/// Modules that DeepSeek-V4 is known to be joined into: the last part of the joined name, and those
/// of its members in row order, native and of Hugging Face. A file that says its members needs none.
const JOINED: [(&str, [[&str; 2]; 2], Halves); 4] = [
    (
        "fused_wkv_wgate",
        [["wkv", "wgate"], ["kv_proj", "gate_proj"]],
        Halves::Equal,
    ),
    (
        "fused_wqa_wkv",
        [["wq_a", "wkv"], ["q_a_proj", "kv_proj"]],
        Halves::BySize,
    ),
    ("gate_up_proj", GATE_UP, Halves::Equal),
    ("w13", GATE_UP, Halves::Equal),
];

const GATE_UP: [[&str; 2]; 2] = [["w1", "w3"], ["gate_proj", "up_proj"]];

/// How the rows of a joined module fall to its two members.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Halves {
    Equal,
    /// As the sizes in the config say.
    BySize,
}

/// Lists every weight once, in parts that any tool may have stored by themselves.
///
/// Stacked experts, gate and up in one and joined modules are taken apart as far as it is known what
/// lies in them: by the file's metadata, by the catalog's order of gate and up, or by the
/// architecture. In a DeepSeek-V4 checkpoint names are in the native spelling.
pub fn comparables(checkpoint: &Checkpoint, catalog: &Catalog) -> Vec<Comparable> {
    let config = checkpoint.config.as_ref();
    let names = Names {
        // A checkpoint without a config may be any model; its names have to tell.
        is_v4: config.is_none_or(|c| DeepSeekV4::detect(c) == Detection::V4),
        arch: config.and_then(|c| DeepSeekV4::from_config(c).ok()),
    };
    let mut seen = HashSet::new();
    let mut all = Vec::with_capacity(catalog.weights.len());
    for (index, weight) in catalog.weights.iter().enumerate() {
        for part in names.parts(weight) {
            // Two tensors under one shared name keep their own names.
            let name = if seen.insert(part.name.clone()) {
                part.name
            } else {
                weight.name.clone()
            };
            all.push(Comparable {
                name,
                weight: index,
                rows: part.rows,
                order: part.order,
            });
        }
    }
    all
}

struct Part {
    name: String,
    rows: Range<usize>,
    order: Option<RowOrder>,
}

struct Names {
    is_v4: bool,
    arch: Option<DeepSeekV4>,
}

impl Names {
    fn parts(&self, weight: &Weight) -> Vec<Part> {
        let found = members(weight)
            .or_else(|| self.experts(weight))
            .or_else(|| self.joined(weight))
            .or_else(|| halves(weight));
        let mut parts = found.unwrap_or_else(|| {
            let rows = 0..weight.matrices().total_rows();
            let name = shared_name(weight);
            vec![Part {
                name,
                rows,
                order: canonical(weight),
            }]
        });
        for part in parts.iter_mut().filter(|_| self.is_v4) {
            if let Some(Cow::Owned(native)) = deepseek_v4::to_native(&part.name) {
                part.name = native;
            }
        }
        parts
    }

    /// Stacked experts, one weight each.
    fn experts(&self, weight: &Weight) -> Option<Vec<Part>> {
        let &[count, matrix_rows, _] = weight.shape.as_slice() else {
            return None;
        };
        let order = canonical(weight);
        let v4 = deepseek_v4::fused_experts(&weight.name).filter(|_| self.is_v4);
        if let Some((layer, kind)) = v4 {
            let split = experts::split(layer, kind, count, matrix_rows).into_iter();
            let part = |part: experts::ExpertPart| Part {
                name: part.name,
                rows: part.rows,
                order,
            };
            return Some(split.map(part).collect());
        }
        let module = module_of(&weight.name);
        let stack = module.rfind(".experts.")? + ".experts.".len();
        let (parent, last) = module.split_at(stack);
        let names = match (ExpertPart::of(&weight.name)?, order) {
            (ExpertPart::GateUp, Some(_)) => names_of_halves(last)?.to_vec(),
            (ExpertPart::Down, _) => vec![last.to_owned()],
            _ => return None,
        };
        let rows = matrix_rows / names.len();
        let starts = (0..count * names.len()).map(|i| (i / names.len(), i % names.len(), i * rows));
        let parts = starts.map(|(expert, half, first)| Part {
            name: format!("{parent}{expert}.{}.weight", names[half]),
            rows: first..first + rows,
            order,
        });
        Some(parts.collect())
    }

    /// Modules of DeepSeek-V4 in files that do not say what was joined in them.
    fn joined(&self, weight: &Weight) -> Option<Vec<Part>> {
        let &[rows, _] = weight.shape.as_slice() else {
            return None;
        };
        let module = module_of(&weight.name);
        let (joined, spellings, halves) = JOINED.iter().find(|(joined, ..)| {
            let parent = module.strip_suffix(joined);
            parent.is_some_and(|parent| parent.is_empty() || parent.ends_with('.'))
        })?;
        let parent = module.strip_suffix(joined).filter(|_| self.is_v4)?;
        let [first, second] = spellings.iter().find_map(|members| {
            let native = |member: &str| {
                let name = format!("{parent}{member}.weight");
                deepseek_v4::to_native(&name).map(Cow::into_owned)
            };
            Some([native(members[0])?, native(members[1])?])
        })?;
        let size = |name: &str| self.arch.as_ref()?.expected_shape(name)?.first().copied();
        let of_first = match halves {
            Halves::Equal if rows % 2 == 0 => rows / 2,
            Halves::Equal => return None,
            Halves::BySize => size(&first).filter(|&n| size(&second) == rows.checked_sub(n))?,
        };
        let order = canonical(weight);
        let part = |name, rows| Part { name, rows, order };
        Some(vec![part(first, 0..of_first), part(second, of_first..rows)])
    }
}

/// The members that the file names.
fn members(weight: &Weight) -> Option<Vec<Part>> {
    let mut first = 0;
    let parts = weight.members.iter().map(|member| {
        let rows = first..first + member.rows;
        first = rows.end;
        Part {
            name: member.name.clone(),
            rows,
            order: None,
        }
    });
    let parts: Vec<Part> = parts.collect();
    (!parts.is_empty()).then_some(parts)
}

/// Gate and up of a matrix that holds both, where their order is known.
fn halves(weight: &Weight) -> Option<Vec<Part>> {
    let (&[rows, _], Some(_)) = (weight.shape.as_slice(), canonical(weight)) else {
        return None;
    };
    let names = names_of_halves(&weight.name)?;
    let half = rows / 2;
    let part = |(i, name)| Part {
        name,
        rows: i * half..(i + 1) * half,
        order: canonical(weight),
    };
    Some(names.into_iter().enumerate().map(part).collect())
}

/// Gate first, for every weight that holds both in a known order.
fn canonical(weight: &Weight) -> Option<RowOrder> {
    weight.gate_up.order().map(|_| RowOrder::GateFirst)
}

/// Stacked experts have no `.weight` in some dialects and get one in others.
fn shared_name(weight: &Weight) -> String {
    let stacked = weight.shape.len() > 2 && !weight.name.ends_with(".weight");
    if stacked {
        format!("{}.weight", weight.name)
    } else {
        weight.name.clone()
    }
}
