//! What is said of a checkpoint and of its weights, as JavaScript has it.

use std::collections::HashMap;

use blockscale::ggml::GgmlType;
use blockscale::{ScaleElement, Shape};
use blockscale_model::Finding;
use blockscale_model::catalog::{Encoding, Weight};
use blockscale_model::dialect::Dialect;
use blockscale_model::doctor::{Doctor, Evidence, Subject};
use blockscale_model::interpret::nibble_orders;
use serde_json::{Value, json};

use crate::Checkpoint;
use crate::checkpoint::shape_of;
use crate::region::global_word;

impl Checkpoint {
    pub(crate) fn summary_json(&self) -> Value {
        let shards = self.checkpoint.shards.iter();
        let shards: Vec<Value> = shards
            .map(|shard| json!({ "name": shard.name.as_str(), "bytes": shard.len }))
            .collect();
        // What a scale is missing for may have it in a shard that was not read.
        let all = self.catalog.refusals.iter();
        let (refusals, undecided): (Vec<String>, Vec<String>) = match self.is_whole() {
            true => (all.map(ToString::to_string).collect(), Vec::new()),
            false => (
                Vec::new(),
                all.map(|refusal| refusal.tensor.clone()).collect(),
            ),
        };
        let shards_with_headers = self.checkpoint.shards.iter();
        let too_wide = shards_with_headers.flat_map(|shard| &shard.header.too_wide);
        let too_wide: Vec<&String> = too_wide.collect();
        json!({
            "modelType": self.checkpoint.model_type(),
            "dialect": Dialect::announced(&self.checkpoint).map(Dialect::name),
            "shards": shards,
            "tensors": self.checkpoint.tensors.len(),
            "tensorBytes": self.checkpoint.total_bytes(),
            "weights": self.catalog.weights.len(),
            "refusals": refusals,
            "undecided": undecided,
            "tooWide": too_wide,
            "unreadShards": self.checkpoint.unread_shards,
            "config": self.checkpoint.config,
            "hfQuantConfig": self.checkpoint.hf_quant_config,
        })
    }

    pub(crate) fn weight_json(&self, index: usize) -> Option<Value> {
        let weight = self.catalog.weights.get(index)?;
        let parts = weight.parts.iter().map(|part| {
            let raw = &self.checkpoint.tensors[part.tensor];
            json!({
                "role": part.role,
                "name": raw.name,
                "dtype": raw.dtype.to_string(),
                "shape": raw.shape,
                "file": self.checkpoint.shards[raw.shard].name.as_str(),
                "start": raw.range.start,
                "end": raw.range.end,
            })
        });
        let (matrices, shape) = shape_of(weight);
        let format = weight.encoding.format();
        let plane = scale_plane(&weight.encoding, shape);
        Some(json!({
            "name": weight.name,
            "format": weight.encoding.to_string(),
            "element": format.map(|format| format.element.name()),
            "layout": weight.layout.name(),
            "global": format.map(|format| global_word(format.global)),
            "packedNibbles": nibble_orders_of(weight) > 1,
            "settled": self.checkpoint.is_settled(weight),
            "shape": weight.shape,
            "matrices": matrices,
            "rows": shape.rows,
            "cols": shape.cols,
            "scalePlane": plane,
            "parts": parts.collect::<Vec<_>>(),
        }))
    }

    fn is_whole(&self) -> bool {
        self.checkpoint.unread_shards.is_empty()
    }

    /// How many findings there are of each weight, by the names of its parts.
    pub(crate) fn finding_counts_of(&self, findings: &[Value]) -> Vec<u32> {
        let mut counts = vec![0; self.catalog.weights.len()];
        let weights = self.catalog.weights.iter().enumerate();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        for (index, weight) in weights {
            by_name.insert(&weight.name, index);
            for part in &weight.parts {
                by_name.insert(&self.checkpoint.tensors[part.tensor].name, index);
            }
        }
        for tensor in findings.iter().filter_map(|f| f["tensor"].as_str()) {
            if let Some(&index) = by_name.get(tensor) {
                counts[index] += 1;
            }
        }
        counts
    }

    /// What the doctor finds with that evidence; of a checkpoint of which shards are unread nothing,
    /// for what is missing may be there.
    pub(crate) fn findings_with(&self, evidence: Vec<Option<Evidence>>) -> Vec<Value> {
        if !self.is_whole() {
            return Vec::new();
        }
        let plain = |finding: &Finding| {
            json!({
                "severity": finding.severity,
                "code": finding.code,
                "file": finding.file,
                "tensor": finding.tensor,
                "message": finding.message,
                "fix": Value::Null,
            })
        };
        let subject = Subject::new(&self.checkpoint, &self.catalog).with_evidence(evidence);
        let diagnosed = Doctor::default().examine(&subject);
        let diagnosed = diagnosed.iter().map(|diagnosis| {
            json!({
                "severity": diagnosis.severity,
                "code": diagnosis.rule.code,
                "file": diagnosis.file,
                "tensor": diagnosis.tensor,
                "message": diagnosis.message,
                "fix": diagnosis.fix("PATH"),
            })
        });
        // What a rule is about is said by its diagnosis.
        let findings = self
            .checkpoint
            .findings
            .iter()
            .chain(&self.catalog.findings);
        let unruled = findings
            .filter(|finding| finding.rule().is_none())
            .map(plain);
        diagnosed.chain(unruled).collect()
    }
}

/// The plane of scales of a matrix, whatever holds them.
fn scale_plane(encoding: &Encoding, shape: Shape) -> Option<Value> {
    let (plane, element, block_rows, block_cols) = match encoding {
        Encoding::Plain(_) => return None,
        Encoding::Block(format) => (
            format.scale_shape(shape),
            format.scale.name(),
            format.block_rows(shape.rows),
            format.block_cols(shape.cols),
        ),
        Encoding::Grouped(format) => {
            let cols = match format.group_cols {
                0 => shape.cols,
                cols => cols,
            };
            let plane = Shape::new(shape.rows, format.groups(shape.cols));
            (plane, format.scale.name(), 1, cols)
        }
        Encoding::Ggml(kind) => {
            let cols = kind.scale_cols()?;
            let element = match kind {
                GgmlType::Mxfp4 => ScaleElement::E8m0Fnu.name(),
                GgmlType::Nvfp4 => "UE4M3",
                _ => ScaleElement::F16.name(),
            };
            (Shape::new(shape.rows, shape.cols / cols), element, 1, cols)
        }
    };
    Some(json!({
        "rows": plane.rows,
        "cols": plane.cols,
        "element": element,
        "blockRows": block_rows,
        "blockCols": block_cols,
        // Scales in groups and blocks are read with their codes: `pieces` and `see`.
        "needsCodes": !matches!(encoding, Encoding::Block(_)),
    }))
}

/// Orders of nibbles that the bytes of a weight may be in.
fn nibble_orders_of(weight: &Weight) -> usize {
    weight
        .encoding
        .format()
        .map_or(1, |format| nibble_orders(format).len())
}
