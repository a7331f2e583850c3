//! Weights by their pieces, against what the tools that wrote them decode them to.

use std::collections::BTreeMap;
use std::fmt::Write;

use blockscale::decode::{Rows, decode_rows};
use blockscale::layout::{ScaleLayout, Scales, Stack, permute_scales};
use blockscale::{Format, GlobalScale, ScaleElement, Shape, bf16};
use blockscale_model::catalog::{Catalog, Weight};
use blockscale_model::interpret::{GlobalUse, Interpretation, NibbleOrder, ScaleOrder, ScaleUse};
use blockscale_model::view::{AsIf, Judged, Piece, Region, ScalePlane, Seen, View, ViewError};
use blockscale_model::{Checkpoint, Dtype, NewTensor, lay_out};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::files::{Files, bytes, folder, open};

const FOLDERS: [&str; 20] = [
    "autoawq",
    "autogptq",
    "ct-fp8-block-llama",
    "ct-int-mxfp6",
    "ct-mxfp4-llama",
    "ct-mxfp8-llama",
    "ct-nvfp4-dsv4",
    "ct-nvfp4a16-llama",
    "dsv4-nvfp4",
    "dsv4-official",
    "gptqmodel",
    "hf-fp8-dsv3",
    "mlx-affine",
    "mlx-nvfp4-llama",
    "modelopt-fp8-llama",
    "modelopt-nvfp4-dsv4",
    "modelopt-nvfp4-llama",
    "quark",
    "quark-e3m2",
    "torchao",
];

struct Opened {
    files: Files,
    checkpoint: Checkpoint,
    catalog: Catalog,
}

impl Opened {
    fn new(files: Files) -> Self {
        let checkpoint = open(&files, 0).unwrap();
        Self {
            catalog: Catalog::of(&checkpoint),
            checkpoint,
            files,
        }
    }

    fn view<'a>(
        &'a self,
        weight: &'a Weight,
        rows: std::ops::Range<usize>,
        as_if: AsIf,
    ) -> View<'a> {
        let region = Region { matrix: 0, rows };
        View::of(&self.checkpoint, weight, region, as_if).unwrap()
    }

    fn read(&self, pieces: &[Piece]) -> Vec<&[u8]> {
        let piece = |piece: &Piece| {
            let name = self.checkpoint.shards[piece.shard].name.as_str();
            bytes(&self.files, name, &piece.range)
        };
        pieces.iter().map(piece).collect()
    }

    fn scales(&self, view: &View<'_>) -> Result<ScalePlane, ViewError> {
        view.scales(&self.read(&view.scale_pieces()?))
    }

    /// All matrices of a weight, in runs of at least `step` rows.
    fn decode(&self, weight: &Weight, step: usize) -> Vec<f32> {
        let matrices = weight.matrices();
        let mut values = Vec::new();
        for matrix in 0..matrices.count {
            let mut row = 0;
            while row < matrices.shape.rows {
                let rows = row..matrices.shape.rows.min(row + step);
                let region = Region { matrix, rows };
                let view = View::of(&self.checkpoint, weight, region, AsIf::AS_STORED).unwrap();
                assert_eq!(view.region().rows.start, row);
                row = view.region().rows.end;
                let seen = view.see(&self.read(&view.pieces().unwrap())).unwrap();
                values.extend(numbers(&view, seen));
            }
        }
        values
    }
}

fn numbers(view: &View<'_>, seen: Seen) -> Vec<f32> {
    let shape = view.shape();
    match seen {
        Seen::Blocks { scales, codes } => {
            let mut values = vec![0.0; shape.rows * shape.cols];
            let rows = Rows {
                codes: &codes,
                scales: &scales.bytes,
                global: scales.global,
            };
            decode_rows(&scales.format, shape, rows, &mut values).unwrap();
            values
        }
        Seen::Integers(groups) => groups.values,
        Seen::Ggml(rows) => rows.values,
        Seen::Floats { dtype, bytes } => {
            assert_eq!(dtype, Dtype::F32);
            let numbers = bytes.as_chunks::<4>().0.iter();
            numbers.map(|&number| f32::from_le_bytes(number)).collect()
        }
    }
}

