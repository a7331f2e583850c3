//! A source whose damaged tensors read as they are meant.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use blockscale::format::{Format, Shape};
use blockscale::layout::LayoutError;
use blockscale_model::catalog::PartRole;

use super::Fix;
use crate::interpret::{GlobalUse, Interpretation, NibbleOrder, ScaleOrder, ScaleUse, SignForm};
use crate::source::{ShardIdentity, Source, SourceError};
use crate::weights::Weights;

/// Matrices that are kept restored: codes and scales of the one that is read, and of the next.
const KEPT: usize = 4;

/// Reads through to a damaged source, and restores what a fix is for.
pub(super) struct RepairedSource<'a> {
    source: &'a dyn Source,
    /// By shard, in the order of their bytes.
    patches: HashMap<usize, Vec<Patch>>,
    identities: Vec<ShardIdentity>,
    restored: Mutex<VecDeque<(Key, Arc<Vec<u8>>)>>,
}

/// Shard, and where in it a restored matrix begins.
type Key = (usize, u64);

/// A tensor that is restored.
struct Patch {
    range: Range<u64>,
    /// Bytes that are restored together: those of one matrix.
    unit: u64,
    role: PartRole,
    format: Format,
    shape: Shape,
    interpretation: Interpretation,
}

impl<'a> RepairedSource<'a> {
    pub(super) fn new(weights: Weights<'a>, fixes: &[Fix]) -> Self {
        let mut patches: HashMap<usize, Vec<Patch>> = HashMap::new();
        let mut texts: HashMap<usize, String> = HashMap::new();
        for fix in fixes {
            let weight = &weights.catalog.weights[fix.weight];
            for part in &weight.parts {
                let raw = &weights.checkpoint.tensors[part.tensor];
                if let Some(patch) = Patch::of(fix, part.role, weight.matrices().shape, &raw.range)
                {
                    patches.entry(raw.shard).or_default().push(patch);
                    let text = texts.entry(raw.shard).or_default();
                    text.push_str(&format!("{}: {}\n", raw.name, fix.interpretation));
                }
            }
        }
        for patches in patches.values_mut() {
            patches.sort_by_key(|patch| patch.range.start);
        }
        let identities = weights.source.identities().iter().enumerate();
        let identities = identities.map(|(shard, identity)| match texts.get(&shard) {
            Some(text) => repaired(identity, text),
            None => identity.clone(),
        });
        Self {
            source: weights.source,
            patches,
            identities: identities.collect(),
            restored: Mutex::default(),
        }
    }

    /// One matrix of a damaged tensor, restored.
    fn matrix(&self, shard: usize, patch: &Patch, start: u64) -> Result<Arc<Vec<u8>>, SourceError> {
        let key = (shard, start);
        // What a thread that panicked left here is whole matrices all the same.
        let lock = || self.restored.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = lock().iter().find(|(known, _)| *known == key) {
            return Ok(Arc::clone(bytes));
        }
        let len = patch.unit.min(patch.range.end - start);
        let mut stored = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
        self.source.read_exact_at(shard, start, &mut stored)?;
        let restored = patch.restore(stored).map_err(|error| SourceError::Io {
            path: PathBuf::from(self.source.describe()),
            action: "restore",
            source: io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
        })?;
        let restored = Arc::new(restored);
        let mut kept = lock();
        kept.push_back((key, Arc::clone(&restored)));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(restored)
    }
}

impl Source for RepairedSource<'_> {
    fn read_exact_at(&self, shard: usize, offset: u64, buf: &mut [u8]) -> Result<(), SourceError> {
        self.source.read_exact_at(shard, offset, buf)?;
        let asked = offset..offset + buf.len() as u64;
        let patches = self.patches.get(&shard).map_or(&[][..], Vec::as_slice);
        let first = patches.partition_point(|patch| patch.range.end <= asked.start);
        for patch in patches[first..]
            .iter()
            .take_while(|p| p.range.start < asked.end)
        {
            let mut at = asked.start.max(patch.range.start);
            let end = asked.end.min(patch.range.end);
            while at < end {
                let start = at - (at - patch.range.start) % patch.unit;
                let matrix = self.matrix(shard, patch, start)?;
                let stop = end.min(start + matrix.len() as u64);
                let from = (at - start) as usize..(stop - start) as usize;
                let to = (at - offset) as usize..(stop - offset) as usize;
                buf[to].copy_from_slice(&matrix[from]);
                at = stop;
            }
        }
        Ok(())
    }

    fn check_unchanged(&self) -> Result<(), SourceError> {
        self.source.check_unchanged()
    }

    fn read_other(&self, name: &str) -> Result<Vec<u8>, SourceError> {
        self.source.read_other(name)
    }

    fn describe(&self) -> String {
        match self.patches.is_empty() {
            true => self.source.describe(),
            false => format!("{}, repaired", self.source.describe()),
        }
    }

    fn identities(&self) -> &[ShardIdentity] {
        &self.identities
    }
}

/// What tells a shard apart that is read with fixes: another set of them is another source, and no
/// conversion of it is resumed with these.
fn repaired(identity: &ShardIdentity, fixes: &str) -> ShardIdentity {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(identity.header_blake3.as_bytes())
        .update(fixes.as_bytes());
    ShardIdentity {
        header_blake3: hasher.finalize().to_hex().to_string(),
        ..identity.clone()
    }
}

impl Patch {
    /// `None` where the fix leaves the tensor as it is.
    fn of(fix: &Fix, role: PartRole, shape: Shape, range: &Range<u64>) -> Option<Self> {
        let Fix {
            format,
            interpretation,
            ..
        } = fix;
        let found = interpretation;
        let (changes, unit) = match role {
            PartRole::Codes => (
                found.nibbles != NibbleOrder::Pairs
                    || found.sign != SignForm::Magnitude
                    || found.code_rows.is_some(),
                format.code_bytes(shape)?,
            ),
            PartRole::BlockScale => (
                found.scales != ScaleOrder::Linear
                    || found.scale_use != ScaleUse::Multiplies
                    || found.scales_take_factor(format),
                format.scale_bytes(shape)?,
            ),
            PartRole::GlobalScale => (found.global != GlobalUse::AsStored, 4),
            _ => return None,
        };
        (changes && unit > 0 && !range.is_empty()).then(|| Self {
            range: range.clone(),
            unit: unit as u64,
            role,
            format: *format,
            shape,
            interpretation: *found,
        })
    }

    fn restore(&self, stored: Vec<u8>) -> Result<Vec<u8>, LayoutError> {
        let found = &self.interpretation;
        match self.role {
            PartRole::Codes => found.restore_codes(&self.format, self.shape, stored),
            PartRole::BlockScale => found.restore_scales(&self.format, self.shape, stored),
            _ => {
                let globals = stored.as_chunks::<4>().0.iter();
                let right = |bytes: &[u8; 4]| {
                    let global = f32::from_le_bytes(*bytes);
                    found.restore_global(&self.format, global).to_le_bytes()
                };
                Ok(globals.flat_map(right).collect())
            }
        }
    }
}
