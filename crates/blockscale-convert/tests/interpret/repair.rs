//! Damaged checkpoints converted as they are meant: the bytes are those of before the damage.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use blockscale::Format;
use blockscale::layout::{RowShuffle, ScaleLayout};
use blockscale_convert::interpret::{
    CompareOptions, ExamineOptions, GlobalUse, Interpretation, NibbleOrder, ScaleOrder, SignForm,
    compare, examine,
};
use blockscale_convert::repair::{Fix, Repaired, fixes_of_readings, fixes_of_reference};
use blockscale_convert::sample::{SampleDialect, SampleOptions, write_sample};
use blockscale_convert::{ConvertOptions, convert};
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::Recipe;

use crate::checkpoint::{Opened, damage, minilm_as};

/// Everything stays as it is.
fn keep() -> Recipe {
    let text = "version = 1\nname = \"keep\"\n[[rule]]\nmatch = [\"*\"]\nto = \"keep\"";
    Recipe::parse(text).unwrap()
}

/// Converts `damaged` with `fixes` and opens the result.
fn repaired(damaged: &Opened, fixes: &[Fix], out: &Path) -> Opened {
    let repaired = Repaired::new(damaged.weights(), fixes);
    let options = PlanOptions::default();
    let plan = Plan::build(repaired.checkpoint(), repaired.catalog(), &keep(), &options).unwrap();
    let stop = AtomicBool::new(false);
    convert(
        repaired.weights(),
        &plan,
        out,
        &ConvertOptions::default(),
        &(),
        &stop,
    )
    .unwrap();
    Opened::new(out)
}

/// Whether two checkpoints hold the same tensors with the same bytes.
fn assert_same_tensors(ours: &Opened, theirs: &Opened) {
    assert_eq!(
        ours.checkpoint.tensors.len(),
        theirs.checkpoint.tensors.len()
    );
    for (index, raw) in ours.checkpoint.tensors.iter().enumerate() {
        let other = theirs.checkpoint.position(&raw.name).unwrap();
        let read = |opened: &Opened, tensor| {
            let mut bytes = vec![0; raw.bytes() as usize];
            opened.weights().read_tensor(tensor, 0, &mut bytes).unwrap();
            bytes
        };
        assert!(read(ours, index) == read(theirs, other), "{}", raw.name);
    }
}

#[test]
fn a_reference_repairs_every_damage_to_the_byte() {
    let tiles = ScaleLayout::Tiles128x4;
    let meant = [
        Interpretation {
            scales: ScaleOrder::In(tiles),
            nibbles: NibbleOrder::Swapped,
            ..Interpretation::AS_STORED
        },
        Interpretation {
            scales: ScaleOrder::In(ScaleLayout::TrtllmLinear(RowShuffle::By32)),
            code_rows: Some(ScaleLayout::TrtllmLinear(RowShuffle::By32)),
            ..Interpretation::AS_STORED
        },
        Interpretation {
            nibbles: NibbleOrder::Halves,
            sign: SignForm::TwosComplement,
            ..Interpretation::AS_STORED
        },
        Interpretation {
            scales: ScaleOrder::Transposed,
            ..Interpretation::AS_STORED
        },
    ];
    let options = SampleOptions {
        layers: 1,
        dialect: SampleDialect::Hf,
        ..SampleOptions::default()
    };
    let right_dir = tempfile::tempdir().unwrap();
    write_sample(right_dir.path(), &options).unwrap();
    let right = Opened::new(right_dir.path());
    for meant in meant {
        let [dir, out] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        write_sample(dir.path(), &options).unwrap();
        damage(dir.path(), &meant);
        let damaged = Opened::new(dir.path());
        let explained = compare(
            damaged.weights(),
            right.weights(),
            &CompareOptions::default(),
        )
        .unwrap();
        let (fixes, unsettled) = fixes_of_reference(&explained);
        assert!(unsettled.is_empty() && !fixes.is_empty(), "{unsettled:?}");
        assert_same_tensors(&repaired(&damaged, &fixes, out.path()), &right);
    }
}

#[test]
fn an_inverted_global_scale_is_turned_back() {
    let options = SampleOptions {
        layers: 1,
        ..SampleOptions::default()
    };
    let [dir, out] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    write_sample(dir.path(), &options).unwrap();
    let inverted = Interpretation {
        global: GlobalUse::Inverted,
        ..Interpretation::AS_STORED
    };
    let names = damage(dir.path(), &inverted);
    let damaged = Opened::new(dir.path());
    let readings = examine(damaged.weights(), &ExamineOptions::default()).unwrap();
    let (fixes, unsettled) = fixes_of_readings(&readings);
    assert_eq!(fixes.len(), names.len(), "{unsettled:?}");
    let output = repaired(&damaged, &fixes, out.path());
    let readings = examine(output.weights(), &ExamineOptions::default()).unwrap();
    assert!(
        readings
            .iter()
            .all(|reading| reading.interpretation.is_as_stored())
    );
}

#[test]
fn a_trained_model_is_repaired_without_a_reference() {
    let stored = Interpretation::AS_STORED;
    let damages = [
        (
            Format::NVFP4,
            Interpretation {
                scales: ScaleOrder::In(ScaleLayout::Tiles128x4),
                nibbles: NibbleOrder::Swapped,
                ..stored
            },
        ),
        (
            Format::MXFP4,
            Interpretation {
                scales: ScaleOrder::Transposed,
                nibbles: NibbleOrder::Halves,
                sign: SignForm::TwosComplement,
                ..stored
            },
        ),
    ];
    for (format, meant) in damages {
        let (Some(right), Some(dir)) = (minilm_as(&format, &stored), minilm_as(&format, &meant))
        else {
            return;
        };
        let (right, damaged) = (Opened::new(right.path()), Opened::new(dir.path()));
        let readings = examine(damaged.weights(), &ExamineOptions::default()).unwrap();
        let (fixes, unsettled) = fixes_of_readings(&readings);
        assert!(unsettled.is_empty(), "{unsettled:?}");
        assert_eq!(fixes.len(), 37);
        let out = tempfile::tempdir().unwrap();
        assert_same_tensors(&repaired(&damaged, &fixes, out.path()), &right);
    }
}

#[test]
fn another_set_of_fixes_is_another_source() {
    let options = SampleOptions {
        layers: 1,
        ..SampleOptions::default()
    };
    let dir = tempfile::tempdir().unwrap();
    write_sample(dir.path(), &options).unwrap();
    let opened = Opened::new(dir.path());
    let weight = opened
        .catalog
        .weights
        .iter()
        .position(|w| w.encoding.is_scaled())
        .unwrap();
    let fix = Fix {
        weight,
        name: opened.catalog.weights[weight].name.clone(),
        format: Format::NVFP4,
        interpretation: Interpretation {
            nibbles: NibbleOrder::Swapped,
            ..Interpretation::AS_STORED
        },
    };
    let none = Repaired::new(opened.weights(), &[]);
    let one = Repaired::new(opened.weights(), &[fix]);
    assert_eq!(
        none.weights().source.identities(),
        opened.weights().source.identities()
    );
    assert_ne!(
        one.weights().source.identities(),
        opened.weights().source.identities()
    );
}
