//! Building for a target other than the machine's own.
//!
//! Three ways, the cheapest first: the standard library of the target is there already; the
//! system's Rust brings the sources of its standard library, from which cargo builds what the
//! target needs (Debian's `rustc-web`, `cargo-web` and `rust-web-src`, installed where this runs as
//! root); rustup fetches it. A way that needs the network has a time limit.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::apt;
use crate::process::{Limit, first_line, run_limited};

const SYSTEM_CARGO: &str = "/usr/bin/cargo";
const SYSTEM_RUSTC: &str = "/usr/bin/rustc";
const SYSTEM_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
const RUSTUP_LIMIT: Duration = Duration::from_secs(60);

/// A target and the part of the standard library that it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// The name, as `--target` takes it.
    pub(crate) triple: &'static str,
    /// The crates that `-Zbuild-std` is to build from source.
    pub(crate) std_crates: &'static str,
    /// The variable that names its linker to cargo, where it needs LLVM's.
    pub(crate) lld: Option<&'static str>,
}

/// A microcontroller: no operating system, so no std for any crate to link.
pub(crate) const NO_STD: Target = Target {
    triple: "thumbv7em-none-eabi",
    std_crates: "core,alloc",
    lld: None,
};

/// A browser's WebAssembly.
pub(crate) const WASM: Target = Target {
    triple: "wasm32-unknown-unknown",
    std_crates: "std,panic_abort",
    lld: Some("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER"),
};

/// A toolchain that can build for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// The one that runs this program, with the target's standard library.
    Current,
    /// The system's, which builds the target's standard library as well.
    SystemSources,
}

impl Toolchain {
    /// `cargo build` for the target, to be completed with what to build.
    pub(crate) fn cargo_build(self, target: Target) -> Command {
        let mut command = match self {
            Self::Current => Command::new("cargo"),
            Self::SystemSources => Command::new(SYSTEM_CARGO),
        };
        command.args(["build", "--target", target.triple]);
        if self == Self::SystemSources {
            command
                .arg(format!("-Zbuild-std={}", target.std_crates))
                // `-Z` is for nightly compilers; this makes a stable one accept it.
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTC", SYSTEM_RUSTC)
                // `cargo run` points it at the libraries of another compiler.
                .env_remove("LD_LIBRARY_PATH");
            if let (Some(variable), Some(lld)) = (target.lld, rust_lld()) {
                command.env(variable, lld);
            }
        }
        command
    }
}

/// Every way to get a toolchain for a target failed.
#[derive(Debug)]
pub(crate) struct Unavailable {
    triple: &'static str,
    reasons: Vec<String>,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no toolchain for `{}`", self.triple)?;
        if self.reasons.is_empty() {
            write!(
                f,
                ": neither rustup nor apt-get (as root) is here to install one"
            )
        } else {
            write!(f, ": {}", self.reasons.join("; "))
        }
    }
}

