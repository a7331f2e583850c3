//! Which weights are read, and which rows of them.

use std::collections::BTreeMap;
use std::ops::Range;

use blockscale::layout::ScaleLayout;
use blockscale_model::catalog::Weight;

use super::Scope;
use crate::weights::{Run, Weights, stored_row_bytes};

/// A checkpoint of so many bytes is read whole.
const SMALL: u64 = 64 << 20;

/// Most bytes of a sample.
const MOST: u64 = 256 << 20;

/// A sample is this part of a large checkpoint: less than a hundredth, with a reserve for scales.
const PART: u64 = 160;

/// Bytes that are wanted of a weight.
const OF_WEIGHT: u64 = 64 << 10;

/// Bytes that are read and decoded at a time.
const OF_RUN: usize = 4 << 20;

/// What is read of one weight.
#[derive(Clone, Debug, Default)]
pub(super) struct Portion {
    /// The rows, in order; none where the weight is not in scope.
    pub(super) runs: Vec<Run>,
    /// Matrix and row of which a sketch is taken.
    pub(super) sketch: (usize, usize),
    /// Bytes of the runs.
    pub(super) bytes: u64,
}

/// What is read of every weight.
pub(super) fn portions(weights: &Weights<'_>, scope: Scope) -> Vec<Portion> {
    let all = &weights.catalog.weights;
    let total = weights.checkpoint.total_bytes();
    let (seed, whole) = match scope {
        Scope::Full => (0, true),
        Scope::Sample { seed } => (seed, total <= SMALL),
    };
    if whole {
        return (0..all.len())
            .map(|index| whole_weight(weights, index, seed))
            .collect();
    }
    let mut left = MOST.min((total / PART).max(SMALL / 4));
    let mut portions = vec![Portion::default(); all.len()];
    for index in in_turn(all, seed) {
        let portion = part_of_weight(weights, index, seed);
        // A weight that is too large for what is left does not keep smaller ones out.
        if portion.bytes <= left {
            left -= portion.bytes;
            portions[index] = portion;
        }
    }
    portions
}

/// Every weight once, one of each kind in turn, so that a sample has some of all.
fn in_turn(weights: &[Weight], seed: u64) -> impl Iterator<Item = usize> {
    let mut kinds: BTreeMap<String, Vec<(u64, usize)>> = BTreeMap::new();
    for (index, weight) in weights.iter().enumerate() {
        let order = hash(seed, &weight.name);
        let kind = kind_of(&weight.name);
        kinds.entry(kind).or_default().push((order, index));
    }
    let mut turns = BTreeMap::new();
    for (number, members) in kinds.values_mut().enumerate() {
        members.sort_unstable();
        for (turn, &(_, index)) in members.iter().enumerate() {
            turns.insert((turn, number), index);
        }
    }
    turns.into_values()
}

/// A name with its numbers left out.
fn kind_of(name: &str) -> String {
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.split('.').filter(|part| !is_number(part));
    parts.collect::<Vec<_>>().join(".")
}

/// A number that depends on nothing but its arguments.
fn hash(seed: u64, text: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(text.as_bytes());
    let bytes = *hasher.finalize().as_bytes();
    bytes
        .first_chunk()
        .map_or(0, |&first| u64::from_le_bytes(first))
}

/// Where the sketch of a weight is taken: weights of one shape have it in one place.
fn sketch_row(weight: &Weight, seed: u64) -> (usize, usize) {
    let matrices = weight.matrices();
    let number = hash(seed, &format!("{:?}", weight.shape));
    let below = |n: usize, number: u64| (number % n.max(1) as u64) as usize;
    (
        below(matrices.count, number >> 32),
        below(matrices.shape.rows, number & 0xffff_ffff),
    )
}

fn whole_weight(weights: &Weights<'_>, index: usize, seed: u64) -> Portion {
    let weight = &weights.catalog.weights[index];
    if weight.elements() == 0 {
        // Nothing, perhaps in more rows than memory holds runs of.
        return Portion::default();
    }
    if weight.layout != ScaleLayout::Linear {
        // Such a weight is read as a whole for each run.
        return part_of_weight(weights, index, seed);
    }
    let matrices = weight.matrices();
    let rows = rows_of(weights, index, OF_RUN);
    let runs = (0..matrices.count)
        .flat_map(|matrix| {
            let starts = (0..matrices.shape.rows).step_by(rows);
            let end = move |start: usize| matrices.shape.rows.min(start + rows);
            starts.map(move |start| (matrix, start..end(start)))
        })
        .map(|(matrix, rows)| run(index, matrix, rows))
        .collect();
    portion(weights, index, runs, sketch_row(weight, seed))
}

