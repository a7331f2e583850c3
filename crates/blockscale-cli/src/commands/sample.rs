//! `blockscale sample DIR`.

use std::process::ExitCode;

use blockscale_convert::sample::{
    FAULTS, Fault, SampleDialect, SampleOptions, fault, write_sample,
};

use crate::args::{SampleArgs, SampleNames};
use crate::error::CliError;
use crate::style;

pub(crate) fn run(args: &SampleArgs) -> Result<ExitCode, CliError> {
    let Some(dir) = &args.dir else {
        list_faults()?;
        return Ok(ExitCode::SUCCESS);
    };
    let options = SampleOptions {
        dialect: match args.dialect {
            SampleNames::Hf => SampleDialect::Hf,
            SampleNames::Native => SampleDialect::Native,
        },
        layers: args.layers,
        seed: args.seed,
        fault: args.fault.as_deref().map(named).transpose()?,
    };
    let report = write_sample(dir, &options)?;
    let wrong = match options.fault {
        Some(fault) => format!(", wrong on purpose: {} ({})", fault.name, fault.rule),
        None => String::new(),
    };
    super::print_text(&format!(
        "sample of {} at `{}`: {} in {}, {}{wrong}\n",
        style::count(args.layers, "layer"),
        dir.display(),
        style::count(report.tensors, "tensor"),
        style::count(report.shards.len(), "shard"),
        style::bytes(report.tensor_bytes),
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn named(name: &str) -> Result<&'static Fault, CliError> {
    fault(name).ok_or_else(|| CliError::NoSuchFault(name.to_owned()))
}

fn list_faults() -> Result<(), CliError> {
    let names = FAULTS.iter().flat_map(|family| family.iter());
    let lines: String = names.map(|fault| format!("{}\n", fault.name)).collect();
    super::print_text(&lines)
}
