//! `blockscale sample DIR`.

use std::process::ExitCode;

use blockscale_convert::sample::{SampleDialect, SampleOptions, write_sample};

use crate::args::{SampleArgs, SampleNames};
use crate::error::CliError;
use crate::style;

pub(crate) fn run(args: &SampleArgs) -> Result<ExitCode, CliError> {
    let options = SampleOptions {
        dialect: match args.dialect {
            SampleNames::Hf => SampleDialect::Hf,
            SampleNames::Native => SampleDialect::Native,
        },
        layers: args.layers,
        seed: args.seed,
    };
    let report = write_sample(&args.dir, &options)?;
    super::print_text(&format!(
        "sample of {} at `{}`: {} in {}, {}\n",
        style::count(args.layers, "layer"),
        args.dir.display(),
        style::count(report.tensors, "tensor"),
        style::count(report.shards.len(), "shard"),
        style::bytes(report.tensor_bytes),
    ))?;
    Ok(ExitCode::SUCCESS)
}
