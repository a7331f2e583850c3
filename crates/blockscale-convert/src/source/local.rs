//! Checkpoints on a local disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use blockscale_model::{
    Checkpoint, CheckpointFiles, Finding, Header, Index, MAX_HEADER_BYTES, PREFIX_BYTES, Severity,
    ShardFile, ShardName,
};
use serde_json::Value;

use super::error::{OpenError, SourceError, quoted};
use super::file::{metadata, open_regular, read_exact_at, read_whole};
use super::folder::{Folder, Listing, MAX_OTHER_BYTES};
use super::gguf;
use super::locate::{Located, Take, locate};
use super::{ShardIdentity, Source};

const CONFIG: &str = "config.json";
const HF_QUANT_CONFIG: &str = "hf_quant_config.json";

/// The longest config that is read; those that list every layer take about one MiB.
const MAX_CONFIG_BYTES: u64 = 32 << 20;

/// A checkpoint on a local disk. Its shards stay open, so a file that is replaced meanwhile is still
/// read as it was.
#[derive(Debug)]
pub struct LocalSource {
    path: PathBuf,
    shards: Vec<OpenShard>,
    identities: Vec<ShardIdentity>,
    others: BTreeMap<String, PathBuf>,
}

#[derive(Debug)]
struct OpenShard {
    path: PathBuf,
    file: File,
}

impl LocalSource {
    /// Opens a checkpoint: reads headers, index and configs, and no data.
    ///
    /// `path` is one of
    /// - a folder with `*.safetensors.index.json` and its shards, with `model.safetensors`, or with a
    ///   single `*.safetensors`;
    /// - a repository in a Hugging Face cache (`models--org--name`, of which `main` is taken) or one of
    ///   its snapshots, whose links into `blobs` are followed;
    /// - an index, which stands for its folder;
    /// - a GGUF file, or a folder with a single one, which is read alone, without any config;
    /// - any other file, which is read alone, as safetensors, with the configs beside it.
    ///
    /// # Errors
    /// [`OpenError`] if there is no checkpoint, a header, index or config is refused, or they do not
    /// fit together; a link that leads out of the folder is refused. What is only odd is among
    /// [`Checkpoint::findings`].
    pub fn open(path: &Path) -> Result<(Checkpoint, Self), OpenError> {
        let Located { folder, take } = locate(path)?;
        if let Take::File(name) = &take
            && let Some(opened) = Self::open_gguf(path, &folder, name)?
        {
            return Ok(opened);
        }
        let mut source = Self {
            path: path.to_owned(),
            shards: Vec::new(),
            identities: Vec::new(),
            others: BTreeMap::new(),
        };
        let mut files = CheckpointFiles::default();
        let listing = match take {
            Take::Index(name) => {
                let index = source.read_index(&folder, &name)?;
                let shards: BTreeSet<&ShardName> =
                    index.weight_map.iter().map(|(_, shard)| shard).collect();
                for shard in shards {
                    // A shard that is not there is for the model to report, which sees all of them.
                    if let Some(target) = folder.find(shard)? {
                        files
                            .shards
                            .push(source.add_shard(&folder, shard.clone(), &target)?);
                    }
                }
                files.index = Some((name, index));
                folder.all()?
            }
            Take::Only(name) => {
                let name = shard_name(&folder, &name)?;
                if let Some(target) = folder.find(&name)? {
                    files.shards.push(source.add_shard(&folder, name, &target)?);
                }
                folder.all()?
            }
            Take::File(name) => {
                let name = shard_name(&folder, &name)?;
                files.shards.push(source.add_shard(&folder, name, path)?);
                Listing::default()
            }
        };
        files.config = source.read_config(&folder, CONFIG)?;
        files.hf_quant_config = source.read_config(&folder, HF_QUANT_CONFIG)?;
        let left_out = source.add_others(listing, &mut files);

        let mut checkpoint =
            Checkpoint::assemble(files).map_err(|reason| OpenError::Checkpoint {
                path: path.to_owned(),
                source: reason,
            })?;
        checkpoint.findings.extend(left_out);
        Ok((checkpoint, source))
    }

    /// Opens a file of the folder if it is GGUF.
    fn open_gguf(
        path: &Path,
        folder: &Folder,
        name: &str,
    ) -> Result<Option<(Checkpoint, Self)>, OpenError> {
        let own = match path.is_dir() {
            true => folder
                .find(&shard_name(folder, name)?)?
                .unwrap_or_else(|| folder.join(name)),
            false => path.to_owned(),
        };
        let file = open_regular(&own)?;
        let meta = metadata(&file, &own)?;
        if !gguf::is_gguf(name, &file, &own, meta.len())? {
            return Ok(None);
        }
        let (header, bytes) = gguf::read_header(&file, &own, meta.len())?;
        let name = shard_name(folder, name)?;
        let source = Self {
            path: path.to_owned(),
            identities: vec![identity(&name, &meta, &bytes)],
            shards: vec![OpenShard { path: own, file }],
            others: BTreeMap::new(),
        };
        let checkpoint = Checkpoint::of_gguf(name, meta.len(), header);
        Ok(Some((checkpoint, source)))
    }

    fn read_index(&mut self, folder: &Folder, name: &str) -> Result<Index, OpenError> {
        let path = folder.join(name);
        let bytes = read_whole(&path, MAX_HEADER_BYTES)?;
        let index = Index::parse(&bytes).map_err(|reason| OpenError::Index {
            path: path.clone(),
            source: reason,
        })?;
        self.others.insert(name.to_owned(), path);
        Ok(index)
    }

