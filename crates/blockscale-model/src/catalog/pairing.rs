//! Which tensors belong together, by name.

mod integers;
mod notices;

use std::collections::{HashMap, HashSet};

use blockscale::format::{GlobalScale, Packing};
use blockscale::layout::ScaleLayout;
use safetensors::Dtype;

use super::format_of::{Evidence, Facts, GlobalFacts, format_of, may_hold_codes, needs_scale};
use super::problem::ScaleProblem;
use super::quant_config::QuantConfig;
use super::torchao::{self, Described};
use super::weight::{Encoding, Part, PartRole, TensorId, Weight};
use super::{Catalog, Refusal, baked};
use crate::checkpoint::{Checkpoint, RawTensor};
use crate::dialect::{Dialect, SPELLINGS, Spelling};
use crate::finding::{Finding, Severity};

pub(super) fn pair(checkpoint: &Checkpoint, config: &QuantConfig) -> Catalog {
    let mut pairing = Pairing {
        checkpoint,
        config,
        announced: Dialect::announced(checkpoint),
        torchao: torchao::described(checkpoint),
        claimed: HashSet::new(),
        refused: HashSet::new(),
        found: Vec::new(),
        refusals: Vec::new(),
    };
    pairing.take_baked();
    for id in 0..checkpoint.tensors.len() {
        pairing.pair_module(id);
    }
    pairing.finish()
}

struct Pairing<'a> {
    checkpoint: &'a Checkpoint,
    config: &'a QuantConfig,
    announced: Option<Dialect>,
    torchao: HashMap<String, Described>,
    claimed: HashSet<TensorId>,
    refused: HashSet<TensorId>,
    found: Vec<Weight>,
    refusals: Vec<Refusal>,
}

