//! Tensors of integers in groups that belong together.

use super::Pairing;
use crate::catalog::grouped::{Evidence, FAMILIES, Names, int_format_of};
use crate::catalog::problem::ScaleProblem;
use crate::catalog::weight::{Encoding, Part, PartRole, TensorId, Weight};

impl Pairing<'_> {
    /// Pairs the codes `id` with what stands beside them, if they are integers in groups.
    pub(super) fn pair_integers(&mut self, id: TensorId) -> bool {
        let codes = self.facts(id);
        let spelled = FAMILIES.iter().find_map(|names| {
            let module = codes.name.strip_suffix(names.codes)?;
            let scales = self.sibling(module, names.scales).map(|id| self.facts(id));
            names
                .family
                .has(codes, scales)
                .then_some((names, module.to_owned()))
        });
        let Some((names, module)) = spelled else {
            return false;
        };
        match self.integers(id, &module, names) {
            Ok(weight) => {
                self.claimed.extend(weight.parts.iter().map(|p| p.tensor));
                self.found.push(weight);
            }
            Err(problem) => {
                let beside = [Some(names.scales), names.zeros, names.index, names.shape];
                let beside: Vec<&str> = beside.into_iter().flatten().collect();
                self.refused.insert(id);
                self.refused.extend(self.siblings(&module, &beside));
                self.refuse(id, problem);
            }
        }
        true
    }

    fn integers(
        &self,
        codes: TensorId,
        module: &str,
        names: &Names,
    ) -> Result<Weight, ScaleProblem> {
        let beside = |suffix: Option<&str>| self.sibling(module, suffix?);
        let scales = self.sibling(module, names.scales);
        let scales = scales.ok_or_else(|| ScaleProblem::Missing {
            dtype: self.raw(codes).dtype,
            looked_for: vec![format!("{module}{}", names.scales)],
        })?;
        let (zeros, index) = (beside(names.zeros), beside(names.index));
        let (format, shape) = int_format_of(&Evidence {
            family: names.family,
            module,
            codes: self.facts(codes),
            scales: self.facts(scales),
            zeros: zeros.map(|id| self.facts(id)),
            index: index.map(|id| self.facts(id)),
            method: self.config.method.as_deref(),
            config: &self.config.integers,
            groups: &self.config.integers.of_module(module),
        })?;
        let parts = [
            (PartRole::Codes, Some(codes)),
            (PartRole::BlockScale, Some(scales)),
            (PartRole::ZeroPoint, zeros),
            (PartRole::GroupIndex, index),
            (PartRole::StatedShape, beside(names.shape)),
        ];
        let part = |(role, tensor): (PartRole, Option<TensorId>)| {
            Some(Part {
                role,
                tensor: tensor?,
            })
        };
        Ok(Weight::new(
            format!("{module}.weight"),
            shape,
            Encoding::Grouped(format),
            parts.into_iter().filter_map(part).collect(),
        ))
    }
}
