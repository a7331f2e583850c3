//! Every weight of a checkpoint, judged by its bytes alone.

use blockscale::format::Format;
use blockscale::layout::ScaleLayout;
use blockscale_model::catalog::{Axes, Encoding, Weight};
use blockscale_model::interpret::{Answer, Channels, Interpretation, Question, Sample};
use rayon::prelude::*;

use super::anchors;
use super::reading::read_sample;
use crate::ConvertError;
use crate::sample::random::Stream;
use crate::weights::Weights;

/// How much is read.
#[derive(Clone, Copy, Debug)]
pub struct ExamineOptions {
    /// Chooses rows, matrices and, under a limit, weights.
    pub seed: u64,
    /// Blocks of rows that are read of a matrix, beside all of its scales.
    pub blocks: usize,
    /// Bytes of other matrices that are read for one weight, to compare channels.
    pub anchor_bytes: u64,
    /// Bytes that may be read; weights are judged in an order that the seed sets until they are
    /// spent. At least one weight is.
    pub max_bytes: u64,
}

impl Default for ExamineOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            blocks: 128,
            anchor_bytes: 8 << 20,
            max_bytes: u64::MAX,
        }
    }
}

/// What the bytes of one weight say.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Index into [`Catalog::weights`](blockscale_model::catalog::Catalog::weights).
    pub weight: usize,
    /// Its name.
    pub name: String,
    /// The matrix of a stack that was looked at.
    pub matrix: usize,
    /// The format that the file states.
    pub format: Format,
    /// What the decided answers say together; as stored where nothing else is decided.
    pub interpretation: Interpretation,
    /// Every question that could be asked.
    pub answers: Vec<Answer>,
}

impl Reading {
    /// What it answers to a question, if that could be asked.
    pub fn answer(&self, question: Question) -> Option<&Answer> {
        self.answers
            .iter()
            .find(|answer| answer.question == question)
    }
}

/// Judges the block-scaled weights of a checkpoint, each by one of its matrices.
///
/// Weights whose layout the file itself names are left out: their bytes are where it says.
/// Readings come in the order of the catalog and depend on the seed, not on threads.
///
/// # Errors
/// What the source says.
pub fn examine(
    weights: Weights<'_>,
    options: &ExamineOptions,
) -> Result<Vec<Reading>, ConvertError> {
    let cost = |weight: &Weight, format: &Format| cost(weight, format, options);
    chosen(weights, options.seed, options.max_bytes, cost)
        .into_par_iter()
        .map(|(index, format)| examine_weight(weights, index, format, options))
        .collect()
}

/// The weights to judge, in the order of the catalog: all, or those that the seed draws until
/// `max_bytes` are spent.
pub(super) fn chosen(
    weights: Weights<'_>,
    seed: u64,
    max_bytes: u64,
    cost: impl Fn(&Weight, &Format) -> u64,
) -> Vec<(usize, Format)> {
    let all = weights.catalog.weights.iter().enumerate();
    let mut all: Vec<(usize, Format)> = all
        .filter_map(|(index, weight)| Some((index, judged(weight)?)))
        .collect();
    if max_bytes < u64::MAX {
        let key = |index: usize| {
            let name = &weights.catalog.weights[index].name;
            Stream::new(seed, &format!("{name} chosen")).below(1 << 31)
        };
        all.sort_by_cached_key(|(index, _)| (key(*index), *index));
        let mut spent = 0;
        let affordable = all.iter().take_while(|(index, format)| {
            let first = spent == 0;
            spent += cost(&weights.catalog.weights[*index], format);
            first || spent <= max_bytes
        });
        let count = affordable.count();
        all.truncate(count);
        all.sort_unstable_by_key(|(index, _)| *index);
    }
    all
}

/// The format of a weight that can be judged.
fn judged(weight: &Weight) -> Option<Format> {
    match weight.encoding {
        Encoding::Block(format)
            if weight.layout == ScaleLayout::Linear
                && weight.axes == Axes::OutIn
                && weight.elements() > 0 =>
        {
            Some(format)
        }
        _ => None,
    }
}

/// Blocks of rows that are read: fewer where a block has many rows, and so many numbers that its
/// loudness is known well.
fn blocks_read(format: &Format, rows: usize, options: &ExamineOptions) -> usize {
    let wanted = match format.block_rows(rows) {
        0 | 1 => options.blocks,
        _ => (options.blocks / 8).max(4),
    };
    Sample::block_count(format, rows).min(wanted)
}

/// The most that judging a weight reads.
fn cost(weight: &Weight, format: &Format, options: &ExamineOptions) -> u64 {
    let shape = weight.matrices().shape;
    let plane = format.scale_shape(shape);
    let codes = blocks_read(format, shape.rows, options)
        * format.block_rows(shape.rows).max(1)
        * format.row_bytes(shape.cols);
    let own = (codes + plane.rows * plane.cols * format.scale.bytes()) as u64;
    own + anchors::most_bytes(weight, options.anchor_bytes)
}

fn examine_weight(
    weights: Weights<'_>,
    index: usize,
    format: Format,
    options: &ExamineOptions,
) -> Result<Reading, ConvertError> {
    let weight = &weights.catalog.weights[index];
    let matrices = weight.matrices();
    let mut stream = Stream::new(options.seed, &weight.name);
    let matrix = stream.below(matrices.count);
    let rows = matrices.shape.rows;
    let (read, all) = (
        blocks_read(&format, rows, options),
        Sample::block_count(&format, rows),
    );
    let blocks = spread_out(&mut stream, read, all);
    let sample = read_sample(weights, weight, &format, matrix, &blocks)?;
    let channels = Channels {
        columns: match format.element.bits() {
            4 => anchors::of_columns(weights, weight, options.anchor_bytes)?,
            _ => Vec::new(),
        },
        rows: anchors::of_rows(weights, weight, options.anchor_bytes)?,
    };
    let (interpretation, answers) = sample.judge(&channels);
    Ok(Reading {
        weight: index,
        name: weight.name.clone(),
        matrix,
        format,
        interpretation,
        answers,
    })
}

/// `count` of the numbers below `of`, one from each of as many equal parts.
pub(super) fn spread_out(stream: &mut Stream, count: usize, of: usize) -> Vec<usize> {
    let count = count.min(of);
    let edge = |part: usize| part * of / count.max(1);
    (0..count)
        .map(|part| edge(part) + stream.below(edge(part + 1) - edge(part)))
        .collect()
}
