//! Why a conversion cannot be planned.

use blockscale::layout::ScaleLayout;

use crate::catalog::Refusal;
use crate::dialect::Dialect;
use crate::recipe::{EncodeBy, Target};

/// Why a conversion cannot be planned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Weights whose scales are missing, doubled or misshapen.
    #[error("{}", refusals(.0))]
    Refused(Vec<Refusal>),
    /// The architecture is known, and known to be something else.
    #[error("model_type `{model_type}` is not supported: {reason}")]
    UnsupportedModel {
        /// `model_type` of the config.
        model_type: String,
        /// What is different about it.
        reason: String,
    },
    /// The recipe was written for another model.
    #[error(
        "recipe `{recipe}` is for model_type {}, this checkpoint says {}; give another --recipe, or --to FORMAT",
        list(expected), found.as_ref().map_or("nothing (no config.json)".to_owned(), |f| format!("`{f}`"))
    )]
    OtherModel {
        /// Name of the recipe.
        recipe: String,
        /// Model types it is for.
        expected: Vec<String>,
        /// Model type of the checkpoint.
        found: Option<String>,
    },
    /// A rule that decides nothing is a typing mistake until it says otherwise.
    #[error(
        "rule {rule} of recipe `{recipe}` ({}) matches no weight that an earlier rule left; \
         correct it, or set optional = true",
        list(patterns)
    )]
    RuleMatchesNothing {
        /// Name of the recipe.
        recipe: String,
        /// Number of the rule, from 1.
        rule: usize,
        /// Its patterns.
        patterns: Vec<String>,
    },
    /// A weight that no rule speaks of.
    #[error(
        "no rule of recipe `{recipe}` matches `{weight}`; end the recipe with match = [\"*\"], to = \"keep\" to copy the rest"
    )]
    NoRule {
        /// Name of the recipe.
        recipe: String,
        /// The weight.
        weight: String,
    },
    /// The rule does not accept a weight stored like this.
    #[error("`{weight}` is stored as {found}; this recipe expects {expected} there")]
    NotAccepted {
        /// The weight.
        weight: String,
        /// What the rule accepts.
        expected: String,
        /// How it is stored.
        found: String,
    },
    /// Two tensors of the output would have one name, perhaps in two files.
    #[error(
        "`{first}` and `{second}` would both write a tensor `{tensor}`; rename one of them in the \
         source, or keep it as it is"
    )]
    NameTwice {
        /// The name in the output.
        tensor: String,
        /// A weight that has a tensor of it.
        first: String,
        /// Another.
        second: String,
    },
    /// Integers and booleans have no other format.
    #[error("`{weight}` holds {found} values, which cannot become {to}")]
    NotNumbers {
        /// The weight.
        weight: String,
        /// Its dtype.
        found: String,
        /// What the rule asks for.
        to: Target,
    },
    /// Blocks of ggml exist in GGUF files only.
    #[error(
        "`{weight}` is {found}, which safetensors cannot hold, and would be kept as it is; convert \
         it to a float or to a block format"
    )]
    OnlyInGguf {
        /// The weight.
        weight: String,
        /// How it is stored.
        found: String,
    },
    /// Block scales need rows and columns.
    #[error("`{weight}` has shape {shape:?}; {to} needs a matrix")]
    NotAMatrix {
        /// The weight.
        weight: String,
        /// Its shape.
        shape: Vec<usize>,
        /// What the rule asks for.
        to: Target,
    },
    /// A row of the weight is not a whole number of blocks.
    #[error("`{weight}` has {cols} columns; {to} needs a multiple of {block}")]
    PartialBlock {
        /// The weight.
        weight: String,
        /// Its columns.
        cols: usize,
        /// What the rule asks for.
        to: Target,
        /// Columns of one block.
        block: usize,
    },
    /// Integers are packed for single matrices.
    #[error(
        "`{weight}` has shape {shape:?}; {to} is packed one matrix a tensor, and loaders know no \
         stacks of it: keep it, or convert names with one tensor an expert"
    )]
    NotOneMatrix {
        /// The weight.
        weight: String,
        /// Its shape.
        shape: Vec<usize>,
        /// What the rule asks for.
        to: Target,
    },
    /// A row of the weight is not a whole number of groups.
    #[error(
        "`{weight}` has {cols} columns, which are no whole groups of {group}; loaders of {to} \
         refuse that: set another `group` (0 is one scale a row), or keep the weight"
    )]
    PartialGroup {
        /// The weight.
        weight: String,
        /// Its columns.
        cols: usize,
        /// What the rule asks for.
        to: Target,
        /// Columns of a group.
        group: usize,
    },
    /// The scale rule or the scheme is about other formats.
    #[error(
        "`{weight}` is to be {format}, which {by} does not write; there are {}{}",
        fitting.join(", "), with_dialect(*dialect)
    )]
    NotEncodedBy {
        /// The weight.
        weight: String,
        /// The rule or scheme.
        by: EncodeBy,
        /// The format, as its dialect has it.
        format: String,
        /// Those that write it.
        fitting: Vec<String>,
        /// A dialect in which it would do.
        dialect: Option<Dialect>,
    },
    /// The architecture fixes the shape of this weight, and it is another.
    #[error(
        "`{weight}` (from `{source_name}`) has shape {found:?}, but config.json makes it {expected:?}; \
         a tensor of another module may be stored under this name"
    )]
    WrongShape {
        /// The weight's native name.
        weight: String,
        /// Its name in the checkpoint.
        source_name: String,
        /// Shape by the config.
        expected: Vec<usize>,
        /// Shape found.
        found: Vec<usize>,
    },
    /// Part of a module that is to be joined is absent.
    #[error("cannot write `{module}`: `{missing}` is not in the checkpoint")]
    IncompleteModule {
        /// The joined weight.
        module: String,
        /// The member that is absent.
        missing: String,
    },
    /// Members of a module that is to be joined do not fit on top of each other.
    #[error("cannot write `{module}`: its parts have {found:?} columns")]
    UnevenModule {
        /// The joined weight.
        module: String,
        /// Columns of each part.
        found: Vec<usize>,
    },
    /// Two source weights would have one name in the output.
    #[error("`{first}` and `{second}` would both be written as `{name}`; exclude one of them")]
    SameName {
        /// The name.
        name: String,
        /// One source.
        first: String,
        /// The other.
        second: String,
    },
    /// The dialect has no names for the format.
    #[error("{dialect} has no form of {format}; give another --dialect or format")]
    NotInDialect {
        /// The format.
        format: String,
        /// The dialect.
        dialect: Dialect,
    },
    /// Experts in a block format cannot be stacked.
    #[error(
        "`{weight}` is {found}; stacked experts hold plain numbers: use --to bf16, or names with \
         one tensor an expert"
    )]
    StacksBlocks {
        /// The expert's weight.
        weight: String,
        /// How it is stored.
        found: String,
    },
    /// gpt-oss has stacks of plain numbers in turn and on their side.
    #[error(
        "`{weight}` would be put together gate first, which gpt-oss does not load as plain numbers; \
         write it with --names hf --dialect gpt-oss --to mxfp4, and that with --to bf16"
    )]
    StacksGptOss {
        /// The stack.
        weight: String,
    },
    /// A layout applied twice is noise that looks like scales.
    #[error(
        "`{weight}` is in layout `{layout}` already; applying it twice would scramble it: convert without --layout to undo it"
    )]
    AlreadyInLayout {
        /// The weight.
        weight: String,
        /// The layout.
        layout: ScaleLayout,
    },
    /// The runtime that has this layout does not read this weight.
    #[error("`{weight}` ({format}) cannot be laid out as `{layout}`: {reason}")]
    LayoutMisfit {
        /// The weight.
        weight: String,
        /// The layout.
        layout: ScaleLayout,
        /// Its format.
        format: String,
        /// Why not.
        reason: String,
    },
    /// Gate and up in one, in an order that nothing tells, where it matters.
    #[error(
        "nothing says in which order `{weight}` holds the rows of gate and up, and {needed_by} needs \
         it: pass --gate-up gate-first, up-first or interleaved, as the model has them"
    )]
    UnknownRowOrder {
        /// The weight.
        weight: String,
        /// What needs the order.
        needed_by: String,
    },
    /// Rows that cannot be moved without the rows that share their scales.
    #[error(
        "the rows of gate and up in `{weight}` are to be put in another order, and as {found} they \
         share scales with other rows: convert it to a format with scales of single rows, or to bf16 \
         first"
    )]
    RowsShareScales {
        /// The weight.
        weight: String,
        /// How it is stored.
        found: String,
    },
    /// Gate and up that are to be one operand and are not alike.
    #[error(
        "`{gate}` ({gate_is}) and `{up}` ({up_is}) cannot be laid out as one in `{layout}`: both need \
         the same format, shape and rule"
    )]
    UnlikeHalves {
        /// The gate.
        gate: String,
        /// Its format and shape.
        gate_is: String,
        /// The up projection.
        up: String,
        /// Its format and shape.
        up_is: String,
        /// The layout.
        layout: ScaleLayout,
    },
    /// A layout of experts, and none to lay out.
    #[error(
        "layout `{0}` is of experts' weights, and none of the output is one with scales; \
         linear layers have `trtllm-linear`"
    )]
    NoExperts(ScaleLayout),
    /// No known config describes a checkpoint that holds all of these.
    #[error(
        "the output would mix {}; no loader's config describes that: convert every weight, or write a recipe for it",
        list(formats)
    )]
    MixedFormats {
        /// The formats.
        formats: Vec<String>,
    },
    /// Sizes beyond 64 bits, or a header beyond the format's limit.
    #[error("output shard: {0}")]
    Header(#[from] crate::HeaderError),
}

fn list(names: &[String]) -> String {
    names
        .iter()
        .map(|n| format!("`{n}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn with_dialect(dialect: Option<Dialect>) -> String {
    dialect.map_or(String::new(), |dialect| {
        format!("; it would with --dialect {dialect}")
    })
}

fn refusals(all: &[Refusal]) -> String {
    const SHOWN: usize = 8;
    let mut text: Vec<String> = all.iter().take(SHOWN).map(ToString::to_string).collect();
    if all.len() > SHOWN {
        text.push(format!("and {} more", all.len() - SHOWN));
    }
    text.join("\n")
}
