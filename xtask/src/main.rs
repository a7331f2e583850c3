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
mod web;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use crate::commands::{demo, deny, fuzz, stress, test};
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
        Ok(Task::Fuzz(options)) => ended(fuzz::run(workspace_root(), options)),
        Ok(Task::Stress(points)) => ended(stress::run_all(workspace_root(), points)),
        Ok(Task::Deny) => match deny::run(workspace_root()) {
            Err(error) if error.is_of_this_machine() => {
                eprintln!("skipped: dependencies: {error}");
                ExitCode::SUCCESS
            }
            outcome => ended(outcome),
        },
        Ok(Task::Kernels(mode)) => ended(kernels::run(workspace_root(), mode)),
        Ok(Task::Wasm) => ended(wasm::run_all(workspace_root())),
        Ok(Task::Web(mode)) => ended(web::run_all(workspace_root(), mode)),
        Ok(Task::Demo) => demo_in(workspace_root()),
        Ok(Task::Tool(args)) => blockscale_cli::run(args),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(flags::USAGE_EXIT_CODE)
        }
    }
}

fn ended<E: std::fmt::Display>(outcome: Result<(), E>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
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
