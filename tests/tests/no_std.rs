//! The core links without `std`: a program that has its own panic handler builds with it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[test]
fn a_program_without_std_links_the_core() {
    let program = Program::copy("default");
    if let Err(stderr) = program.build(&[]) {
        panic!("{stderr}");
    }
}

/// Shows that the test above can fail.
#[test]
fn the_same_program_does_not_build_with_std() {
    let program = Program::copy("with-std");
    let stderr = program
        .build(&["--features", "std"])
        .expect_err("two panic handlers were linked");
    assert!(
        stderr.contains("found duplicate lang item `panic_impl`"),
        "{stderr}"
    );
}

/// A copy of the fixture in the target folder, so that building it leaves the source tree alone.
struct Program {
    manifest: PathBuf,
    target: PathBuf,
}

impl Program {
    fn copy(name: &str) -> Self {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = tests.parent().unwrap();
        let fixture = tests.join("fixtures/no_std");
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_std");
        let program = scratch.join(name);
        fs::create_dir_all(program.join("src")).unwrap();
        fs::copy(fixture.join("src/lib.rs"), program.join("src/lib.rs")).unwrap();

        let manifest = fs::read_to_string(fixture.join("Cargo.toml")).unwrap();
        let core = workspace.join("crates/blockscale");
        let moved = manifest.replace("\"../../../crates/blockscale\"", &format!("{core:?}"));
        assert_ne!(moved, manifest);
        fs::write(program.join("Cargo.toml"), moved).unwrap();
        // The versions of the workspace are the ones that were already downloaded.
        fs::copy(workspace.join("Cargo.lock"), program.join("Cargo.lock")).unwrap();
        Self {
            manifest: program.join("Cargo.toml"),
            target: scratch.join("target"),
        }
    }

    /// Builds, without the network if it can; gives what the compiler said where it fails.
    fn build(&self, arguments: &[&str]) -> Result<(), String> {
        let build = |network: &[&str]| {
            let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
            cargo
                .args(["build", "--quiet", "--manifest-path"])
                .arg(&self.manifest);
            cargo.arg("--target-dir").arg(&self.target);
            let output = cargo.args(arguments).args(network).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() {
                Ok(())
            } else {
                Err(stderr)
            }
        };
        match build(&["--offline"]) {
            Err(stderr) if stderr.contains("--offline") => build(&[]),
            result => result,
        }
    }
}