impl Pairing<'_> {
    /// Weights in a runtime's layout go by what the file's metadata says of them.
    fn take_baked(&mut self) {
        for (codes, result) in baked::weights(self.checkpoint) {
            match result {
                Ok(weight) => {
                    self.claimed.extend(weight.parts.iter().map(|p| p.tensor));
                    self.found.push(weight);
                }
                Err(problem) => {
                    self.refused.insert(codes);
                    self.refuse(codes, problem);
                }
            }
        }
    }

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
        if self.claimed.contains(&id)
            || self.refused.contains(&id)
            || raw.bytes() == 0
            || self.pair_integers(id)
            || !may_hold_codes(raw.dtype)
        {
            return;
        }
        for spelling in SPELLINGS {
            let Some(module) = raw.name.strip_suffix(spelling.codes) else {
                continue;
            };
            let scales = self.siblings(module, spelling.scales);
            // Bytes without a scale are codes only where a name or the config says so,
            // and a name without a suffix says nothing.
            let unsaid = spelling.codes.is_empty()
                || (!needs_scale(raw.dtype) && !self.says_fp4(raw, spelling));
            if scales.is_empty() && unsaid {
                continue;
            }
            match self.resolve(id, module, spelling, &scales) {
                Ok(weight) => {
                    self.claimed.extend(weight.parts.iter().map(|p| p.tensor));
                    self.found.push(weight);
                }
                Err(problem) => {
                    let globals = spelling.globals.iter().map(|(suffix, _)| *suffix);
                    let others: Vec<&str> =
                        globals.chain(spelling.inputs.iter().copied()).collect();
                    self.refused.insert(id);
                    self.refused.extend(scales);
                    self.refused.extend(self.siblings(module, &others));
                    self.refuse(id, problem);
                }
            }
            return;
        }
    }

    /// Bytes under this name are FP4 codes even where no scale stands beside them.
    fn says_fp4(&self, raw: &RawTensor, spelling: &Spelling) -> bool {
        matches!(raw.dtype, Dtype::U8 | Dtype::I8)
            && (spelling.codes == ".weight_packed"
                || (spelling.codes == ".weight" && self.config.has_fp4))
    }

    fn resolve(
        &self,
        codes: TensorId,
        module: &str,
        spelling: &Spelling,
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
                    looked_for: names(spelling.scales),
                });
            }
            _ => return Err(self.contradicting(scales.iter().copied())),
        };
        let globals: Vec<(TensorId, GlobalScale)> = spelling
            .globals
            .iter()
            .filter_map(|&(suffix, kind)| Some((self.sibling(module, suffix)?, kind)))
            .collect();
        if globals.len() > 1 {
            return Err(self.contradicting(globals.iter().map(|&(id, _)| id)));
        }
        let global = globals.first().copied();
        let global_names: Vec<&str> = spelling.globals.iter().map(|&(suffix, _)| suffix).collect();
        let name = spelling.weight_name(module);
        let described = self.torchao.get(&name).filter(|_| spelling.is_torchao());
        if let Some(kind) = described.and_then(|d| d.unread.as_ref()) {
            return Err(ScaleProblem::NotRead {
                what: format!("torchao's `{kind}`"),
                instead: "quantise to NVFP4Tensor, MXTensor or Float8Tensor",
            });
        }
        let tiled = described.is_some_and(|d| d.tiled);
        let (format, shape) = format_of(&Evidence {
            codes: self.facts(codes),
            scale: self.facts(scale),
            global: global.map(|(id, kind)| GlobalFacts {
                tensor: self.facts(id),
                kind,
            }),
            globals_looked_for: &names(&global_names),
            global_is_optional: spelling.is_torchao() || self.announced == Some(Dialect::Mlx),
            config_block: described.map_or(self.config.block, |d| d.grid(&self.raw(codes).shape)),
            six_bit: described.map_or(self.config.six_bit, |d| d.six_bit),
            packing: match spelling.is_torchao() {
                true => Packing::Bytes,
                false => Packing::Dense,
            },
            tiled,
        })?;
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
        for tensor in self.siblings(module, spelling.inputs) {
            parts.push(Part {
                role: PartRole::InputScale,
                tensor,
            });
        }
        Ok(Weight {
            layout: match tiled {
                true => ScaleLayout::Tiles128x4,
                false => ScaleLayout::Linear,
            },
            ..Weight::new(name, shape, Encoding::Block(format), parts)
        })
    }

    fn contradicting(&self, scales: impl Iterator<Item = TensorId>) -> ScaleProblem {
        ScaleProblem::Contradicting {
            scales: scales.map(|id| self.raw(id).name.clone()).collect(),
        }
    }

    fn sibling(&self, module: &str, suffix: &str) -> Option<TensorId> {
        self.checkpoint.position(&format!("{module}{suffix}"))
    }

    fn siblings(&self, module: &str, suffixes: &[&str]) -> Vec<TensorId> {
        suffixes
            .iter()
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
            let codes = Part {
                role: PartRole::Codes,
                tensor: id,
            };
            let encoding = Encoding::Plain(raw.dtype);
            let (name, shape) = (raw.name.clone(), raw.shape.clone());
            self.found
                .push(Weight::new(name, shape, encoding, vec![codes]));
        }
        findings.extend(self.notices());
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
        let sure = [
            ".weight_scale",
            ".weight_scale_inv",
            ".weight_scale_2",
            ".weight_global_scale",
        ];
        let module = sure
            .iter()
            .find_map(|s| raw.name.strip_suffix(s))
            .or_else(|| {
                let exponents = raw.dtype == Dtype::F8_E8M0;
                exponents.then(|| raw.name.strip_suffix(".scale")).flatten()
            })?;
        Some(format!("{module}.weight"))
    }
}

/// Every name under which the scale of FP8 codes would have been taken.
fn scale_names(codes: &str) -> Vec<String> {
    SPELLINGS
        .iter()
        .filter_map(|spelling| Some((spelling, codes.strip_suffix(spelling.codes)?)))
        .find(|(spelling, _)| !spelling.scales.is_empty())
        .map(|(spelling, module)| {
            spelling
                .scales
                .iter()
                .map(|s| format!("{module}{s}"))
                .collect()
        })
        .unwrap_or_default()
}
