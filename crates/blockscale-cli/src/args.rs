//! Arguments, as clap reads them.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use blockscale::arch::Level;
use blockscale::layout::ScaleLayout;
use blockscale::runtime::Runtime;
use blockscale_model::catalog::RowOrder;
use blockscale_model::dialect::Dialect;
use blockscale_model::recipe::{Pattern, ScaleRuleName, SchemeName, Target};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::device::DeviceChoice;

/// Reads, converts and checks checkpoints of block-scaled low-precision weights.
#[derive(Debug, Parser)]
#[command(
    name = "blockscale",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Convert a checkpoint, checking every converted number
    #[command(
        after_help = "Example:\n  blockscale convert DeepSeek-V4-Pro-NVFP4 out --recipe deepseek-v4"
    )]
    Convert(ConvertArgs),
    /// List tensors, formats and sizes; look at one tensor's numbers
    #[command(after_help = "Example:\n  blockscale inspect out --tensor layers.3.attn.wo_a.weight")]
    Inspect(InspectArgs),
    /// Decode two checkpoints on their own and compare them
    #[command(
        after_help = "Examples:\n  blockscale verify DeepSeek-V4-Pro-NVFP4 out\n  blockscale verify out --runtime deepgemm-sm100"
    )]
    Verify(VerifyArgs),
    /// Say what is different between two checkpoints
    #[command(after_help = "Example:\n  blockscale diff before after --top 20")]
    Diff(DiffArgs),
    /// Say what is wrong with a checkpoint, what a runtime makes of it, and how to mend it
    #[command(
        after_help = "Examples:\n  blockscale doctor out\n  blockscale doctor out --target vllm\n  blockscale doctor --explain BS021"
    )]
    Doctor(DoctorArgs),
    /// Show a checkpoint in the browser: its weights, scales and findings as pictures
    #[command(
        after_help = "Examples:\n  blockscale view out\n  ssh -L 8000:127.0.0.1:8000 HOST blockscale view out --port 8000"
    )]
    View(ViewArgs),
    /// Write a small checkpoint with DeepSeek-V4's names and structure
    #[command(after_help = "Example:\n  blockscale sample target/sample --layers 4")]
    Sample(SampleArgs),
    /// Hold a device to the core, bit by bit
    #[command(after_help = "Example:\n  blockscale selftest --device cuda")]
    Selftest(SelftestArgs),
    /// Measure a device beside a plain copy
    #[command(after_help = "Example:\n  blockscale bench --device cuda --json")]
    Bench(BenchArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  blockscale completions bash > /etc/bash_completion.d/blockscale"
    )]
    Completions(CompletionsArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConvertArgs {
    /// Checkpoint: a .safetensors file, a folder, or a model in a Hugging Face cache
    pub(crate) source: PathBuf,
    /// Folder to write; absent only with --dry-run
    #[arg(required_unless_present = "dry_run")]
    pub(crate) output: Option<PathBuf>,
    /// Embedded recipe (deepseek-v4, deepseek-v4-bf16) or path of a .toml file [default: the model's own]
    #[arg(long, conflicts_with = "to")]
    pub(crate) recipe: Option<String>,
    /// One format for every matrix: bf16, f16, f32, fp8-block, fp8-block-ue8m0, fp8-channel,
    /// fp8-tensor, nvfp4, mxfp4, mxfp8, int4, int8
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<Target>,
    /// How scales of blocks follow from their numbers: amax, floor, ceil, rceil, even, nearest,
    /// four-over-six, mse-search and others [default: the format's own]
    #[arg(
        long,
        value_name = "RULE",
        requires = "to",
        conflicts_with_all = ["scheme", "recipe"]
    )]
    pub(crate) scale_rule: Option<ScaleRuleName>,
    /// Encode as a library does, to the byte: modelopt-nvfp4, torchao-mx-floor and others; an
    /// unknown name lists them
    #[arg(long, value_name = "NAME", requires = "to", conflicts_with = "recipe")]
    pub(crate) scheme: Option<SchemeName>,
    /// Columns that share a scale in int4 and int8, 0 for one scale a row [default: 128 and 0]
    #[arg(
        long,
        value_name = "COLUMNS",
        requires = "to",
        conflicts_with = "recipe"
    )]
    pub(crate) group: Option<usize>,
    /// Names and config of a tool: modelopt, compressed-tensors, deepseek, gpt-oss [default: the format's own]
    #[arg(long)]
    pub(crate) dialect: Option<Dialect>,
    /// Names of DeepSeek-V4 as one of its tools spells them [default: the recipe's own]
    #[arg(long, value_enum, value_name = "SPELLING")]
    pub(crate) names: Option<Names>,
    /// Write block-scaled weights in a runtime's layout, named in the files' metadata; reading undoes it
    #[arg(long, value_name = "LAYOUT", value_parser = layout)]
    pub(crate) layout: Option<ScaleLayout>,
    /// Only weights whose name matches (glob, or re:REGEX; repeatable)
    #[arg(
        long,
        value_name = "PATTERN",
        requires = "to",
        conflicts_with = "recipe"
    )]
    pub(crate) include: Vec<Pattern>,
    /// Not the weights whose name matches (glob, or re:REGEX; repeatable)
    #[arg(
        long,
        value_name = "PATTERN",
        requires = "to",
        conflicts_with = "recipe"
    )]
    pub(crate) exclude: Vec<Pattern>,
    /// Write sibling weights that a runtime joins as one tensor, where the recipe offers it
    #[arg(long, conflicts_with = "to")]
    pub(crate) fuse: bool,
    /// Order of gate and up in weights that hold both, where nothing in the checkpoint tells it:
    /// gate-first, up-first, interleaved
    #[arg(long, value_name = "ORDER")]
    pub(crate) gate_up: Option<RowOrder>,
    /// What does the arithmetic: cpu, cuda (all devices), cuda:N, or auto; the output is the same
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: DeviceChoice,
    /// Memory for buffers
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) max_memory: Size,
    /// Begin a new output shard after so many bytes
    #[arg(long, value_name = "SIZE", default_value = "5GiB")]
    pub(crate) shard_size: Size,
    /// SQNR bound in dB for every weight that may be rounded, in place of its format's own; what has
    /// to be equal stays so
    #[arg(long, value_name = "DB", value_parser = decibels, allow_negative_numbers = true)]
    pub(crate) min_sqnr: Option<f64>,
    /// Finish a conversion that was interrupted
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) resume: bool,
    /// Replace the checkpoint in the output folder
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Repair weights whose bytes are meant otherwise than the file says (scales laid out, nibbles
    /// swapped, a global scale inverted); formats stay unless --to or --recipe says otherwise
    #[arg(long)]
    pub(crate) repair: bool,
    /// Checkpoint that holds the right values, in any dialect, for what bytes alone do not tell
    #[arg(long, value_name = "PATH", requires = "repair")]
    pub(crate) reference: Option<PathBuf>,
    /// Print the plan and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the result as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// Checkpoint: a .safetensors file, a folder, or a model in a Hugging Face cache
    pub(crate) path: PathBuf,
    /// Statistics and a histogram of one weight
    #[arg(long, value_name = "NAME")]
    pub(crate) tensor: Option<String>,
    /// Order of gate and up in weights that hold both, where nothing in the checkpoint tells it:
    /// gate-first, up-first, interleaved
    #[arg(long, value_name = "ORDER")]
    pub(crate) gate_up: Option<RowOrder>,
    /// Print as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    /// The checkpoint that is right
    pub(crate) source: PathBuf,
    /// The checkpoint to check; with --runtime it may be absent, and SOURCE is checked
    #[arg(required_unless_present = "runtime")]
    pub(crate) output: Option<PathBuf>,
    /// Bring the weights into the layout of a runtime and read them as its kernels do:
    /// deepgemm-sm90, deepgemm-sm100, trtllm-moe, cutlass
    #[arg(long, value_name = "NAME", value_parser = runtime)]
    pub(crate) runtime: Option<Runtime>,
    /// Rows of each matrix to read as the runtime does
    #[arg(long, value_name = "N", default_value = "64", requires = "runtime")]
    pub(crate) rows: NonZeroUsize,
    /// Order of gate and up in weights that hold both, where nothing in the checkpoint tells it:
    /// gate-first, up-first, interleaved
    #[arg(long, value_name = "ORDER")]
    pub(crate) gate_up: Option<RowOrder>,
    /// Memory for buffers
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) max_memory: Size,
    /// SQNR bound in dB for every weight that may be rounded, in place of its formats' own; what has
    /// to be equal stays so
    #[arg(
        long,
        value_name = "DB",
        requires = "output",
        value_parser = decibels,
        allow_negative_numbers = true
    )]
    pub(crate) min_sqnr: Option<f64>,
    /// Weights to list, worst first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Print as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArgs {
    /// Checkpoint: a .safetensors file, a folder, or a model in a Hugging Face cache
    pub(crate) a: PathBuf,
    /// Another, in any dialect and spelling
    pub(crate) b: PathBuf,
    /// Compare numbers alone: names, formats, layouts and configs may differ
    #[arg(long)]
    pub(crate) numbers: bool,
    /// Numbers may be so far apart
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    pub(crate) atol: f64,
    /// And by such a part of the first one's magnitude
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    pub(crate) rtol: f64,
    /// A weight differs only below this SQNR, whatever single numbers do
    #[arg(long, value_name = "DB", conflicts_with_all = ["atol", "rtol"])]
    pub(crate) min_sqnr: Option<f64>,
    /// Memory for buffers
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) max_memory: Size,
    /// Differences of a kind to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Print as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// Checkpoint: a .safetensors file, a folder, or a model in a Hugging Face cache
    #[arg(required_unless_present_any = ["list", "explain"])]
    pub(crate) path: Option<PathBuf>,
    /// Checkpoint that holds the right values, in any dialect and spelling
    #[arg(long, value_name = "PATH")]
    pub(crate) reference: Option<PathBuf>,
    /// Consumer to judge for: vllm, sglang, transformers, compressed-tensors, mlx-lm, llama.cpp,
    /// tensorrt-llm
    #[arg(long, value_name = "NAME[@VERSION]")]
    pub(crate) target: Option<String>,
    /// Read every byte, not a sample
    #[arg(long)]
    pub(crate) full: bool,
    /// Seed that chooses the sample
    #[arg(long, default_value_t = 0, conflicts_with = "full")]
    pub(crate) seed: u64,
    /// Drop what a rule finds (code or name, or `warnings`; repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Make a warning of what a rule finds
    #[arg(long, value_name = "RULE")]
    pub(crate) warn: Vec<String>,
    /// Make an error of what a rule finds
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Findings of one rule to print
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) top: usize,
    /// List all rules
    #[arg(long, conflicts_with_all = ["path", "explain"])]
    pub(crate) list: bool,
    /// Explain one rule
    #[arg(long, value_name = "RULE", conflicts_with = "path")]
    pub(crate) explain: Option<String>,
    /// Print as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Print as SARIF 2.1.0 on stdout
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ViewArgs {
    /// Checkpoint: a .safetensors file, a folder, or a model in a Hugging Face cache
    pub(crate) path: PathBuf,
    /// Another checkpoint to compare it with
    #[arg(long, value_name = "PATH")]
    pub(crate) reference: Option<PathBuf>,
    /// Port to listen at [default: any that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Address to listen at; any but this machine's own lets other machines read the checkpoint
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// What shows the page: the browser of this machine, or none, and its URL is printed alone
    #[arg(long, value_enum, value_name = "PROGRAM", default_value_t = OpenWith::None)]
    pub(crate) open: OpenWith,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OpenWith {
    None,
    Browser,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SampleArgs {
    /// Folder to write; an earlier sample in it is replaced
    #[arg(required_unless_present = "list_faults")]
    pub(crate) dir: Option<PathBuf>,
    /// One thing to be wrong with it; --list-faults names them
    #[arg(long, value_name = "NAME")]
    pub(crate) fault: Option<String>,
    /// Print the names of all faults, one a line
    #[arg(long, conflicts_with_all = ["dir", "fault"])]
    pub(crate) list_faults: bool,
    /// Names of tensors: those of Hugging Face (as ModelOpt exports them), or of DeepSeek's releases
    #[arg(long, value_enum, default_value_t = SampleNames::Hf)]
    pub(crate) dialect: SampleNames,
    /// Layers; 61 as DeepSeek-V4-Pro has
    #[arg(long, default_value_t = 61)]
    pub(crate) layers: usize,
    /// Seed of the random weights
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SampleNames {
    Hf,
    Native,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Names {
    /// The releases: layers.0.attn.wq_a
    Native,
    /// transformers by default: model.layers.0.attn.wq_a
    HalfNative,
    /// transformers with its own names and stacked experts
    Hf,
    /// The same with one tensor an expert, as llm-compressor writes
    HfPerExpert,
    /// ModelOpt's export
    Modelopt,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SelftestArgs {
    /// What is tested: cpu, cuda, cuda:N, or auto
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub(crate) device: DeviceChoice,
    /// Print as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BenchArgs {
    /// What is measured: cpu, cuda, cuda:N, or auto
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub(crate) device: DeviceChoice,
    /// Print as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Only with these instructions of the processor: scalar, avx2, avx512, neon [default: all but
    /// scalar]
    #[arg(long, value_name = "NAME", value_parser = level)]
    pub(crate) level: Option<Level>,
    /// Only operations of the processor whose name has this in it
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Also measure whole conversions, with files that are made in this folder and removed
    #[arg(long, value_name = "FOLDER")]
    pub(crate) files: Option<PathBuf>,
    /// Instead of conversions beside copies: how time and memory grow with bytes and tensors
    #[arg(long, requires = "files")]
    pub(crate) growth: bool,
    /// GiB that the largest of them reads and writes
    #[arg(long, value_name = "GIB", default_value_t = 1.0, requires = "files")]
    pub(crate) gib: f64,
    /// Also write the rows to a table in this folder, named by machine and day
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = "benches/results")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

fn level(name: &str) -> Result<Level, String> {
    Level::from_name(name).ok_or_else(|| {
        let names = Level::ALL.map(Level::name);
        format!("`{name}` is none; there are {}", names.join(", "))
    })
}

fn runtime(name: &str) -> Result<Runtime, String> {
    Runtime::from_name(name).ok_or_else(|| {
        let names = Runtime::ALL.map(Runtime::name);
        format!("`{name}` is no runtime; there are {}", names.join(", "))
    })
}

/// A number that others can be below: not NaN, which none is.
fn decibels(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|db: &f64| db.is_finite());
    number.ok_or_else(|| format!("`{text}` is no number of dB"))
}

fn layout(name: &str) -> Result<ScaleLayout, String> {
    ScaleLayout::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = ScaleLayout::ALL
            .iter()
            .map(|layout| layout.name())
            .collect();
        format!("no such layout; there are {}", names.join(", "))
    })
}

/// A number of bytes: `1GiB`, `512MiB`, `65536`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// A word that is no size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no size; write bytes, or a number with KiB, MiB, GiB or TiB")]
pub(crate) struct NotASize(String);

impl FromStr for Size {
    type Err = NotASize;

    fn from_str(text: &str) -> Result<Self, NotASize> {
        let error = || NotASize(text.to_owned());
        let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
        let (number, shift) = units
            .iter()
            .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))
            .unwrap_or((text, 0));
        let number: u64 = number.trim().parse().map_err(|_| error())?;
        number
            .checked_mul(1 << shift)
            .filter(|&bytes| bytes > 0)
            .map(Self)
            .ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn bounds_are_finite_numbers() {
        assert_eq!(decibels("19.5"), Ok(19.5));
        assert_eq!(decibels("-3"), Ok(-3.0));
        for wrong in ["nan", "NaN", "inf", "-inf", "", "19dB"] {
            assert!(decibels(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_take_binary_units_and_plain_bytes() {
        assert_eq!("65536".parse(), Ok(Size(65536)));
        assert_eq!("3KiB".parse(), Ok(Size(3072)));
        assert_eq!("2 GiB".parse(), Ok(Size(2 << 30)));
        for wrong in ["", "GiB", "1GB", "-1", "0", "99999999999TiB"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
