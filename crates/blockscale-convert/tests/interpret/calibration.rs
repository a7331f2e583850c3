//! Stated confidence against how often it is right, on cases that are hard: a few rows and columns
//! of blocks.

use blockscale::{Format, Shape};
use blockscale_convert::interpret::{Answer, Sample, SignForm, orders};

use crate::matrices::{Matrix, damaged, minilm};

/// Corners of matrices: blocks of rows, and blocks of columns.
const CORNERS: [(usize, usize); 6] = [(3, 4), (3, 8), (4, 8), (6, 8), (8, 12), (16, 12)];

#[test]
fn confidence_is_how_often_answers_are_right() {
    let Some(matrices) = minilm() else {
        return;
    };
    // Margins up to 1, 2, 4, 8 nats, and more.
    let edges = [0.5, 1.0, 2.0, 4.0, 8.0, f64::INFINITY];
    let mut bins = [(0.0, 0.0, 0.0); 6];
    for format in [Format::NVFP4, Format::MXFP4, Format::MXFP8_E4M3] {
        for matrix in matrices.iter().step_by(2) {
            for (rows, blocks) in CORNERS {
                for (right, answer) in judge_corner(matrix, &format, rows, blocks) {
                    let bin = edges
                        .iter()
                        .position(|&edge| answer.margin() <= edge)
                        .unwrap();
                    bins[bin].0 += 1.0;
                    bins[bin].1 += f64::from(u8::from(right));
                    bins[bin].2 += answer.confidence();
                }
            }
        }
    }
    for (edge, (cases, right, stated)) in edges.into_iter().zip(bins) {
        let (right, stated) = (right / cases, stated / cases);
        println!("margin up to {edge}: {cases} cases, {right:.3} right, {stated:.3} stated");
        assert!(
            (right - stated).abs() < 0.1 || right > stated,
            "{edge}: {right} against {stated}"
        );
    }
    let (cases, right, _) = bins[5];
    assert!(right / cases > 0.99);
}

/// Answers on the first rows and blocks of columns of a matrix, under each order of all scales.
fn judge_corner(
    matrix: &Matrix,
    format: &Format,
    rows: usize,
    blocks: usize,
) -> Vec<(bool, Answer)> {
    // As many rows as the tiles need, so that every order is possible; few of them are read.
    let cols = blocks * matrix.shape.cols / format.scale_shape(matrix.shape).cols;
    let shape = Shape::new(256, cols);
    let values = matrix.values.chunks(matrix.shape.cols).take(shape.rows);
    let values = values.flat_map(|row| row[..cols].to_vec()).collect();
    let corner = Matrix {
        name: matrix.name.clone(),
        shape,
        values,
    };
    let encoded = corner.encoded(format);
    let judge = |meant| {
        let sample: Sample = damaged(format, shape, &encoded, &meant, rows);
        let answer = sample.scale_order(SignForm::Magnitude);
        let right = answer.best() == meant || answer.equals().any(|other| other == meant);
        (right, answer)
    };
    orders(format, shape).into_iter().map(judge).collect()
}
