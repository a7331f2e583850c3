//! `blockscale diff A B`.

mod text;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use blockscale_convert::diff::{Compared, DiffOptions, diff};

use super::Opened;
use crate::args::DiffArgs;
use crate::error::CliError;
use crate::progress::Bar;

pub(crate) fn run(args: &DiffArgs, stop: &AtomicBool) -> Result<ExitCode, CliError> {
    let (a, b) = (Opened::open(&args.a)?, Opened::open(&args.b)?);
    let options = DiffOptions {
        compared: match args.numbers {
            true => Compared::Numbers,
            false => Compared::Everything,
        },
        atol: args.atol,
        rtol: args.rtol,
        min_sqnr: args.min_sqnr,
        max_memory: args.max_memory.0,
    };
    let bar = Bar::new("comparing");
    let report = diff(a.weights(), b.weights(), &options, &bar, stop);
    bar.done();
    let report = report?;
    if args.json {
        super::print_json(&serde_json::to_value(&report).unwrap_or_default())?;
    } else {
        super::print_text(&text::text(&report, args.top))?;
    }
    Ok(ExitCode::from(u8::from(!report.is_same())))
}
