//! The bodies, one for each thing that reads bytes from elsewhere.

mod catalog;
mod checkpoint;
mod files;
mod ggml;
mod gguf;
mod http;
mod integers;
mod journal;
mod layouts;
mod names;
mod rows;
mod text;
mod transcode;

use crate::seeds::files;

/// Something that reads bytes from elsewhere.
#[derive(Clone, Copy)]
pub struct Target {
    /// One word.
    pub name: &'static str,
    /// Takes any input, and panics on a finding only.
    pub run: fn(&[u8]),
    /// What mutation starts from; nothing where the input is no file.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// What an input is. Memory is bounded by the length of a file.
    pub reads: Reads,
}

/// Targets are told apart by their names.
impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Target {}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The bytes of a file.
    File,
    /// Choices, from which the target makes what it feeds.
    Choices,
}

/// The target of that name.
pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

const fn file(name: &'static str, run: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    let reads = Reads::File;
    Target {
        name,
        run,
        seeds,
        reads,
    }
}

const fn choices(name: &'static str, run: fn(&[u8])) -> Target {
    Target {
        name,
        run,
        seeds: Vec::new,
        reads: Reads::Choices,
    }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    file("header", files::header, || files(&[".safetensors"])),
    file("index", files::index, || {
        files(&[".safetensors.index.json"])
    }),
    file("config", text::config, || files(&["config.json"])),
    file("recipe", text::recipe, text::recipes),
    file("glob", text::glob, text::globs),
    file("names", names::names, names::known),
    file("gguf", gguf::gguf, || files(&[".gguf"])),
    file("journal", journal::journal, journal::journals),
    file("manifest", journal::manifest, journal::manifests),
    file("http-range", http::range, http::ranges),
    choices("catalog", catalog::catalog),
    choices("opening", checkpoint::opening),
    choices("decode", rows::decode),
    choices("encode", rows::encode),
    choices("transcode", transcode::transcode),
    choices("integers", integers::integers),
    choices("ggml", ggml::ggml),
    choices("layouts", layouts::layouts),
    choices("transform-sf", layouts::transform_sf),
    choices("k-grouped", layouts::k_grouped),
];
