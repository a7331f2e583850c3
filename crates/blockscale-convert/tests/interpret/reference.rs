//! Interpretations ranked against a reference, on the sample with ten seeds and a trained model.

use std::path::Path;

use blockscale::layout::{RowShuffle, ScaleLayout};
use blockscale::{Format, Shape};
use blockscale_convert::interpret::{
    CompareOptions, GlobalUse, Interpretation, NibbleOrder, ScaleOrder, ScaleUse, SignForm, compare,
};
use blockscale_convert::sample::{SampleDialect, SampleOptions, write_sample};

use crate::checkpoint::{Opened, damage, minilm_as};

const STORED: Interpretation = Interpretation::AS_STORED;

/// Every damage that NVFP4 can take, alone and two at a time.
fn damages() -> Vec<Interpretation> {
    let tiles = ScaleLayout::Tiles128x4;
    let shuffled = ScaleLayout::TrtllmLinear(RowShuffle::By32);
    let scales = |scales| Interpretation { scales, ..STORED };
    let global = |global| Interpretation { global, ..STORED };
    vec![
        STORED,
        scales(ScaleOrder::Transposed),
        scales(ScaleOrder::In(tiles)),
        scales(ScaleOrder::Twice(tiles)),
        scales(ScaleOrder::Undone(tiles)),
        scales(ScaleOrder::In(ScaleLayout::Tiles8x4)),
        scales(ScaleOrder::In(shuffled)),
        Interpretation {
            code_rows: Some(shuffled),
            ..scales(ScaleOrder::In(shuffled))
        },
        Interpretation {
            nibbles: NibbleOrder::Swapped,
            ..STORED
        },
        Interpretation {
            nibbles: NibbleOrder::Halves,
            ..scales(ScaleOrder::In(tiles))
        },
        Interpretation {
            sign: SignForm::TwosComplement,
            ..STORED
        },
        global(GlobalUse::Inverted),
        global(GlobalUse::Times(8.0)),
    ]
}

fn sample(dir: &Path, seed: u64, dialect: SampleDialect) {
    let options = SampleOptions {
        layers: 1,
        seed,
        dialect,
        ..SampleOptions::default()
    };
    write_sample(dir, &options).unwrap();
}

/// Whether two interpretations are one for matrices of this shape, as tiles of a single row of tiles
/// are for planes that are their own inverse.
fn same_bytes(format: &Format, shape: Shape, a: Interpretation, b: Interpretation) -> bool {
    let numbers = |len: usize| (0..len).map(|i| (i % 251) as u8).collect::<Vec<u8>>();
    let scales = numbers(format.scale_bytes(shape).unwrap());
    let damaged = |reading: Interpretation| {
        let scales = reading.damage_scales(format, shape, scales.clone());
        (
            scales.unwrap(),
            reading.code_rows,
            reading.nibbles,
            reading.sign,
        )
    };
    let near = match (a.global, b.global) {
        (GlobalUse::Times(a), GlobalUse::Times(b)) => (a / b - 1.0).abs() < 1e-4,
        (a, b) => a == b,
    };
    damaged(a) == damaged(b) && near
}

#[test]
fn every_damage_is_named_on_ten_seeds() {
    for seed in 0..10 {
        let right = tempfile::tempdir().unwrap();
        sample(right.path(), seed, SampleDialect::Native);
        let right = Opened::new(right.path());
        for meant in damages() {
            let dir = tempfile::tempdir().unwrap();
            sample(dir.path(), seed, SampleDialect::Hf);
            let damaged = damage(dir.path(), &meant);
            assert!(!damaged.is_empty(), "{meant}");
            let wrong = Opened::new(dir.path());
            let options = CompareOptions {
                seed,
                ..CompareOptions::default()
            };
            let explained = compare(wrong.weights(), right.weights(), &options).unwrap();
            for name in &damaged {
                let found = explained.iter().find(|e| e.name == *name);
                let found = found.unwrap_or_else(|| panic!("{name} was not compared"));
                let shape = wrong.catalog.weight(name).unwrap().matrices().shape;
                let says = found.interpretation().unwrap();
                let same = same_bytes(&found.format, shape, says, meant);
                assert!(same, "seed {seed}, {name}: {meant}: {:?}", found.ranking);
                assert!(
                    found.margin_db() > 3.0,
                    "seed {seed}, {name}: {:?}",
                    found.ranking
                );
            }
        }
    }
}

#[test]
fn trained_matrices_are_explained_by_the_weights_that_they_came_from() {
    let tiles = ScaleOrder::In(ScaleLayout::Tiles128x4);
    let cases = [
        (Format::MXFP4, STORED),
        (
            Format::MXFP8_E4M3,
            Interpretation {
                scales: ScaleOrder::In(ScaleLayout::DeepGemmPacked),
                ..STORED
            },
        ),
        (
            Format::MXFP4,
            Interpretation {
                scale_use: ScaleUse::Divides,
                scales: tiles,
                nibbles: NibbleOrder::Halves,
                ..STORED
            },
        ),
        (
            Format::NVFP4,
            Interpretation {
                sign: SignForm::TwosComplement,
                nibbles: NibbleOrder::Swapped,
                ..STORED
            },
        ),
    ];
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-data/minilm");
    for (format, meant) in cases {
        let Some(dir) = minilm_as(&format, &meant) else {
            return;
        };
        let (wrong, right) = (Opened::new(dir.path()), Opened::new(&original));
        let explained =
            compare(wrong.weights(), right.weights(), &CompareOptions::default()).unwrap();
        assert_eq!(explained.len(), 37);
        for found in explained {
            assert_eq!(
                found.interpretation(),
                Some(meant),
                "{}: {:?}",
                found.name,
                found.ranking
            );
        }
    }
}
