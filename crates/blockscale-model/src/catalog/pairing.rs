//! Which tensors belong together, by name.

use std::collections::HashSet;

use blockscale::format::GlobalScale;

use super::format_of::{Facts, GlobalFacts, ScaleProblem, format_of, may_hold_codes, needs_scale};
use super::quant_config::QuantConfig;
use super::weight::{Encoding, Part, PartRole, TensorId, Weight};
use super::{Catalog, Refusal};
use crate::checkpoint::{Checkpoint, RawTensor};
use crate::finding::{Finding, Severity};

/// Spellings of a block scale, as appended to the module name. All multiply,
/// `weight_scale_inv` included.
const BLOCK_SCALES: [&str; 3] = [".weight_scale", ".weight_scale_inv", ".scale"];

/// Spellings of a second-level scale, and how each is applied.
const GLOBAL_SCALES: [(&str, GlobalScale); 2] = [
    (".weight_scale_2", GlobalScale::Multiplier),
    (".weight_global_scale", GlobalScale::Divisor),
];

/// Spellings of an activation scale.
const INPUT_SCALES: [&str; 2] = [".input_scale", ".input_global_scale"];

/// Suffixes of tensors that hold codes.
const CODES: [&str; 2] = [".weight", ".weight_packed"];

pub(super) fn pair(checkpoint: &Checkpoint, config: &QuantConfig) -> Catalog {
    let mut pairing = Pairing {
        checkpoint,
        config,
        claimed: HashSet::new(),
        refused: HashSet::new(),
        found: Vec::new(),
        refusals: Vec::new(),
    };
    for id in 0..checkpoint.tensors.len() {
        pairing.pair_module(id);
    }
    pairing.finish()
}

struct Pairing<'a> {
    checkpoint: &'a Checkpoint,
    config: &'a QuantConfig,
    claimed: HashSet<TensorId>,
    refused: HashSet<TensorId>,
    found: Vec<Weight>,
    refusals: Vec<Refusal>,
}

