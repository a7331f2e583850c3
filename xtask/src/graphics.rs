//! A graphics driver for the tests: Mesa's, which computes on the processor, where there is none.

use std::env;
use std::fs;
use std::path::Path;

use thiserror::Error;

use crate::apt;
use crate::process::Failure;

const PACKAGES: [&str; 2] = ["mesa-vulkan-drivers", "libvulkan1"];

/// Where Vulkan's loader looks for drivers.
const DRIVER_FOLDERS: [&str; 3] = [
    "/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
];

/// Why there is no driver.
#[derive(Debug, Error)]
pub(crate) enum NoDriver {
    /// Nothing here installs one.
    #[error("no Vulkan driver, and no apt-get (as root) to install `{}`", PACKAGES[0])]
    NoApt,
    /// The installation failed.
    #[error(transparent)]
    Apt(#[from] Failure),
}

/// Installs a driver unless there is one. Systems other than Linux bring their own.
///
/// # Errors
/// [`NoDriver`]; tests that need one then say so and pass.
pub(crate) fn ensure_driver(logs: &Path) -> Result<(), NoDriver> {
    if !cfg!(target_os = "linux") || has_driver() {
        return Ok(());
    }
    if !apt::is_usable() {
        return Err(NoDriver::NoApt);
    }
    Ok(apt::install(&PACKAGES, logs)?)
}

fn has_driver() -> bool {
    let is_named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"]
        .iter()
        .any(|variable| env::var_os(variable).is_some());
    is_named || DRIVER_FOLDERS.iter().any(|folder| has_files(folder))
}

fn has_files(folder: &str) -> bool {
    fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_missing_or_empty_holds_no_driver() {
        let folder = env::temp_dir().join(format!("xtask-{}-drivers", std::process::id()));
        let path = folder.to_str().unwrap();
        assert!(!has_files(path));
        fs::create_dir_all(&folder).unwrap();
        assert!(!has_files(path));
        fs::write(folder.join("driver.json"), "{}").unwrap();
        assert!(has_files(path));
        fs::remove_dir_all(folder).unwrap();
    }
}
