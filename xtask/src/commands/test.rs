//! `cargo xtask test`: everything that continuous integration runs.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::commands::deny::{self, DenyError};
use crate::flags::Scope;
use crate::graphics;
use crate::process::{Failure, Limit, first_line, run, run_limited, shown};
use crate::test_data;
use crate::toolchain::{self, NO_STD};
use crate::wasm::WasmError;
use crate::web::{self, WebError};

const COMPONENT_LIMIT: Duration = Duration::from_secs(60);

/// Runs each check in turn. A check that this machine can't do is skipped and said so.
///
/// The tests are last, and nothing is printed after them: their closing lines end the output.
///
/// # Errors
/// The [`Failure`] of the first check that fails.
pub(crate) fn run_all(root: &Path, scope: Scope) -> Result<(), Failure> {
    let mut checks = Checks::new(root);
    checks.formatting()?;
    checks.clippy()?;
    if scope == Scope::Full {
        checks.docs()?;
        checks.target_without_std()?;
        checks.dependencies()?;
        checks.page()?;
    }
    checks.test_data();
    checks.graphics_driver();
    checks.tests()
}

/// The checks of a workspace, and what had to be skipped so far.
struct Checks<'a> {
    root: &'a Path,
    logs: PathBuf,
    skipped: Vec<String>,
}

impl<'a> Checks<'a> {
    fn new(root: &'a Path) -> Self {
        Self {
            root,
            logs: root.join("target/xtask-logs"),
            skipped: Vec::new(),
        }
    }

    fn formatting(&mut self) -> Result<(), Failure> {
        if let Err(why) = self.ensure_component("rustfmt", &["fmt", "--version"]) {
            self.skip("formatting", why);
            return Ok(());
        }
        timed("formatting", &mut self.cargo("fmt --all --check"))
    }

    fn clippy(&mut self) -> Result<(), Failure> {
        if let Err(why) = self.ensure_component("clippy", &["clippy", "--version"]) {
            self.skip("clippy", why);
            return Ok(());
        }
        timed(
            "clippy",
            &mut self.cargo("clippy --workspace --all-targets -- -D warnings"),
        )
    }

    fn docs(&self) -> Result<(), Failure> {
        let mut command = self.cargo("doc --workspace --no-deps");
        timed("docs", command.env("RUSTDOCFLAGS", "-D warnings"))
    }

    /// Builds the core where no crate can link std, without and with a heap.
    fn target_without_std(&mut self) -> Result<(), Failure> {
        let what = "target without std";
        begin(
            "toolchain",
            &format!("one that builds for {}", NO_STD.triple),
        );
        let start = Instant::now();
        let toolchain = match toolchain::find(NO_STD, &self.logs) {
            Ok(toolchain) => toolchain,
            Err(why) => {
                self.skip(what, why);
                return Ok(());
            }
        };
        end("toolchain", start);
        for features in [&[][..], &["--features", "alloc"]] {
            let mut command = toolchain.cargo_build(NO_STD);
            command
                .args([
                    "--release",
                    "--package",
                    "blockscale",
                    "--no-default-features",
                ])
                .args(features)
                .args(["--target-dir", "target/no-std"])
                .current_dir(self.root);
            timed(what, &mut command)?;
        }
        Ok(())
    }

    fn dependencies(&mut self) -> Result<(), Failure> {
        let what = "dependencies";
        begin(what, "licences, sources, doubles and known faults");
        let start = Instant::now();
        match deny::run(self.root) {
            Ok(()) => end(what, start),
            Err(DenyError::Refused(failure)) => return Err(failure),
            Err(why) => self.skip(what, why),
        }
        Ok(())
    }

    /// The viewer's page, with its sizes, its parts, and what it does in a browser.
    fn page(&mut self) -> Result<(), Failure> {
        let what = "page";
        begin(what, "the viewer, and what it loads");
        let start = Instant::now();
        match web::run_all(self.root, web::Mode::Build) {
            Ok(()) => {}
            Err(why) if why.is_of_this_machine() => {
                self.skip(what, why);
                return Ok(());
            }
            Err(WebError::Program(failure) | WebError::Wasm(WasmError::Program(failure))) => {
                return Err(failure);
            }
            Err(why) => return Err(Failure::Refused(why.to_string())),
        }
        web::test(self.root)?;
        if Path::new(web::CHROMIUM).exists() {
            web::test_in_browser(self.root)?;
        } else {
            let why = format!("`{}` is not there", web::CHROMIUM);
            self.skip("page in a browser", why);
        }
        end(what, start);
        Ok(())
    }

    fn test_data(&mut self) {
        let what = "test data";
        begin(what, "real weights under target/test-data");
        let start = Instant::now();
        match test_data::fetch(self.root, &self.logs) {
            Ok(()) => end(what, start),
            Err(why) => self.skip(what, why),
        }
    }

    fn graphics_driver(&mut self) {
        let what = "graphics driver";
        begin(what, "one that the tests of `blockscale-wgpu` can use");
        let start = Instant::now();
        match graphics::ensure_driver(&self.logs) {
            Ok(()) => end(what, start),
            Err(why) => self.skip(what, why),
        }
    }

    fn tests(&self) -> Result<(), Failure> {
        for line in &self.skipped {
            eprintln!("{line}");
        }
        let mut command = self.cargo("test --workspace");
        begin("tests", &shown(&command));
        // Mesa's choice among several cards asks for a display and complains where there is none.
        run(command.env("NODEVICE_SELECT", "1"))
    }

    fn cargo(&self, args: &str) -> Command {
        let mut command = Command::new("cargo");
        command.args(args.split(' ')).current_dir(self.root);
        command
    }

    /// A component of the toolchain that a minimal installation lacks; rustup adds it.
    fn ensure_component(&self, component: &str, probe: &[&str]) -> Result<(), Failure> {
        if first_line("cargo", probe).is_some() {
            return Ok(());
        }
        let mut command = Command::new("rustup");
        command.args(["component", "add", component]);
        let log = self.logs.join("rustup-component.log");
        run_limited(
            &mut command,
            &Limit {
                time: COMPONENT_LIMIT,
                log: &log,
            },
        )
    }

    fn skip(&mut self, what: &str, why: impl Display) {
        let line = format!("skipped: {what}: {why}");
        eprintln!("{line}");
        self.skipped.push(line);
    }
}

fn timed(what: &str, command: &mut Command) -> Result<(), Failure> {
    begin(what, &shown(command));
    let start = Instant::now();
    run(command)?;
    end(what, start);
    Ok(())
}

fn begin(what: &str, doing: &str) {
    eprintln!("{what}: {doing}");
}

fn end(what: &str, start: Instant) {
    eprintln!("{what}: done in {:.1} s", start.elapsed().as_secs_f64());
}
