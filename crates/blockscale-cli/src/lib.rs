//! The command line: arguments, progress and reports over the conversion library.
//!
//! The binary is three lines; [`run`] is all of it, so that it can be called in
//! a process of another kind (`cargo xtask` does) and tested.

mod args;
mod commands;
mod device;
mod error;
pub mod http_range;
mod progress;
mod style;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;

use args::{Args, Command};
use error::CliError;

/// Runs the command line `args`, the program's name first.
///
/// Exit codes: 0 done; 1 findings or mismatch; 2 usage; 3 bad input; 4 input or
/// output failed; 5 no such device; 130 interrupted.
pub fn run<I, T>(args: I) -> ExitCode
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let outcome = match Args::try_parse_from(args) {
        Ok(args) => dispatch(args),
        Err(misuse) if misuse.use_stderr() => {
            // A closed stderr leaves nobody to tell.
            let _ = misuse.print();
            return ExitCode::from(2);
        }
        // Help and version are answers too.
        Err(answer) => commands::unless_closed(answer.print()).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| {
        style::print_error(&error);
        error.exit_code()
    })
}

/// Reads the command line `args`, the program's name first, and does nothing: so documents can be
/// held to commands that exist.
///
/// # Errors
/// What [`run`] would print where it ends with exit code 2.
pub fn parses<I, T>(args: I) -> Result<(), String>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    match Args::try_parse_from(args) {
        Err(misuse) if misuse.use_stderr() => Err(misuse.to_string()),
        _ => Ok(()),
    }
}

fn dispatch(args: Args) -> Result<ExitCode, CliError> {
    match args.command {
        Command::Convert(args) => commands::convert::run(&args, &stop_on_interrupt()),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Verify(args) => commands::verify::run(&args, &stop_on_interrupt()),
        Command::Diff(args) => commands::diff::run(&args, &stop_on_interrupt()),
        Command::Doctor(args) => commands::doctor::run(&args, &stop_on_interrupt()),
        Command::View(args) => commands::view::run(&args, &stop_on_interrupt()),
        Command::Sample(args) => commands::sample::run(&args),
        Command::Selftest(args) => commands::selftest::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
    }
}

/// A flag that Ctrl-C sets. The second Ctrl-C ends the process at once, which a
/// conversion survives as it survives a crash.
fn stop_on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    // A handler that is set already belongs to the program that called us.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    stop
}