/// Finds a toolchain for the target, or installs one; `logs` is a folder for what installers say.
///
/// # Errors
/// [`Unavailable`], with the reason of each way that was tried.
pub(crate) fn find(target: Target, logs: &Path) -> Result<Toolchain, Unavailable> {
    let mut reasons = Vec::new();
    for way in ways(Machine::probe(target)) {
        match way.take(target, logs) {
            Ok(toolchain) => return Ok(toolchain),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(Unavailable {
        triple: target.triple,
        reasons,
    })
}

/// What a machine has that helps to build for a target.
#[derive(Clone, Copy, Debug, Default)]
struct Machine {
    has_target: bool,
    has_system_sources: bool,
    has_apt_as_root: bool,
    has_rustup: bool,
}

impl Machine {
    fn probe(target: Target) -> Self {
        Self {
            has_target: has_target(target),
            has_system_sources: check_system_sources().is_ok(),
            has_apt_as_root: apt::is_usable(),
            has_rustup: first_line("rustup", &["--version"]).is_some(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    UseTarget,
    UseSystemSources,
    InstallSystemSources,
    InstallTarget,
}

/// The ways to try, in order. One that needs nothing installed makes the rest needless.
fn ways(machine: Machine) -> Vec<Way> {
    if machine.has_target {
        return vec![Way::UseTarget];
    }
    if machine.has_system_sources {
        return vec![Way::UseSystemSources];
    }
    let mut ways = Vec::new();
    if machine.has_apt_as_root {
        ways.push(Way::InstallSystemSources);
    }
    if machine.has_rustup {
        ways.push(Way::InstallTarget);
    }
    ways
}

impl Way {
    fn take(self, target: Target, logs: &Path) -> Result<Toolchain, String> {
        match self {
            Self::UseTarget => Ok(Toolchain::Current),
            Self::UseSystemSources => Ok(Toolchain::SystemSources),
            Self::InstallSystemSources => {
                apt::install(&SYSTEM_PACKAGES, logs).map_err(|failure| failure.to_string())?;
                check_system_sources().map(|()| Toolchain::SystemSources)
            }
            Self::InstallTarget => {
                let mut command = Command::new("rustup");
                command.args(["target", "add", target.triple]);
                let limit = Limit {
                    time: RUSTUP_LIMIT,
                    log: &logs.join("rustup-target.log"),
                };
                run_limited(&mut command, &limit)
                    .map(|()| Toolchain::Current)
                    .map_err(|failure| failure.to_string())
            }
        }
    }
}

/// LLVM's linker as rustup's toolchain brings it; the system's Rust may come without.
fn rust_lld() -> Option<PathBuf> {
    let libraries = first_line("rustc", &["--print", "target-libdir"])?;
    let lld = Path::new(&libraries).parent()?.join("bin/rust-lld");
    lld.exists().then_some(lld)
}

fn has_target(target: Target) -> bool {
    first_line(
        "rustc",
        &["--print", "target-libdir", "--target", target.triple],
    )
    .is_some_and(|folder| Path::new(&folder).exists())
}

fn check_system_sources() -> Result<(), String> {
    let version = first_line(SYSTEM_RUSTC, &["--version"])
        .ok_or_else(|| format!("`{SYSTEM_RUSTC}` is not there"))?;
    let needed = env!("CARGO_PKG_RUST_VERSION");
    if release(&version) < release(needed) {
        return Err(format!(
            "`{SYSTEM_RUSTC}` is {version}, older than {needed}"
        ));
    }
    if !Path::new(SYSTEM_CARGO).exists() {
        return Err(format!("`{SYSTEM_CARGO}` is not there"));
    }
    let sysroot = first_line(SYSTEM_RUSTC, &["--print", "sysroot"]).unwrap_or_default();
    let library = Path::new(&sysroot).join("lib/rustlib/src/rust/library/Cargo.toml");
    if !library.exists() {
        return Err(format!(
            "`{SYSTEM_RUSTC}` has no sources of its standard library"
        ));
    }
    Ok(())
}

/// Major and minor of the first word that is a version; `None` is older than every version.
fn release(text: &str) -> Option<(u32, u32)> {
    text.split_whitespace().find_map(|word| {
        let mut parts = word.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_used_and_nothing_is_installed() {
        let everything = Machine {
            has_target: true,
            has_system_sources: true,
            has_apt_as_root: true,
            has_rustup: true,
        };
        assert_eq!(ways(everything), [Way::UseTarget]);
        assert_eq!(
            ways(Machine {
                has_target: false,
                ..everything
            }),
            [Way::UseSystemSources]
        );
    }

    #[test]
    fn system_packages_come_before_rustup_and_only_for_root() {
        let root = Machine {
            has_apt_as_root: true,
            has_rustup: true,
            ..Machine::default()
        };
        assert_eq!(ways(root), [Way::InstallSystemSources, Way::InstallTarget]);
        assert_eq!(
            ways(Machine {
                has_apt_as_root: false,
                ..root
            }),
            [Way::InstallTarget]
        );
        assert_eq!(ways(Machine::default()), []);
    }

    #[test]
    fn releases_compare_as_numbers() {
        assert_eq!(
            release("rustc 1.96.0 (ac68faa20 2026-05-25)"),
            Some((1, 96))
        );
        assert_eq!(release("1.95"), Some((1, 95)));
        assert!(release("rustc 1.100.0-nightly") > release("1.95"));
        assert!(release("rustc 1.85.0 (built from a source tarball)") < release("1.95"));
        assert!(release("not a compiler") < release("1.0"));
    }

    #[test]
    fn only_the_system_toolchain_builds_the_standard_library() {
        let words = |toolchain: Toolchain| -> Vec<String> {
            let command = toolchain.cargo_build(NO_STD);
            command
                .get_args()
                .map(|word| word.to_string_lossy().into_owned())
                .collect()
        };
        assert_eq!(
            words(Toolchain::Current),
            ["build", "--target", "thumbv7em-none-eabi"]
        );
        assert_eq!(
            words(Toolchain::SystemSources),
            [
                "build",
                "--target",
                "thumbv7em-none-eabi",
                "-Zbuild-std=core,alloc"
            ]
        );
    }

    #[test]
    fn an_unavailable_toolchain_says_what_was_tried() {
        let nothing = Unavailable {
            triple: "t",
            reasons: vec![],
        };
        assert_eq!(
            nothing.to_string(),
            "no toolchain for `t`: neither rustup nor apt-get (as root) is here to install one"
        );
        let tried = Unavailable {
            triple: "t",
            reasons: vec!["a failed".into(), "b too".into()],
        };
        assert_eq!(tried.to_string(), "no toolchain for `t`: a failed; b too");
    }
}
