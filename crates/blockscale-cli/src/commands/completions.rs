//! `blockscale completions SHELL`.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::error::CliError;

pub(crate) fn run(args: &CompletionsArgs) -> Result<ExitCode, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "blockscale", &mut script);
    super::print_text(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
