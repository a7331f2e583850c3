//! A checkpoint of 100 GB, of which almost nothing is read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use blockscale_convert::Weights;
use blockscale_convert::doctor::{Scope, examine};
use blockscale_convert::interpret::diagnose;
use blockscale_convert::source::{LocalSource, ShardIdentity, Source, SourceError};
use blockscale_model::catalog::Catalog;
use blockscale_model::{Dtype, NewTensor, lay_out};

const LAYERS: usize = 860;
const SHAPE: [usize; 2] = [7168, 16384];

/// 860 weights in FP8 blocks, of zeros, which take no room.
fn write_sparse(path: &Path) -> io::Result<u64> {
    let tensor = |layer: usize, suffix: &str, dtype, shape: [usize; 2]| NewTensor {
        name: format!("model.layers.{layer}.mlp.down_proj{suffix}"),
        dtype,
        shape: shape.to_vec(),
    };
    let tensors: Vec<NewTensor> = (0..LAYERS)
        .flat_map(|layer| {
            let plane = SHAPE.map(|side| side.div_ceil(128));
            [
                tensor(layer, ".weight", Dtype::F8_E4M3, SHAPE),
                tensor(layer, ".weight_scale_inv", Dtype::F32, plane),
            ]
        })
        .collect();
    let layout = lay_out(&tensors, &BTreeMap::new()).unwrap();
    let end = layout.ranges.iter().map(|range| range.end).max().unwrap();
    let mut file = File::create(path)?;
    file.write_all(&layout.bytes)?;
    let len = end.max(layout.bytes.len() as u64);
    file.set_len(len)?;
    Ok(len)
}

/// Counts on its own what is read.
struct Counting<'a> {
    source: &'a LocalSource,
    bytes: AtomicU64,
}

impl Source for Counting<'_> {
    fn read_exact_at(&self, shard: usize, offset: u64, buf: &mut [u8]) -> Result<(), SourceError> {
        self.bytes.fetch_add(buf.len() as u64, Ordering::Relaxed);
        self.source.read_exact_at(shard, offset, buf)
    }

    fn read_other(&self, name: &str) -> Result<Vec<u8>, SourceError> {
        self.source.read_other(name)
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn identities(&self) -> &[ShardIdentity] {
        self.source.identities()
    }
}

#[test]
fn a_sample_of_100_gb_is_less_than_a_hundredth() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("model.safetensors");
    let len = match write_sparse(&path) {
        Ok(len) => len,
        Err(error) => {
            let text = format!("skipped: no room for a file with a hole of 100 GB: {error}\n");
            let _ = io::stderr().write_all(text.as_bytes());
            return;
        }
    };
    assert!(len > 100_000_000_000);
    let (checkpoint, source) = LocalSource::open(&path).unwrap();
    let catalog = Catalog::of(&checkpoint);
    let counting = Counting {
        source: &source,
        bytes: AtomicU64::new(0),
    };
    let weights = Weights {
        checkpoint: &checkpoint,
        catalog: &catalog,
        source: &counting,
    };
    let stop = AtomicBool::new(false);
    let read = |seed| examine(weights, Scope::Sample { seed }, &(), &stop).unwrap();
    let first = read(0);
    let counted = counting.bytes.load(Ordering::Relaxed);
    assert_eq!(first.bytes_read, counted);
    assert!(counted * 100 < len, "{counted} of {len}");
    assert!(first.weights_read > 50, "{}", first.weights_read);

    let interpreted = diagnose(weights, None, Scope::Sample { seed: 0 }).unwrap();
    let counted = counting.bytes.load(Ordering::Relaxed);
    assert_eq!(first.bytes_read + interpreted.bytes_read, counted);
    assert!(counted * 100 < len, "{counted} of {len}");

    let read_of = |examined: &blockscale_convert::doctor::Examined| -> Vec<bool> {
        examined.evidence.iter().map(Option::is_some).collect()
    };
    assert_ne!(
        read_of(&first),
        read_of(&read(1)),
        "another seed reads others"
    );
}
