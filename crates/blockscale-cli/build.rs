//! Takes the viewer's page into the program, if it was built.
//!
//! `cargo xtask web` leaves it in `page/`. Without it the program is built all the same, and `view`
//! says how to get the page.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let page = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("page");
    println!("cargo::rerun-if-changed={}", page.display());
    let mut files = Vec::new();
    if page.is_dir() {
        list(&page, "", &mut files)?;
    }
    files.sort();
    let mut table = String::from("[\n");
    for (name, path) in files {
        writeln!(
            table,
            "    ({name:?}, include_bytes!({:?}).as_slice()),",
            path.display().to_string()
        )?;
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var("OUT_DIR")?).join("page.rs");
    Ok(fs::write(out, table)?)
}

/// Adds the files of a folder and those below it, with `/` between the parts of their names.
fn list(
    folder: &Path,
    lead: &str,
    files: &mut Vec<(String, PathBuf)>,
) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        match entry.path() {
            path if path.is_dir() => list(&path, &format!("{lead}{name}/"), files)?,
            path => files.push((format!("{lead}{name}"), path)),
        }
    }
    Ok(())
}
