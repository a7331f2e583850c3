//! Which weights of a checkpoint a kernel is given as one operand.

use blockscale::layout::ScaleLayout;
use blockscale::runtime::{Kernel, Part, Runtime};
use blockscale::{Format, Shape};
use blockscale_model::Checkpoint;
use blockscale_model::catalog::{Encoding, Matrices, Weight, module_of};
use blockscale_model::deepseek_v4::{self, DeepSeekV4, Detection};

use super::report::{SkipReason, SkippedWeight};
use crate::weights::Weights;

/// Weights that a kernel is given as one operand.
pub(super) struct OperandWeights {
    pub(super) kernel: Kernel,
    /// Format of each of the weights.
    pub(super) format: Format,
    /// Indexes into the catalog. In each matrix of the operand the rows of the first lie above
    /// those of the second.
    pub(super) members: Vec<usize>,
    pub(super) matrices: usize,
    /// Rows and columns of a matrix of the operand.
    pub(super) shape: Shape,
}

impl OperandWeights {
    /// Rows that each member has in a matrix of the operand.
    pub(super) fn member_rows(&self) -> usize {
        self.shape.rows / self.members.len()
    }

    /// Matrix and row of a member, from those of its part of the operand.
    ///
    /// They differ for a matrix that the kernel reads as several groups.
    pub(super) fn row_of_member(
        &self,
        weights: Weights<'_>,
        member: usize,
        matrix: usize,
        row: usize,
    ) -> (usize, usize) {
        let rows = weights.catalog.weights[member].matrices().shape.rows;
        let row = matrix * self.member_rows() + row;
        (row / rows, row % rows)
    }

    pub(super) fn names(&self, weights: Weights<'_>) -> Vec<String> {
        let name = |&member: &usize| weights.catalog.weights[member].name.clone();
        self.members.iter().map(name).collect()
    }

    /// Bytes of all tensors of its weights.
    pub(super) fn stored_bytes(&self, weights: Weights<'_>) -> u64 {
        let members = self.members.iter().map(|&m| &weights.catalog.weights[m]);
        members
            .flat_map(|weight| &weight.parts)
            .map(|part| weights.checkpoint.tensors[part.tensor].bytes())
            .sum()
    }
}

/// Every operand that `runtime` makes of block-scaled weights, and those that it cannot take.
pub(super) fn operands(
    weights: Weights<'_>,
    runtime: Runtime,
) -> (Vec<OperandWeights>, Vec<SkippedWeight>) {
    let model = Model {
        weights,
        runtime,
        groups: OutputGroups::of(weights.checkpoint),
    };
    let (mut operands, mut skipped) = (Vec::new(), Vec::new());
    for (index, weight) in weights.catalog.weights.iter().enumerate() {
        if matches!(weight.encoding, Encoding::Plain(_)) {
            continue;
        }
        match model.operand(index) {
            Ok(operand) => operands.extend(operand),
            Err(reason) => skipped.push(SkippedWeight {
                weight: weight.name.clone(),
                reason,
            }),
        }
    }
    (operands, skipped)
}

struct Model<'a> {
    weights: Weights<'a>,
    runtime: Runtime,
    groups: OutputGroups,
}

