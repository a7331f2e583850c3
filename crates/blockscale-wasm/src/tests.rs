//! What is behind the bindings, natively: a small NVFP4 weight through every step.

use std::collections::BTreeMap;

use blockscale::Shape;
use blockscale_model::catalog::{Catalog, PartRole};
use blockscale_model::interpret::LevelsOf;
use blockscale_model::opening::{ListedFile, Opening};
use blockscale_model::view::{AsIf, Piece, Region, Surveyed, View};
use blockscale_model::{Dtype, NewTensor, lay_out};
use blockscale_wgpu::Window;

use crate::block::{Block, Scale};
use crate::compare::scatter_of;
use crate::js::SightError;
use crate::judging::orders_of;
use crate::sight::Place;
use crate::{Checkpoint, Comparison, Layer, Rect, Sight, Survey, WeightTable};

/// A file of one weight of 4 rows and 32 columns; element 17 of row 1 is 6, all others are 1. The
/// scales are 1, 2, ... in E4M3, the global one 0.5.
fn file() -> Vec<u8> {
    let tensor = |name: &str, dtype, shape: &[usize]| NewTensor {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
    };
    let tensors = [
        tensor("a.weight", Dtype::U8, &[4, 16]),
        tensor("a.weight_scale", Dtype::F8_E4M3, &[4, 2]),
        tensor("a.weight_scale_2", Dtype::F32, &[]),
    ];
    let layout = lay_out(&tensors, &BTreeMap::new()).unwrap();
    let mut file = layout.bytes.clone();
    file.resize(layout.file_len as usize, 0);
    let checkpoint = open(&file);
    let mut put = |name: &str, data: &[u8]| {
        let range = &checkpoint.tensor(name).unwrap().range;
        file[range.start as usize..range.end as usize].copy_from_slice(data);
    };
    let mut codes = [0x22; 64];
    codes[16 + 8] = 0x72;
    put("a.weight", &codes);
    put(
        "a.weight_scale",
        &[0x38, 0x40, 0x48, 0x50, 0x58, 0x60, 0x68, 0x70],
    );
    put("a.weight_scale_2", &0.5_f32.to_le_bytes());
    file
}

fn open(file: &[u8]) -> blockscale_model::Checkpoint {
    let name = "model.safetensors".to_owned();
    let len = file.len() as u64;
    let mut opening = Opening::of(vec![ListedFile { name, len }]).unwrap();
    while let Some(want) = opening.wants().into_iter().next() {
        let range = want.range.start as usize..want.range.end as usize;
        opening
            .give(&want.file, want.range.start, &file[range])
            .unwrap();
    }
    opening.finish().unwrap()
}

fn read<'a>(file: &'a [u8], pieces: &[Piece]) -> Vec<&'a [u8]> {
    let range = |piece: &Piece| &file[piece.range.start as usize..piece.range.end as usize];
    pieces.iter().map(range).collect()
}

/// Rows 0 to 3, or their scales alone.
fn sights(file: &[u8]) -> (Sight, Sight) {
    let checkpoint = open(file);
    let catalog = Catalog::of(&checkpoint);
    let region = Region {
        matrix: 0,
        rows: 0..4,
    };
    let view = View::of(&checkpoint, &catalog.weights[0], region, AsIf::AS_STORED).unwrap();
    let seen = view.see(&read(file, &view.pieces().unwrap())).unwrap();
    let plane = view
        .scales(&read(file, &view.scale_pieces().unwrap()))
        .unwrap();
    let place = |role| Place {
        role,
        file: "model.safetensors".to_owned(),
        start: 1000,
    };
    let places = vec![place(PartRole::Codes), place(PartRole::BlockScale)];
    let all = Sight::of_numbers(&view, seen, places.clone()).unwrap();
    (all, Sight::of_scales(&view, plane, places).unwrap())
}

#[test]
fn one_value_stands_out_of_a_map_of_any_size() {
    let (sight, _) = sights(&file());
    let window = Window::new(0..2, 0..32);
    // Row 1 has the scales 4 and 8, times one half.
    let map = sight
        .heat_map_of(Layer::Values, &window, Shape::new(1, 2))
        .unwrap();
    assert_eq!((map.max(), map.min()), (vec![2.0, 24.0], vec![0.5, 1.0]));
}