fn bf16_hash(values: &[f32]) -> String {
    // The hashes count -0 as +0.
    let halves = values.iter().map(|&value| bf16::from_f32(value + 0.0));
    let bytes: Vec<u8> = halves.flat_map(bf16::to_le_bytes).collect();
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[test]
fn pieces_decode_to_the_values_of_the_tools_that_wrote_them() {
    for name in FOLDERS {
        let mut files = folder(name);
        let expected = folder("").remove(&format!("{name}.expected.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        files.retain(|file, _| file.ends_with(".safetensors") || file.ends_with(".json"));
        let opened = Opened::new(files);
        let mut seen = 0;
        for weight in opened
            .catalog
            .weights
            .iter()
            .filter(|w| w.encoding.is_scaled())
        {
            let hash = expected[&weight.name]["sha256_bf16"].as_str().unwrap();
            // All at once, and in runs that end inside blocks.
            for step in [usize::MAX / 2, 7] {
                let values = opened.decode(weight, step);
                assert_eq!(bf16_hash(&values), hash, "{name}: {}, {step}", weight.name);
            }
            seen += 1;
        }
        assert_eq!(seen, expected.as_object().unwrap().len(), "{name}");
    }
}

const SHAPE: Shape = Shape::new(128, 64);

/// An NVFP4 weight of which no two bytes beside each other are alike, its scales as `order` has
/// them.
fn nvfp4(order: impl Fn(&[u8]) -> Vec<u8>) -> Opened {
    let tensor = |name: &str, dtype, shape: &[usize]| NewTensor {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
    };
    let tensors = [
        tensor("a.weight", Dtype::U8, &[128, 32]),
        tensor("a.weight_scale", Dtype::F8_E4M3, &[128, 4]),
        tensor("a.weight_scale_2", Dtype::F32, &[]),
    ];
    let layout = lay_out(&tensors, &BTreeMap::new()).unwrap();
    let mut file = layout.bytes.clone();
    file.resize(layout.file_len as usize, 0);
    let mut files = Files::from([("model.safetensors".to_owned(), file)]);
    let checkpoint = open(&files, 0).unwrap();
    let mut put = |name: &str, data: &[u8]| {
        let range = &checkpoint.tensor(name).unwrap().range;
        let file = files.get_mut("model.safetensors").unwrap();
        file[range.start as usize..range.end as usize].copy_from_slice(data);
    };
    put("a.weight", &codes());
    put("a.weight_scale", &order(&scales()));
    put("a.weight_scale_2", &0.5_f32.to_le_bytes());
    Opened::new(files)
}

fn codes() -> Vec<u8> {
    (0..128 * 32).map(|i| (i * 29 + 3) as u8).collect()
}

fn scales() -> Vec<u8> {
    (0..512).map(|i| (i * 7 % 120) as u8).collect()
}

fn tiles(linear: &[u8]) -> Vec<u8> {
    let mut tiles = vec![0; linear.len()];
    let scales = Scales {
        layout: ScaleLayout::Linear,
        element: ScaleElement::E4m3Fn,
        bytes: linear,
    };
    let stack = Stack::single(Shape::new(128, 4));
    permute_scales(ScaleLayout::Tiles128x4, stack, scales, &mut tiles).unwrap();
    tiles
}

#[test]
fn scales_in_an_unstated_layout_come_right_when_read_so() {
    let opened = nvfp4(tiles);
    let weight = &opened.catalog.weights[0];
    let as_if = AsIf {
        stated: Some(ScaleLayout::Tiles128x4),
        ..AsIf::AS_STORED
    };
    let plane = opened.scales(&opened.view(weight, 5..20, as_if)).unwrap();
    assert_eq!(plane.bytes, scales()[5 * 4..20 * 4]);
    let stored = opened.scales(&opened.view(weight, 5..20, AsIf::AS_STORED));
    assert_eq!(stored.unwrap().bytes, tiles(&scales())[5 * 4..20 * 4]);
}

#[test]
fn a_layout_that_does_not_fit_is_refused_by_name() {
    let opened = nvfp4(<[u8]>::to_vec);
    let as_if = AsIf {
        stated: Some(ScaleLayout::DeepGemmPackedBlocks),
        ..AsIf::AS_STORED
    };
    let view = opened.view(&opened.catalog.weights[0], 0..128, as_if);
    let error = opened.scales(&view).unwrap_err();
    assert!(matches!(error, ViewError::Layout { .. }), "{error}");
    assert!(error.to_string().starts_with("`a.weight`: "), "{error}");
}

#[test]
fn nibbles_are_exchanged_and_scales_are_not() {
    let opened = nvfp4(<[u8]>::to_vec);
    let as_if = reading(Interpretation {
        nibbles: NibbleOrder::Swapped,
        ..Interpretation::AS_STORED
    });
    let view = opened.view(&opened.catalog.weights[0], 0..128, as_if);
    let seen = view.see(&opened.read(&view.pieces().unwrap())).unwrap();
    let Seen::Blocks {
        scales: plane,
        codes: found,
    } = seen
    else {
        panic!("NVFP4 is in blocks");
    };
    let swapped: Vec<u8> = codes().iter().map(|byte| byte.rotate_left(4)).collect();
    assert_eq!((found, plane.bytes), (swapped, scales()));
}

#[test]
fn the_global_scale_is_applied_as_the_view_takes_it() {
    let opened = nvfp4(<[u8]>::to_vec);
    let weight = &opened.catalog.weights[0];
    for (read_as, global) in [
        (GlobalUse::Unused, GlobalScale::None),
        (GlobalUse::AsStored, GlobalScale::Multiplier),
        (GlobalUse::Inverted, GlobalScale::Divisor),
    ] {
        let as_if = reading(Interpretation {
            global: read_as,
            ..Interpretation::AS_STORED
        });
        let plane = opened.scales(&opened.view(weight, 0..128, as_if)).unwrap();
        let format = Format {
            global,
            ..Format::NVFP4
        };
        let expected: Vec<f32> = scales()
            .iter()
            .map(|&s| format.effective_scale(&[s], 0.5))
            .collect();
        assert_eq!(plane.values(), expected, "{global:?}");
        assert_eq!(plane.shape, format.scale_shape(SHAPE));
    }
}

#[test]
fn regions_outside_and_other_bytes_are_refused() {
    let opened = nvfp4(<[u8]>::to_vec);
    let weight = &opened.catalog.weights[0];
    for (matrix, rows) in [
        (1, 0..1),
        (0, 0..129),
        (0, std::ops::Range { start: 5, end: 4 }),
    ] {
        let region = Region { matrix, rows };
        let error = View::of(&opened.checkpoint, weight, region, AsIf::AS_STORED).unwrap_err();
        assert!(matches!(error, ViewError::Outside { .. }), "{error}");
    }
    let view = opened.view(weight, 0..8, AsIf::AS_STORED);
    let pieces = view.pieces().unwrap();
    let mut given = opened.read(&pieces);
    given[0] = &given[0][1..];
    assert!(matches!(
        view.see(&given),
        Err(ViewError::PieceLength { .. })
    ));
    assert!(matches!(
        view.see(&given[1..]),
        Err(ViewError::Pieces { .. })
    ));
}

fn reading(reading: Interpretation) -> AsIf {
    AsIf {
        reading,
        ..AsIf::AS_STORED
    }
}

/// Every reading of scales is undone by what would have caused it, for some rows as for all.
#[test]
fn scales_that_were_moved_come_right_when_read_so() {
    for order in [
        ScaleOrder::Transposed,
        ScaleOrder::In(ScaleLayout::Tiles128x4),
        ScaleOrder::Twice(ScaleLayout::Tiles128x4),
        ScaleOrder::Undone(ScaleLayout::Tiles128x4),
    ] {
        let meant = Interpretation {
            scales: order,
            ..Interpretation::AS_STORED
        };
        let damage = |scales: &[u8]| {
            let moved = meant.damage_scales(&Format::NVFP4, SHAPE, scales.to_vec());
            moved.unwrap()
        };
        let opened = nvfp4(damage);
        let weight = &opened.catalog.weights[0];
        let plane = opened.scales(&opened.view(weight, 5..20, reading(meant)));
        assert_eq!(plane.unwrap().bytes, scales()[5 * 4..20 * 4], "{meant}");
        let view = opened.view(weight, 5..20, reading(meant));
        let seen = view.see(&opened.read(&view.pieces().unwrap())).unwrap();
        let Seen::Blocks { codes: found, .. } = seen else {
            panic!("NVFP4 is in blocks");
        };
        assert_eq!(found, codes()[5 * 32..20 * 32]);
    }
}

#[test]
fn rows_of_codes_that_were_moved_come_right_when_read_so() {
    let layout = ScaleLayout::TrtllmLinear(blockscale::layout::RowShuffle::By16);
    let meant = Interpretation {
        code_rows: Some(layout),
        ..Interpretation::AS_STORED
    };
    let mut opened = nvfp4(<[u8]>::to_vec);
    let moved = meant.damage_codes(&Format::NVFP4, SHAPE, codes()).unwrap();
    let range = opened.checkpoint.tensor("a.weight").unwrap().range.clone();
    let file = opened.files.get_mut("model.safetensors").unwrap();
    file[range.start as usize..range.end as usize].copy_from_slice(&moved);
    let view = opened.view(&opened.catalog.weights[0], 7..9, reading(meant));
    let seen = view.see(&opened.read(&view.pieces().unwrap())).unwrap();
    let Seen::Blocks { codes: found, .. } = seen else {
        panic!("NVFP4 is in blocks");
    };
    assert_eq!(found, codes()[7 * 32..9 * 32]);
}

#[test]
fn a_reading_that_a_format_has_no_room_for_is_refused() {
    let opened = nvfp4(<[u8]>::to_vec);
    for meant in [
        Interpretation {
            scale_use: ScaleUse::Divides,
            ..Interpretation::AS_STORED
        },
        Interpretation {
            element: Some(blockscale::Element::E5m2),
            ..Interpretation::AS_STORED
        },
        Interpretation {
            scales: ScaleOrder::In(ScaleLayout::DeepGemmPackedBlocks),
            ..Interpretation::AS_STORED
        },
    ] {
        let view = opened.view(&opened.catalog.weights[0], 0..128, reading(meant));
        let error = opened.scales(&view).unwrap_err();
        assert!(matches!(error, ViewError::Reading { .. }), "{error}");
    }
}

#[test]
fn a_matrix_is_judged_by_runs_of_its_rows_and_all_of_its_scales() {
    let opened = nvfp4(<[u8]>::to_vec);
    let judged = Judged::of(&opened.checkpoint, &opened.catalog.weights[0], 0).unwrap();
    let pieces = judged.pieces().unwrap();
    let sample = judged.sample(&opened.read(&pieces)).unwrap();
    // 128 rows are eight runs of sixteen: all of them.
    assert_eq!(sample.rows, (0..128).collect::<Vec<_>>());
    assert_eq!((sample.codes, sample.scales), (codes(), scales()));
    assert_eq!((sample.shape, sample.global), (SHAPE, 0.5));
}
