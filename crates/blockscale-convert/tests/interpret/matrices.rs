//! Matrices of a trained model, encoded and damaged.

use std::path::Path;

use blockscale::encode::{amax, encode_rows, global_scale};
use blockscale::{Format, Shape};
use blockscale_convert::interpret::{Answer, Certainty, Interpretation, Sample};
use safetensors::{Dtype, SafeTensors};

/// A matrix of the model.
pub(crate) struct Matrix {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) values: Vec<f32>,
}

/// The 37 encoder matrices of all-MiniLM-L6-v2, or `None`, with a word about it, where the model
/// is not there.
pub(crate) fn minilm() -> Option<Vec<Matrix>> {
    let path = "../../target/test-data/minilm/model.safetensors";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let Ok(bytes) = std::fs::read(&path) else {
        println!(
            "skipped: MiniLM is not under target/test-data/minilm; `cargo xtask test` fetches it"
        );
        return None;
    };
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut matrices = Vec::new();
    for (name, tensor) in file.iter() {
        let &[rows, cols] = tensor.shape() else {
            continue;
        };
        if tensor.dtype() != Dtype::F32 || name.contains("embeddings") {
            continue;
        }
        let values = tensor.data().as_chunks().0.iter();
        matrices.push(Matrix {
            name: name.to_owned(),
            shape: Shape::new(rows, cols),
            values: values.map(|&bytes| f32::from_le_bytes(bytes)).collect(),
        });
    }
    matrices.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(matrices.len(), 37);
    Some(matrices)
}

impl Matrix {
    /// Codes, scales and global scale.
    pub(crate) fn encoded(&self, format: &Format) -> (Vec<u8>, Vec<u8>, f32) {
        let global = global_scale(format, amax(&self.values));
        let mut codes = vec![0; format.code_bytes(self.shape).unwrap()];
        let mut scales = vec![0; format.scale_bytes(self.shape).unwrap()];
        let rule = format.default_rule();
        encode_rows(
            format,
            rule,
            self.shape,
            &self.values,
            global,
            &mut codes,
            &mut scales,
        )
        .unwrap();
        (codes, scales, global)
    }
}

/// What is left of a matrix when a writer meant it as `meant`: all scales, and at most `blocks`
/// blocks of rows, evenly spread.
pub(crate) fn damaged(
    format: &Format,
    shape: Shape,
    (codes, scales, global): &(Vec<u8>, Vec<u8>, f32),
    meant: &Interpretation,
    blocks: usize,
) -> Sample {
    let codes = meant.damage_codes(format, shape, codes.clone()).unwrap();
    let scales = meant.damage_scales(format, shape, scales.clone()).unwrap();
    let height = format.block_rows(shape.rows);
    let all = shape.rows.div_ceil(height);
    let step = all.div_ceil(blocks);
    let rows: Vec<usize> = (0..all)
        .step_by(step)
        .flat_map(|block| block * height..shape.rows.min((block + 1) * height))
        .collect();
    let row = format.row_bytes(shape.cols);
    let codes = rows.iter().flat_map(|r| codes[r * row..][..row].to_vec());
    Sample {
        format: *format,
        shape,
        codes: codes.collect(),
        rows,
        scales,
        global: *global,
    }
}

/// How often answers were right.
#[derive(Default)]
pub(crate) struct Rate {
    pub(crate) cases: usize,
    pub(crate) right: usize,
    pub(crate) decided: usize,
    pub(crate) right_of_decided: usize,
}

impl Rate {
    pub(crate) fn add(&mut self, answer: &Answer, right: bool, case: impl Fn() -> String) {
        let decided = answer.certainty() == Certainty::Decided;
        self.cases += 1;
        self.right += usize::from(right);
        self.decided += usize::from(decided);
        self.right_of_decided += usize::from(right && decided);
        if !right {
            let best = answer.best();
            println!(
                "{}: taken for {best}, margin {:.2}",
                case(),
                answer.margin()
            );
        }
    }

    pub(crate) fn print(&self, what: &str) {
        println!(
            "{what}: {} cases, {} right, {} decided, {} of these right",
            self.cases, self.right, self.decided, self.right_of_decided
        );
    }
}
