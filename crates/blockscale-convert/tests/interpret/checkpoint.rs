//! Checkpoints whose block-scaled weights are damaged, as files.

use std::fs;
use std::path::{Path, PathBuf};

use blockscale::{Element, Format, ScaleElement};
use blockscale_convert::Weights;
use blockscale_convert::interpret::{GlobalUse, Interpretation, ScaleOrder};
use blockscale_convert::source::LocalSource;
use blockscale_model::Checkpoint;
use blockscale_model::catalog::{Catalog, Encoding, PartRole};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::matrices::minilm;

/// A checkpoint that is open.
pub(crate) struct Opened {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) catalog: Catalog,
    pub(crate) source: LocalSource,
}

impl Opened {
    pub(crate) fn new(path: &Path) -> Self {
        let (checkpoint, source) = LocalSource::open(path).unwrap();
        let catalog = Catalog::of(&checkpoint);
        Self {
            checkpoint,
            catalog,
            source,
        }
    }

    pub(crate) fn weights(&self) -> Weights<'_> {
        Weights {
            checkpoint: &self.checkpoint,
            catalog: &self.catalog,
            source: &self.source,
        }
    }
}

/// MiniLM with its encoder matrices in `format`, written as `meant`; the rest stays F32.
pub(crate) fn minilm_as(format: &Format, meant: &Interpretation) -> Option<tempfile::TempDir> {
    let matrices = minilm()?;
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-data/minilm");
    let bytes = fs::read(model.join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    for (name, tensor) in file.iter() {
        if tensor.dtype() == Dtype::F32 && matrices.iter().all(|m| m.name != name) {
            let plain = (name.to_owned(), Dtype::F32, tensor.shape().to_vec());
            tensors.push((plain.0, plain.1, plain.2, tensor.data().to_vec()));
        }
    }
    for matrix in &matrices {
        let (codes, scales, global) = matrix.encoded(format);
        let codes = meant.damage_codes(format, matrix.shape, codes).unwrap();
        let scales = meant.damage_scales(format, matrix.shape, scales).unwrap();
        let plane = format.scale_shape(matrix.shape);
        let module = matrix.name.trim_end_matches(".weight");
        let row = format.row_bytes(matrix.shape.cols);
        let (packed, code, scale) = match (format.scale, format.element) {
            (ScaleElement::E4m3Fn, _) => (".weight", Dtype::U8, Dtype::F8_E4M3),
            (_, Element::E2m1) => (".weight_packed", Dtype::U8, Dtype::U8),
            _ => (".weight", Dtype::F8_E4M3, Dtype::U8),
        };
        let mut add = |suffix: &str, dtype, shape: Vec<usize>, bytes| {
            tensors.push((format!("{module}{suffix}"), dtype, shape, bytes));
        };
        add(packed, code, vec![matrix.shape.rows, row], codes);
        add(".weight_scale", scale, vec![plane.rows, plane.cols], scales);
        if *format == Format::NVFP4 {
            let global = global.to_le_bytes().to_vec();
            add(".weight_scale_2", Dtype::F32, Vec::new(), global);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
        let view = TensorView::new(*dtype, shape.clone(), bytes).unwrap();
        (name.as_str(), view)
    });
    safetensors::serialize_to_file(views, None, &dir.path().join("model.safetensors")).unwrap();
    Some(dir)
}

/// Damages every block-scaled weight of a checkpoint, in place, where its shape allows it. Returns
/// the names of those whose bytes changed, or all where nothing is to change.
pub(crate) fn damage(dir: &Path, meant: &Interpretation) -> Vec<String> {
    let opened = Opened::new(dir);
    let mut damaged = Vec::new();
    for weight in &opened.catalog.weights {
        let Encoding::Block(format) = weight.encoding else {
            continue;
        };
        let shape = weight.matrices().shape;
        let order = Interpretation {
            scales: meant.scales,
            code_rows: meant.code_rows,
            ..Interpretation::AS_STORED
        };
        if !blockscale_convert::interpret::orders(&format, shape).contains(&order) {
            continue;
        }
        let read = |tensor: usize| {
            let raw = &opened.checkpoint.tensors[tensor];
            let mut bytes = vec![0; raw.bytes() as usize];
            opened.weights().read_tensor(tensor, 0, &mut bytes).unwrap();
            bytes
        };
        let plane = weight.part(PartRole::BlockScale).unwrap();
        let right = [read(weight.codes()), read(plane)];
        let codes = meant
            .damage_codes(&format, shape, right[0].clone())
            .unwrap();
        let scales = meant
            .damage_scales(&format, shape, right[1].clone())
            .unwrap();
        let moved = meant.scales != ScaleOrder::Linear;
        if moved && [&codes, &scales] == right.each_ref() {
            continue; // Some small planes are the same in both orders.
        }
        write(&opened, dir, weight.codes(), &codes);
        write(&opened, dir, plane, &scales);
        if let Some(global) = weight.part(PartRole::GlobalScale) {
            let stored = f32::from_le_bytes(read(global).try_into().unwrap());
            let wrong = match meant.global {
                GlobalUse::AsStored => stored,
                GlobalUse::Inverted => 1.0 / stored,
                GlobalUse::Unused => 1.0,
                GlobalUse::Times(factor) => stored / factor,
            };
            write(&opened, dir, global, &wrong.to_le_bytes());
        }
        damaged.push(weight.name.clone());
    }
    damaged
}

fn write(opened: &Opened, dir: &Path, tensor: usize, bytes: &[u8]) {
    use std::io::{Seek, SeekFrom, Write};
    let raw = &opened.checkpoint.tensors[tensor];
    let path: PathBuf = dir.join(opened.checkpoint.shards[raw.shard].name.as_str());
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(raw.range.start)).unwrap();
    file.write_all(bytes).unwrap();
}
