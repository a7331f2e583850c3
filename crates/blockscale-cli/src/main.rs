//! The command `blockscale`.

use std::process::ExitCode;

fn main() -> ExitCode {
    blockscale_cli::run(std::env::args_os())
}