impl Model<'_> {
    /// The operand that a weight begins; `None` for an up, which belongs to its gate.
    fn operand(&self, index: usize) -> Result<Option<OperandWeights>, SkipReason> {
        let weight = &self.weights.catalog.weights[index];
        if weight.layout != ScaleLayout::Linear {
            let layout = weight.layout;
            return Err(SkipReason::LaidOut { layout });
        }
        let role = Role::of(&weight.name);
        let kernel = self.runtime.kernel(role.part());
        let format = readable(kernel, weight)?;
        if weight.elements() == 0 {
            return Err(SkipReason::Empty);
        }
        let Matrices { count, shape } = weight.matrices();
        let alone = OperandWeights {
            kernel,
            format,
            members: vec![index],
            matrices: count,
            shape,
        };
        match role {
            // Products of FP8 take gate and up as they take one: blocks of rows stay where they are.
            _ if format != Format::NVFP4 => self.grouped(alone, weight).map(Some),
            Role::Gate { up } => {
                let up = self.sibling(weight, up)?;
                Ok(Some(OperandWeights {
                    members: vec![index, up],
                    shape: Shape::new(shape.rows * 2, shape.cols),
                    ..alone
                }))
            }
            Role::Up { gate } => self.sibling(weight, gate).map(|_| None),
            Role::GateUp | Role::Down | Role::Other => Ok(Some(alone)),
        }
    }

    /// The weight beside `weight` whose module is called `module`, of the same format and shape.
    fn sibling(&self, weight: &Weight, module: &str) -> Result<usize, SkipReason> {
        let own = module_of(&weight.name);
        let suffix = &weight.name[own.len()..];
        let parent = own.rsplit_once('.').map_or("", |(parent, _)| parent);
        let name = format!("{parent}.{module}{suffix}");
        let Some(index) = self.weights.catalog.position(&name) else {
            return Err(SkipReason::NoSibling { name });
        };
        let other = &self.weights.catalog.weights[index];
        if other.encoding == weight.encoding && other.shape == weight.shape {
            Ok(index)
        } else {
            Err(SkipReason::OtherSibling { name })
        }
    }

    /// The output projection of DeepSeek-V4 as the stack of matrices that the FP8 product takes.
    fn grouped(
        &self,
        operand: OperandWeights,
        weight: &Weight,
    ) -> Result<OperandWeights, SkipReason> {
        let groups = match self.groups {
            _ if operand.matrices > 1 || !is_wo_a(&weight.name) => return Ok(operand),
            OutputGroups::None => return Ok(operand),
            OutputGroups::Unknown => return Err(SkipReason::NoGroups),
            OutputGroups::Count(groups) => groups,
        };
        let Shape { rows, cols } = operand.shape;
        if !rows.is_multiple_of(groups * 128) {
            return Err(SkipReason::GroupRows { rows, groups });
        }
        Ok(OperandWeights {
            matrices: groups,
            shape: Shape::new(rows / groups, cols),
            ..operand
        })
    }
}

/// The format of a weight, if the kernel multiplies with it.
fn readable(kernel: Kernel, weight: &Weight) -> Result<Format, SkipReason> {
    // Either scale becomes the other on loading: UE8M0 is widened, powers of two are packed.
    let fp8_block = |format| matches!(format, Format::FP8_BLOCK | Format::FP8_BLOCK_UE8M0);
    match weight.encoding.format().copied() {
        Some(format) if format == kernel.format() => Ok(format),
        Some(format) if fp8_block(format) && fp8_block(kernel.format()) => Ok(format),
        Some(Format::NVFP4_DIVISOR) if kernel.format() == Format::NVFP4 => Err(SkipReason::Divisor),
        _ => Err(SkipReason::Format {
            expected: kernel.format().to_string(),
            found: weight.encoding.to_string(),
        }),
    }
}

/// What a weight is to the experts of its layer.
enum Role {
    Gate { up: &'static str },
    Up { gate: &'static str },
    GateUp,
    Down,
    Other,
}

impl Role {
    /// By name: `...experts.7.w1.weight`, or `...experts.gate_up_proj` of all experts in a stack.
    fn of(name: &str) -> Self {
        let mut modules = module_of(name).rsplit('.');
        let last = modules.next();
        let is_number = |module: &&str| module.bytes().all(|byte| byte.is_ascii_digit());
        let above = modules.next();
        let stack = match above.filter(is_number) {
            Some(_) => modules.next(),
            None => above,
        };
        match last {
            _ if stack != Some("experts") => Self::Other,
            Some("w1") => Self::Gate { up: "w3" },
            Some("gate_proj") => Self::Gate { up: "up_proj" },
            Some("w3") => Self::Up { gate: "w1" },
            Some("up_proj") => Self::Up { gate: "gate_proj" },
            Some("gate_up_proj") => Self::GateUp,
            Some("w2" | "down_proj") => Self::Down,
            _ => Self::Other,
        }
    }

    fn part(&self) -> Part {
        match self {
            Self::Gate { .. } | Self::Up { .. } | Self::GateUp => Part::MoeGateUp,
            Self::Down => Part::MoeDown,
            Self::Other => Part::Linear,
        }
    }
}

fn is_wo_a(name: &str) -> bool {
    deepseek_v4::to_native(name)
        .and_then(|native| deepseek_v4::parse(&native))
        .is_some_and(|native| native.part == deepseek_v4::Part::WoA)
}

/// Groups of the output projection.
enum OutputGroups {
    /// Not a model that has them.
    None,
    /// One that does, with a configuration that does not say how many.
    Unknown,
    Count(usize),
}

impl OutputGroups {
    fn of(checkpoint: &Checkpoint) -> Self {
        match &checkpoint.config {
            Some(config) if DeepSeekV4::detect(config) == Detection::V4 => {
                DeepSeekV4::from_config(config).map_or(Self::Unknown, |v4| Self::Count(v4.o_groups))
            }
            _ => Self::None,
        }
    }
}
