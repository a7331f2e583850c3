use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Mutex;

use blockscale_convert::source::{LocalSource, ShardIdentity, Source, SourceError};
use blockscale_convert::{Run, Weights, decode};
use blockscale_model::catalog::Catalog;

use crate::header::write_header;

/// Five times what 30 bits count, and more than 32 bits do.
const FILLER: u64 = 5 << 30;

/// The filler is a hole, which takes no room.
fn write_sparse(path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    let tensors = [
        ("filler", "U8", "[5368709120]", FILLER),
        ("w.weight", "F8_E4M3", "[2,2]", 4),
        ("w.weight_scale_inv", "F32", "[1,1]", 4),
    ];
    write_header(&mut file, &tensors)?;
    file.seek(SeekFrom::Current(FILLER as i64))?;
    file.write_all(&[0x38, 0xb8, 0x40, 0x7e])?;
    file.write_all(&0.5_f32.to_le_bytes())
}

/// A source that notes what is read from it: offset and length.
struct Noting<'a> {
    source: &'a LocalSource,
    reads: Mutex<Vec<(u64, usize)>>,
}

impl Source for Noting<'_> {
    fn read_exact_at(&self, shard: usize, offset: u64, buf: &mut [u8]) -> Result<(), SourceError> {
        self.reads.lock().unwrap().push((offset, buf.len()));
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
fn a_weight_behind_5_gib_is_read_without_them() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("sparse.safetensors");
    if let Err(error) = write_sparse(&path) {
        let text = format!("skipped: no room for a file with a hole of 5 GiB: {error}\n");
        // Past the capture of the test harness; a closed stderr is no reason to fail.
        let _ = io::stderr().write_all(text.as_bytes());
        return;
    }
    let (checkpoint, source) = LocalSource::open(&path).unwrap();
    let catalog = Catalog::of(&checkpoint);
    let noting = Noting {
        source: &source,
        reads: Mutex::default(),
    };
    let weights = Weights {
        checkpoint: &checkpoint,
        catalog: &catalog,
        source: &noting,
    };
    let run = Run {
        weight: catalog.position("w.weight").unwrap(),
        matrix: 0,
        rows: 0..2,
    };
    let bytes = weights.read(&run).unwrap();
    let values = decode(weights.weight(&run), weights.shape(&run), &bytes).unwrap();
    assert_eq!(values, [0.5, -0.5, 1.0, 224.0]);

    let mut reads = noting.reads.into_inner().unwrap();
    reads.sort_unstable();
    let data_start = fs::metadata(&path).unwrap().len() - FILLER - 8;
    let codes = data_start + FILLER;
    assert_eq!(reads, [(codes, 4), (codes + 4, 4)]);
}
