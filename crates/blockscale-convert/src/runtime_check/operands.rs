//! Which weights of a checkpoint a kernel is given as one operand.

use blockscale::layout::{LayoutError, ScaleLayout};
use blockscale::runtime::{Kernel, Part, Runtime};
use blockscale::{Format, Shape};
use blockscale_model::Checkpoint;
use blockscale_model::catalog::{Encoding, ExpertPart, Matrices, PartRole, Weight, other_half};
use blockscale_model::deepseek_v4::{self, DeepSeekV4, Detection};

use super::operand::{Member, OperandWeights};
use super::report::{SkipReason, SkippedWeight};
use crate::weights::Weights;

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
        let part = ExpertPart::of(&weight.name);
        let kernel = self.runtime.kernel(kernel_part(part));
        if weight.layout != ScaleLayout::Linear {
            return self.as_laid_out(kernel, index).map(Some);
        }
        let format = readable(kernel, weight)?;
        if weight.elements() == 0 {
            return Err(SkipReason::Empty);
        }
        let Matrices { count, shape } = weight.matrices();
        let alone = OperandWeights {
            kernel,
            format,
            members: vec![Member::all(index)],
            matrices: count,
            shape,
            laid_out: false,
        };
        match part {
            // Products of FP8 take gate and up as they take one: blocks of rows stay where they are.
            _ if format != Format::NVFP4 => self.grouped(alone, weight).map(Some),
            Some(ExpertPart::Gate) => {
                let up = self.sibling(weight)?;
                Ok(Some(OperandWeights {
                    members: vec![Member::all(index), Member::all(up)],
                    shape: Shape::new(shape.rows * 2, shape.cols),
                    ..alone
                }))
            }
            Some(ExpertPart::Up) => self.sibling(weight).map(|_| None),
            Some(ExpertPart::GateUp) if weight.gate_up.order().is_none() => {
                Err(SkipReason::UnknownRowOrder)
            }
            Some(ExpertPart::GateUp) => {
                let half = |half| Member {
                    weight: index,
                    half: Some(half),
                };
                Ok(Some(OperandWeights {
                    members: vec![half(0), half(1)],
                    ..alone
                }))
            }
            Some(ExpertPart::Down) | None => Ok(Some(alone)),
        }
    }

    /// A weight that the file holds in the order of the kernel, byte for byte as it lies in memory.
    fn as_laid_out(&self, kernel: Kernel, index: usize) -> Result<OperandWeights, SkipReason> {
        let weight = &self.weights.catalog.weights[index];
        let layout = weight.layout;
        let Matrices { count, shape } = weight.matrices();
        let is_as_long = |role, expected: Result<usize, LayoutError>| {
            let bytes = weight.part(role).map(|id| self.weights.tensor_len(id));
            bytes.is_some() && bytes == expected.ok()
        };
        let reads = weight.encoding.format() == Some(&kernel.format())
            && kernel.format() == Format::NVFP4
            && kernel.layout() == layout
            && is_as_long(PartRole::Codes, kernel.baked_code_bytes(count, shape))
            && is_as_long(PartRole::BlockScale, kernel.baked_scale_bytes(count, shape));
        if !reads {
            return Err(SkipReason::LaidOut { layout });
        }
        Ok(OperandWeights {
            kernel,
            format: kernel.format(),
            members: vec![Member::all(index)],
            matrices: count,
            shape,
            laid_out: true,
        })
    }

    /// The other half of a gate or an up, of the same format and shape.
    fn sibling(&self, weight: &Weight) -> Result<usize, SkipReason> {
        let name = other_half(&weight.name).unwrap_or_default();
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

fn kernel_part(part: Option<ExpertPart>) -> Part {
    match part {
        Some(ExpertPart::Gate | ExpertPart::Up | ExpertPart::GateUp) => Part::MoeGateUp,
        Some(ExpertPart::Down) => Part::MoeDown,
        None => Part::Linear,
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