/// One run of rows around the sketch.
fn part_of_weight(weights: &Weights<'_>, index: usize, seed: u64) -> Portion {
    let weight = &weights.catalog.weights[index];
    let (matrix, row) = sketch_row(weight, seed);
    let matrix_rows = weight.matrices().shape.rows;
    let rows = rows_of(weights, index, OF_WEIGHT as usize);
    let start = row / rows * rows;
    let runs = match matrix_rows {
        0 => Vec::new(),
        _ => vec![run(index, matrix, start..matrix_rows.min(start + rows))],
    };
    portion(weights, index, runs, (matrix, row))
}

fn run(weight: usize, matrix: usize, rows: Range<usize>) -> Run {
    Run {
        weight,
        matrix,
        rows,
    }
}

/// Rows that have about so many bytes and that a run can be made of; all where a weight can only be
/// read as a whole.
fn rows_of(weights: &Weights<'_>, index: usize, bytes: usize) -> usize {
    let weight = &weights.catalog.weights[index];
    let shape = weight.matrices().shape;
    if weight.layout != ScaleLayout::Linear {
        return shape.rows.max(1);
    }
    let align = weights.run_alignment(index).max(1);
    let row = stored_row_bytes(&weight.encoding, shape.cols).max(1);
    (bytes / row).max(1).next_multiple_of(align)
}

fn portion(weights: &Weights<'_>, index: usize, runs: Vec<Run>, sketch: (usize, usize)) -> Portion {
    let weight = &weights.catalog.weights[index];
    if !weight.encoding.is_number() || weight.elements() == 0 {
        return Portion::default();
    }
    let row = stored_row_bytes(&weight.encoding, weight.matrices().shape.cols) as u64;
    let bytes = match weight.layout {
        ScaleLayout::Linear => runs.iter().map(|run| run.rows.len() as u64 * row).sum(),
        _ => weight
            .parts
            .iter()
            .map(|part| weights.checkpoint.tensors[part.tensor].bytes())
            .sum(),
    };
    Portion {
        runs,
        sketch,
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use blockscale_model::catalog::Catalog;
    use blockscale_model::{
        Checkpoint, CheckpointFiles, Dtype, Header, NewTensor, PREFIX_BYTES, ShardFile, ShardName,
        lay_out,
    };

    use super::*;

    fn weights() -> Vec<Weight> {
        let names = (0..20).flat_map(|n| {
            let module = |part: &str| format!("layers.{n}.{part}.weight");
            [module("up"), module("down")]
        });
        let tensors: Vec<NewTensor> = names
            .chain(["norm.weight".to_owned()])
            .map(|name| NewTensor {
                name,
                dtype: Dtype::BF16,
                shape: vec![64, 32],
            })
            .collect();
        let layout = lay_out(&tensors, &BTreeMap::new()).unwrap();
        let len = layout.ranges.iter().map(|range| range.end).max().unwrap();
        let shard = ShardFile {
            name: ShardName::new("model.safetensors").unwrap(),
            len,
            header: Header::parse(&layout.bytes[PREFIX_BYTES..], len).unwrap(),
        };
        let files = CheckpointFiles {
            shards: vec![shard],
            ..CheckpointFiles::default()
        };
        Catalog::of(&Checkpoint::assemble(files).unwrap()).weights
    }

    #[test]
    fn every_weight_has_its_turn_once_and_each_kind_one_of_the_first() {
        let weights = weights();
        for seed in 0..10 {
            let order: Vec<usize> = in_turn(&weights, seed).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..weights.len()).collect::<Vec<_>>());
            let kinds = order[..3].iter().map(|&i| kind_of(&weights[i].name));
            let mut kinds: Vec<String> = kinds.collect();
            kinds.sort();
            assert_eq!(
                kinds,
                ["layers.down.weight", "layers.up.weight", "norm.weight"]
            );
        }
    }

    #[test]
    fn another_seed_takes_other_weights_first() {
        let weights = weights();
        let first = |seed| in_turn(&weights, seed).next();
        assert_eq!(first(3), first(3));
        assert!((0..20).any(|seed| first(seed) != first(0)));
    }

    #[test]
    fn weights_of_one_shape_have_their_sketch_in_one_row() {
        let weights = weights();
        for seed in 0..50 {
            let (matrix, row) = sketch_row(&weights[0], seed);
            assert_eq!((matrix, row), sketch_row(&weights[7], seed));
            assert!(matrix == 0 && row < 64);
        }
    }
}
