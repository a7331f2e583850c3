//! The files of a checkpoint's folder, and which of them may be read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use blockscale_model::ShardName;

use super::error::OpenError;
use super::hub_cache;

/// Endings of weights in other forms. They would be copies of what is converted, unconverted.
const OTHER_WEIGHTS: &[&str] = &[
    "bin",
    "ckpt",
    "ggml",
    "h5",
    "msgpack",
    "npz",
    "onnx",
    "onnx_data",
    "pt",
    "pth",
    "tflite",
];

/// Files beside the shards are read as a whole; a larger one is no tokenizer or template.
pub(super) const MAX_OTHER_BYTES: u64 = 256 << 20;

/// A folder that files are read from, and where their links may lead.
pub(super) struct Folder {
    path: PathBuf,
    root: PathBuf,
    blobs: Option<PathBuf>,
}

/// What lies in a folder, as relative names with `/`, sorted.
#[derive(Default)]
pub(super) struct Listing {
    /// `*.safetensors`.
    pub(super) shards: Vec<String>,
    /// `*.gguf`.
    pub(super) ggufs: Vec<String>,
    /// `*.safetensors.index.json`.
    pub(super) indexes: Vec<String>,
    /// Everything else that may belong to a model.
    pub(super) others: BTreeMap<String, PathBuf>,
    /// What is left out on purpose: weights in other forms, very large files, links to folders or to
    /// nothing, names that other systems cannot hold.
    pub(super) left_out: Vec<String>,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Result<Self, OpenError> {
        let root = fs::canonicalize(path).map_err(OpenError::io("open", path))?;
        let blobs = hub_cache::blobs_of(&root);
        Ok(Self {
            path: path.to_owned(),
            root,
            blobs,
        })
    }

    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The file of that name, links followed; `None` if there is none.
    ///
    /// # Errors
    /// If a link leads out of the folder.
    pub(super) fn find(&self, name: &ShardName) -> Result<Option<PathBuf>, OpenError> {
        let path = self.path.join(name.as_str());
        match fs::canonicalize(&path) {
            Ok(target) => self.check_inside(&path, target).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(OpenError::Io {
                path,
                action: "open",
                source,
            }),
        }
    }

    fn check_inside(&self, path: &Path, target: PathBuf) -> Result<PathBuf, OpenError> {
        let in_blobs = self
            .blobs
            .as_ref()
            .is_some_and(|blobs| target.starts_with(blobs));
        if in_blobs || target.starts_with(&self.root) {
            Ok(target)
        } else {
            Err(OpenError::LinkLeaves {
                path: path.to_owned(),
                target,
            })
        }
    }

    /// What lies directly in the folder.
    pub(super) fn top(&self) -> Result<Listing, OpenError> {
        let mut listing = Listing::default();
        self.list("", &mut listing)?;
        Ok(listing.sorted())
    }

    /// What lies in the folder and in folders below it. Hidden ones, as `.git`, are passed over.
    pub(super) fn all(&self) -> Result<Listing, OpenError> {
        let mut listing = Listing::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            folders.extend(self.list(&folder, &mut listing)?);
        }
        Ok(listing.sorted())
    }

    /// Adds the files of one folder, `""` or a relative name that ends in `/`; returns the folders in
    /// it, in the same form.
    fn list(&self, folder: &str, listing: &mut Listing) -> Result<Vec<String>, OpenError> {
        let path = self.path.join(folder);
        let mut folders = Vec::new();
        for entry in fs::read_dir(&path).map_err(OpenError::io("list", &path))? {
            let entry = entry.map_err(OpenError::io("list", &path))?;
            let file_name = entry.file_name();
            let name = format!("{folder}{}", file_name.to_string_lossy());
            if file_name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let kind = entry.file_type().map_err(OpenError::io("list", &path))?;
            if kind.is_dir() {
                folders.push(format!("{name}/"));
            } else if file_name.to_str().is_none() || ShardName::new(&name).is_err() {
                listing.left_out.push(name);
            } else if kind.is_symlink() {
                let link = entry.path();
                match fs::canonicalize(&link) {
                    Ok(target) if target.is_file() => {
                        listing.add(name, self.check_inside(&link, target)?);
                    }
                    _ => listing.left_out.push(name),
                }
            } else if kind.is_file() {
                listing.add(name, entry.path());
            } else {
                listing.left_out.push(name);
            }
        }
        Ok(folders)
    }
}

impl Listing {
    fn add(&mut self, name: String, path: PathBuf) {
        let other_weights = Path::new(&name)
            .extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| OTHER_WEIGHTS.contains(&ending.to_ascii_lowercase().as_str()));
        if name.ends_with(".safetensors") {
            self.shards.push(name);
        } else if name.ends_with(".gguf") {
            self.ggufs.push(name);
        } else if name.ends_with(".safetensors.index.json") {
            self.indexes.push(name);
        } else if other_weights
            || fs::metadata(&path).map_or(0, |meta| meta.len()) > MAX_OTHER_BYTES
        {
            self.left_out.push(name);
        } else {
            self.others.insert(name, path);
        }
    }

    fn sorted(mut self) -> Self {
        self.shards.sort();
        self.ggufs.sort();
        self.indexes.sort();
        self.left_out.sort();
        self
    }
}
