//! Operands that the file holds in the kernel's own layout.

use blockscale_model::catalog::PartRole;

use super::operand::OperandWeights;
use super::stored::{Memory, Stored};
use crate::ConvertError;
use crate::placing::unpermute;
use crate::weights::Weights;

/// The weight with its layout undone, and the bytes that the kernel is given.
pub(super) fn read(
    weights: Weights<'_>,
    operand: &OperandWeights,
) -> Result<(Stored, Memory), ConvertError> {
    let weight = &weights.catalog.weights[operand.members[0].weight];
    let whole = |role| -> Result<Vec<u8>, ConvertError> {
        let Some(tensor) = weight.part(role) else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; weights.tensor_len(tensor)];
        weights.read_tensor(tensor, 0, &mut bytes)?;
        Ok(bytes)
    };
    let globals = (0..operand.matrices).map(|matrix| weights.read_global(weight, matrix));
    let globals = globals.collect::<Result<Vec<f32>, _>>()?;
    let memory = Memory {
        codes: whole(PartRole::Codes)?,
        scales: whole(PartRole::BlockScale)?,
        globals: globals.clone(),
    };
    let (codes, scales) = unpermute(weight, &operand.format, &memory.codes, &memory.scales)?;
    let stored = Stored {
        kernel: operand.kernel,
        format: operand.format,
        matrices: operand.matrices,
        members: 1,
        member: operand.shape,
        codes,
        scales,
        globals,
    };
    Ok((stored, memory))
}