#[test]
fn scales_alone_are_the_scales_of_the_whole() {
    let (sight, scales) = sights(&file());
    let window = Window::new(0..4, 0..2);
    let numbers = |sight: &Sight| sight.numbers_of(Layer::Scales, &window).unwrap();
    assert_eq!(
        numbers(&scales),
        [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    );
    assert_eq!(numbers(&sight), numbers(&scales));
    let ends = scales.quantiles_of(Layer::Scales, &window, &[0.0, 1.0]);
    assert_eq!(ends.unwrap(), [0.5, 64.0]);
    assert_eq!(
        scales.value_stats_of(&scales.whole()),
        Err(SightError::NoNumbers)
    );
    assert!(scales.block_stats_of().is_err());
}

#[test]
fn statistics_count_every_value_code_and_scale() {
    let (sight, _) = sights(&file());
    let (values, blocks) = (
        sight.value_stats_of(&sight.whole()).unwrap(),
        sight.block_stats_of().unwrap(),
    );
    assert_eq!((values.count, values.max_abs), (128, 64.0));
    assert_eq!(
        (blocks.codes[2], blocks.codes[7], blocks.blocks),
        (127, 1, 8)
    );
    assert_eq!(sight.scale_stats_of().unwrap().histogram[0x38], 1);
}

#[test]
fn a_histogram_holds_every_value_once() {
    let (sight, _) = sights(&file());
    let window = Window::new(0..4, 0..32);
    let histogram = sight.histogram_of(Layer::Magnitudes, &window, vec![1.0, 24.0, 32.0]);
    // 16 of one half; ones to sixteens; the one of 24; 32 and 64.
    assert_eq!(histogram.unwrap().counts(), [16.0, 79.0, 1.0, 32.0]);
}

#[test]
fn a_block_shows_the_steps_to_the_value_that_is_decoded() {
    let (sight, _) = sights(&file());
    let block = serde_json::to_value(Block::of(&sight, 1, 1).unwrap()).unwrap();
    assert_eq!(block["firstCol"], 16);
    assert_eq!(block["scale"]["bytes"], serde_json::json!([0x50]));
    assert_eq!(block["scale"]["direction"], "multiplier");
    assert_eq!(
        (&block["scale"]["block"], &block["scale"]["scale"]),
        (&8.0.into(), &4.0.into())
    );
    let element = &block["elements"][1];
    assert_eq!(
        (&element["code"], &element["element"], &element["value"]),
        (&7.into(), &6.0.into(), &24.0.into())
    );
    let decoded = sight
        .numbers_of(Layer::Values, &Window::new(1..2, 16..32))
        .unwrap();
    for (step, value) in block["elements"].as_array().unwrap().iter().zip(decoded) {
        assert_eq!(step["value"], f64::from(value));
    }
    for (row, block) in [(4, 0), (0, 2)] {
        let error = Block::of(&sight, row, block).unwrap_err();
        assert_eq!(error, SightError::NoBlock { row, block });
    }
}

#[test]
fn a_weight_equals_itself_and_differs_where_it_was_changed() {
    let original = file();
    let mut changed = original.clone();
    let codes = open(&original).tensor("a.weight").unwrap().range.start as usize;
    changed[codes] = 0x23;
    let (one, other) = (sights(&original).0, sights(&changed).0);
    let rect = Rect::new(0, 4, 0, 32);
    let same = Comparison::of([&one, &one], Layer::Values, &rect, Shape::new(2, 2)).unwrap();
    assert!(same.total.is_exact());
    let found = Comparison::of([&one, &other], Layer::Values, &rect, Shape::new(2, 2)).unwrap();
    assert_eq!(found.differing(), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(found.total.max_abs_err, 0.25);
}

#[test]
fn columns_of_the_table_belong_together() {
    let checkpoint = open(&file());
    let table = WeightTable::of(&checkpoint, &Catalog::of(&checkpoint));
    assert_eq!((table.length(), table.names()), (1, "a.weight".to_owned()));
    assert_eq!(
        (table.formats(), table.format_ids()),
        (vec!["NVFP4".to_owned()], vec![0])
    );
    assert_eq!(
        (table.rows(), table.cols(), table.bytes()),
        (vec![4.0], vec![32.0], vec![76.0])
    );
}

#[test]
fn details_name_parts_ranges_and_the_plane_of_scales() {
    let checkpoint = Checkpoint::of(open(&file()));
    let weight = checkpoint.weight_json(0).unwrap();
    assert_eq!(weight["scalePlane"]["blockCols"], 16);
    assert_eq!(weight["parts"].as_array().unwrap().len(), 3);
    assert_eq!(weight["parts"][1]["role"], "block-scale");
    assert!(checkpoint.weight_json(1).is_none());
    assert_eq!(checkpoint.summary_json()["tensors"], 3);
}

#[test]
fn a_scale_and_a_block_say_where_their_bytes_lie() {
    let (sight, scales) = sights(&file());
    let scale = serde_json::to_value(Scale::of(&scales, 1, 1).unwrap()).unwrap();
    assert_eq!(scale["bytes"], serde_json::json!([0x50]));
    assert_eq!(
        (&scale["bytesAt"]["start"], &scale["bytesAt"]["end"]),
        (&1003.into(), &1004.into())
    );
    assert_eq!(
        (&scale["fields"]["exponent"], &scale["scale"]),
        (&10.into(), &4.0.into())
    );
    let block = serde_json::to_value(Block::of(&sight, 1, 1).unwrap()).unwrap();
    assert_eq!(
        block["bytes"],
        serde_json::json!([0x72, 0x22, 0x22, 0x22, 0x22, 0x22, 0x22, 0x22])
    );
    assert_eq!(block["bytesAt"]["start"], 1000 + 16 + 8);
    assert!(Scale::of(&scales, 4, 0).is_err() && Scale::of(&scales, 0, 2).is_err());
}

#[test]
fn scales_of_two_sights_are_counted_in_pairs() {
    let (_, scales) = sights(&file());
    let rect = Rect::new(0, 4, 0, 2);
    // 0.5 to 64: four below 8, and the same of both, so that only the diagonal counts.
    let found = scatter_of([&scales, &scales], &rect, vec![8.0]).unwrap();
    assert_eq!(found, [4.0, 0.0, 0.0, 4.0]);
}

#[test]
fn rows_times_columns_leave_nothing_and_only_numbers_can_tell() {
    let (sight, scales) = sights(&file());
    let found = scales.structure_of().unwrap();
    assert_eq!(found.of, LevelsOf::Scales);
    // 1, 2, 4, 8 ... in two columns: each row is four times the one above.
    assert!(found.left < 1e-6 && found.explained > 0.999, "{found:?}");
    assert_eq!(sight.structure_of().unwrap().of, LevelsOf::Numbers);
}

#[test]
fn one_number_far_out_is_an_outlier() {
    let (sight, _) = sights(&file());
    let tails = sight.tails_of(&Window::new(1..2, 0..32)).unwrap();
    // 16 twos, 15 fours and the one of 24: 4.5 root mean squares.
    assert_eq!((tails.count, tails.outliers), (32, 0));
    assert!(tails.kurtosis > 3.0);
}

#[test]
fn only_orders_that_fit_the_plane_are_offered() {
    let opened = Checkpoint::of(open(&file()));
    assert_eq!(
        orders_of(&opened.catalog.weights[0]),
        ["linear", "transposed"]
    );
}

#[test]
fn a_survey_counts_what_it_was_given_and_nothing_else() {
    let file = file();
    let opened = Checkpoint::of(open(&file));
    let mut survey = Survey::new(&opened);
    assert!(survey.column_of("rms").unwrap()[0].is_nan());
    let (checkpoint, weight) = (open(&file), &opened.catalog.weights[0]);
    let surveyed = Surveyed::of(&checkpoint, weight).unwrap();
    let bytes = read(&file, &surveyed.pieces().unwrap());
    survey.put(0, surveyed.evidence(&bytes).unwrap());
    assert_eq!(survey.column_of("maxAbs"), Some(vec![64.0]));
    assert_eq!(survey.column_of("globalScale"), Some(vec![0.5]));
    // The fifth of eight scales from 1 to 128 is 16, rounded down by rank: 8.
    assert_eq!(survey.column_of("scaleMedianLog2"), Some(vec![3.0]));
    assert_eq!(survey.column_of("saturated"), Some(vec![1.0 / 128.0]));
    assert_eq!(survey.column_of("colour"), None);
}