impl Pairing<'_> {
    fn raw(&self, id: TensorId) -> &RawTensor {
        &self.checkpoint.tensors[id]
    }

    fn facts(&self, id: TensorId) -> Facts<'_> {
        let raw = self.raw(id);
        Facts {
            name: &raw.name,
            dtype: raw.dtype,
            shape: &raw.shape,
        }
    }

    /// Pairs the codes `id` with the scales beside them, if it holds codes.
    fn pair_module(&mut self, id: TensorId) {
        let checkpoint = self.checkpoint;
        let raw = &checkpoint.tensors[id];
        let Some(module) = CODES
            .iter()
            .find_map(|suffix| raw.name.strip_suffix(suffix))
        else {
            return;
        };
        if !may_hold_codes(raw.dtype) || raw.bytes() == 0 {
            return;
        }
        let scales: Vec<TensorId> = self.siblings(module, BLOCK_SCALES.iter().copied());
        let integers_alone = !needs_scale(raw.dtype) && !self.says_fp4(&raw.name);
        if scales.is_empty() && integers_alone {
            return;
        }
        match self.resolve(id, module, &scales) {
            Ok(weight) => {
                self.claimed.extend(weight.parts.iter().map(|p| p.tensor));
                self.found.push(weight);
            }
            Err(problem) => {
                self.refused.insert(id);
                let suffixes = GLOBAL_SCALES.map(|(suffix, _)| suffix);
                let others = suffixes.into_iter().chain(INPUT_SCALES);
                self.refused.extend(self.siblings(module, others));
                self.refused.extend(scales);
                self.refuse(id, problem);
            }
        }
    }

    /// Bytes under this name are FP4 codes even where no scale stands beside them.
    fn says_fp4(&self, name: &str) -> bool {
        name.ends_with(".weight_packed") || self.config.has_fp4
    }

    fn resolve(
        &self,
        codes: TensorId,
        module: &str,
        scales: &[TensorId],
    ) -> Result<Weight, ScaleProblem> {
        let names = |suffixes: &[&str]| -> Vec<String> {
            suffixes.iter().map(|s| format!("{module}{s}")).collect()
        };
        let scale = match *scales {
            [scale] => scale,
            [] => {
                return Err(ScaleProblem::Missing {
                    dtype: self.raw(codes).dtype,
                    looked_for: names(&BLOCK_SCALES),
                });
            }
            _ => {
                return Err(ScaleProblem::Contradicting {
                    scales: scales.iter().map(|&id| self.raw(id).name.clone()).collect(),
                });
            }
        };
        let globals: Vec<(TensorId, GlobalScale)> = GLOBAL_SCALES
            .iter()
            .filter_map(|&(suffix, kind)| Some((self.sibling(module, suffix)?, kind)))
            .collect();
        if globals.len() > 1 {
            return Err(ScaleProblem::Contradicting {
                scales: globals
                    .iter()
                    .map(|&(id, _)| self.raw(id).name.clone())
                    .collect(),
            });
        }
        let global = globals.first().copied();
        let (format, shape) = format_of(
            self.facts(codes),
            self.facts(scale),
            global.map(|(id, kind)| GlobalFacts {
                tensor: self.facts(id),
                kind,
            }),
            &names(&GLOBAL_SCALES.map(|(suffix, _)| suffix)),
            self.config.block,
        )?;
        let mut parts = vec![
            Part {
                role: PartRole::Codes,
                tensor: codes,
            },
            Part {
                role: PartRole::BlockScale,
                tensor: scale,
            },
        ];
        if let Some((tensor, _)) = global {
            parts.push(Part {
                role: PartRole::GlobalScale,
                tensor,
            });
        }
        for tensor in self.siblings(module, INPUT_SCALES.iter().copied()) {
            parts.push(Part {
                role: PartRole::InputScale,
                tensor,
            });
        }
        Ok(Weight {
            name: format!("{module}.weight"),
            shape,
            encoding: Encoding::Block(format),
            parts,
        })
    }

    fn sibling(&self, module: &str, suffix: &str) -> Option<TensorId> {
        self.checkpoint.position(&format!("{module}{suffix}"))
    }

    fn siblings<'s>(&self, module: &str, suffixes: impl Iterator<Item = &'s str>) -> Vec<TensorId> {
        suffixes
            .filter_map(|suffix| self.sibling(module, suffix))
            .collect()
    }

    fn refuse(&mut self, id: TensorId, problem: ScaleProblem) {
        let raw = self.raw(id);
        let refusal = Refusal {
            tensor: raw.name.clone(),
            file: self.checkpoint.shards[raw.shard].name.as_str().to_owned(),
            problem,
        };
        self.refusals.push(refusal);
    }

    /// Everything left over is a plain weight, a scale without a weight, or FP8
    /// under a name that no scale goes with.
    fn finish(mut self) -> Catalog {
        let mut findings = Vec::new();
        for id in 0..self.checkpoint.tensors.len() {
            if self.claimed.contains(&id) || self.refused.contains(&id) {
                continue;
            }
            let raw = &self.checkpoint.tensors[id];
            if let Some(missing) = self.orphan(raw) {
                findings.push(Finding {
                    severity: Severity::Warning,
                    code: "scale-without-weight",
                    file: Some(self.checkpoint.shards[raw.shard].name.as_str().to_owned()),
                    tensor: Some(raw.name.clone()),
                    message: format!(
                        "`{}` is a scale, but `{missing}` is absent or not quantised; copied as it is",
                        raw.name
                    ),
                });
            } else if needs_scale(raw.dtype) && raw.bytes() > 0 {
                self.refuse(
                    id,
                    ScaleProblem::Missing {
                        dtype: raw.dtype,
                        looked_for: scale_names(&raw.name),
                    },
                );
                continue;
            }
            self.found.push(Weight {
                name: raw.name.clone(),
                shape: raw.shape.clone(),
                encoding: Encoding::Plain(raw.dtype),
                parts: vec![Part {
                    role: PartRole::Codes,
                    tensor: id,
                }],
            });
        }
        self.found.sort_by_key(Weight::codes);
        Catalog {
            weights: self.found,
            refusals: self.refusals,
            findings,
            ..Catalog::default()
        }
    }

    /// The weight that `raw` would be a scale of, if its name says that it is a scale.
    ///
    /// `X.scale` alone proves nothing: hyper-connection modules have a learned
    /// weight of that name. Only E8M0, which no weight is stored in, tells.
    fn orphan(&self, raw: &RawTensor) -> Option<String> {
        let globals = GLOBAL_SCALES.map(|(suffix, _)| suffix);
        let sure = BLOCK_SCALES
            .iter()
            .chain(&globals)
            .filter(|&&s| s != ".scale");
        let mut suffixes: Vec<&str> = sure.copied().collect();
        if raw.dtype == safetensors::Dtype::F8_E8M0 {
            suffixes.push(".scale");
        }
        let module = suffixes.iter().find_map(|s| raw.name.strip_suffix(s))?;
        Some(format!("{module}.weight"))
    }
}

fn scale_names(codes: &str) -> Vec<String> {
    let module = super::weight::module_of(codes);
    BLOCK_SCALES
        .iter()
        .map(|s| format!("{module}{s}"))
        .collect()
}
