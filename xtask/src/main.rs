//! The project's chores: `cargo xtask test`, a first conversion with nothing to prepare, and every
//! command of the tool itself, built with optimisation.

mod apt;
mod commands;
mod flags;
mod graphics;
mod kernels;
mod process;
mod test_data;
mod toolchain;
mod wasm;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use crate::commands::{demo, test};
use crate::flags::{HELP, Task};

fn main() -> ExitCode {
    match flags::parse(env::args_os().skip(1)) {
        Ok(Task::Help) => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Task::Test(scope)) => match test::run_all(workspace_root(), scope) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("error: {failure}");
                failure.exit_code()
            }
        },
        Ok(Task::Kernels(mode)) => match kernels::run(workspace_root(), mode) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        },
        Ok(Task::Wasm) => match wasm::run_all(workspace_root()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        },
        Ok(Task::Demo) => demo_in(workspace_root()),
        Ok(Task::Tool(args)) => blockscale_cli::run(args),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(flags::USAGE_EXIT_CODE)
        }
    }
}

/// Runs the demo with short paths: what it prints can be typed again from the workspace root.
fn demo_in(root: &Path) -> ExitCode {
    if let Err(error) = env::set_current_dir(root) {
        eprintln!("error: can't enter `{}`: {error}", root.display());
        return ExitCode::FAILURE;
    }
    demo::run(|args| blockscale_cli::run(args))
}

fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a member lies in its workspace's folder")
}