    fn read_config(&mut self, folder: &Folder, name: &str) -> Result<Option<Value>, OpenError> {
        let Some(path) = folder.find(&shard_name(folder, name)?)? else {
            return Ok(None);
        };
        let bytes = read_whole(&path, MAX_CONFIG_BYTES)?;
        let config = serde_json::from_slice(&bytes).map_err(|reason| OpenError::Json {
            path: folder.join(name),
            source: reason,
        })?;
        self.others.insert(name.to_owned(), path);
        Ok(Some(config))
    }

    /// Opens `target`, which is where the shard's name leads in the folder.
    fn add_shard(
        &mut self,
        folder: &Folder,
        name: ShardName,
        target: &Path,
    ) -> Result<ShardFile, OpenError> {
        let path = folder.join(name.as_str());
        let file = open_regular(target)?;
        let meta = metadata(&file, &path)?;
        let len = meta.len();
        let bytes = read_header(&file, &path, len)?;
        let header =
            Header::parse(&bytes[PREFIX_BYTES..], len).map_err(|reason| OpenError::Header {
                path: path.clone(),
                source: reason,
            })?;
        self.identities.push(identity(&name, &meta, &bytes));
        self.shards.push(OpenShard { path, file });
        Ok(ShardFile { name, len, header })
    }

    /// Sorts the listed files into those to be copied and those that are not read, and says which are
    /// neither.
    fn add_others(&mut self, listing: Listing, files: &mut CheckpointFiles) -> Option<Finding> {
        let opened: BTreeSet<&str> = files
            .shards
            .iter()
            .map(|shard| shard.name.as_str())
            .collect();
        files.unreferenced_shards = listing
            .shards
            .into_iter()
            .filter(|name| !opened.contains(name.as_str()))
            .collect();
        let mut left_out = listing.left_out;
        left_out.extend(listing.ggufs);
        left_out.extend(
            listing
                .indexes
                .into_iter()
                .filter(|name| !self.others.contains_key(name)),
        );
        let mut others = listing.others;
        others.retain(|name, _| !self.others.contains_key(name));
        files.other_files = others.keys().cloned().collect();
        self.others.append(&mut others);
        not_copied(&left_out)
    }
}

impl Source for LocalSource {
    fn read_exact_at(&self, shard: usize, offset: u64, buf: &mut [u8]) -> Result<(), SourceError> {
        let count = self.shards.len();
        let OpenShard { path, file } = self
            .shards
            .get(shard)
            .ok_or(SourceError::NoSuchShard { shard, count })?;
        read_exact_at(file, path, offset, buf)
    }

    fn read_other(&self, name: &str) -> Result<Vec<u8>, SourceError> {
        let path = self
            .others
            .get(name)
            .ok_or_else(|| SourceError::NoSuchFile {
                path: self.path.clone(),
                name: name.to_owned(),
            })?;
        read_whole(path, MAX_OTHER_BYTES)
    }

    fn file(&self, shard: usize) -> Option<&File> {
        Some(&self.shards.get(shard)?.file)
    }

    fn describe(&self) -> String {
        self.path.display().to_string()
    }

    fn identities(&self) -> &[ShardIdentity] {
        &self.identities
    }

    fn check_unchanged(&self) -> Result<(), SourceError> {
        for (OpenShard { path, file }, known) in self.shards.iter().zip(&self.identities) {
            let meta = metadata(file, path)?;
            if (meta.len(), modified_ns(&meta)) != (known.len, known.modified_ns) {
                return Err(SourceError::Changed { path: path.clone() });
            }
        }
        Ok(())
    }
}

fn identity(name: &ShardName, meta: &Metadata, header: &[u8]) -> ShardIdentity {
    ShardIdentity {
        name: name.as_str().to_owned(),
        len: meta.len(),
        modified_ns: modified_ns(meta),
        header_blake3: blake3::hash(header).to_hex().to_string(),
    }
}

/// Nothing for a time before 1970, or one that 64 bits do not hold: clocks may be wrong.
fn modified_ns(meta: &Metadata) -> Option<u64> {
    let since_1970 = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since_1970.as_nanos()).ok()
}

/// Prefix and JSON of a header. Its length is checked against the file's before it is allocated.
fn read_header(file: &File, path: &Path, len: u64) -> Result<Vec<u8>, OpenError> {
    // More than the prefix, so that a file that is something else can be recognised.
    const SNIFFED: usize = 32;
    let mut start = [0; SNIFFED];
    let start = &mut start[..len.min(SNIFFED as u64) as usize];
    read_exact_at(file, path, 0, start)?;
    let json_len = Header::json_len(start, len).map_err(|reason| OpenError::Header {
        path: path.to_owned(),
        source: reason,
    })?;
    let mut bytes = vec![0; PREFIX_BYTES + json_len as usize];
    read_exact_at(file, path, 0, &mut bytes)?;
    Ok(bytes)
}

fn shard_name(folder: &Folder, name: &str) -> Result<ShardName, OpenError> {
    ShardName::new(name).map_err(|reason| OpenError::ShardName {
        path: folder.join(name),
        source: reason,
    })
}

fn not_copied(names: &[String]) -> Option<Finding> {
    Some(Finding {
        severity: Severity::Info,
        code: "file-not-copied",
        file: Some(names.first()?.clone()),
        tensor: None,
        message: format!(
            "no part of this checkpoint, and not copied: {}",
            quoted(names)
        ),
    })
}
