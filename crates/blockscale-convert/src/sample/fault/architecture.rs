//! Tensors that the architecture does not have so.

use blockscale_model::deepseek_v4::{Layer, NativeName, Part};
use serde_json::json;

use super::super::tensors::Tensor;
use super::config::edit;
use super::recode::{WQ_B, change, find, part, renamed};
use super::{Fault, How};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "tensor-missing",
        rule: "BS070",
        how: &[How::Tensors(|tensors| {
            let before = tensors.len();
            tensors.retain(|t| t.weight != part(Part::AttnSink));
            tensors.len() < before
        })],
    },
    Fault {
        name: "tensor-unknown",
        rule: "BS071",
        how: &[How::Tensors(|tensors| {
            let Some(norm) = find(tensors, part(Part::AttnNorm), ".weight") else {
                return false;
            };
            let name = norm
                .entry
                .name
                .replace("norm.weight", "norm_of_another_model.weight");
            let copy = renamed(norm, name);
            tensors.push(copy);
            true
        })],
    },
    Fault {
        name: "tensor-misshapen",
        rule: "BS072",
        how: &[How::Tensors(|tensors| {
            change(tensors, part(Part::QNorm), ".weight", |norm| {
                norm.bytes.truncate(norm.bytes.len() / 2);
                norm.entry.shape[0] /= 2;
            })
        })],
    },
    Fault {
        name: "compressor-for-indexer",
        rule: "BS073",
        how: &[How::Tensors(exchange_compressors)],
    },
    Fault {
        name: "layer-too-many",
        rule: "BS074",
        how: &[How::Documents(|documents| {
            edit(documents, |config| {
                let layers = config["num_hidden_layers"].as_u64().unwrap_or(0);
                config["num_hidden_layers"] = json!(layers + 1);
            })
        })],
    },
    Fault {
        name: "dimension-missing",
        rule: "BS075",
        how: &[How::Documents(|documents| {
            edit(documents, |config| {
                if let Some(config) = config.as_object_mut() {
                    config.remove("head_dim");
                }
            })
        })],
    },
];

/// The main compressor of layer 2 under the names of the indexer's, and the reverse.
fn exchange_compressors(tensors: &mut Vec<Tensor>) -> bool {
    let of = |part| NativeName {
        layer: Layer::Main(2),
        part,
        ..WQ_B
    };
    let (main, indexer) = (of(Part::CompressorWgate), of(Part::IndexerWgate));
    let name = |tensors: &mut Vec<Tensor>, weight| {
        let codes = find(tensors, weight, ".weight")?;
        Some(codes.entry.name.trim_end_matches(".weight").to_owned())
    };
    let (Some(of_main), Some(of_indexer)) = (name(tensors, main), name(tensors, indexer)) else {
        return false;
    };
    for tensor in tensors.iter_mut() {
        let (from, to) = match tensor.weight {
            weight if weight == main => (&of_main, &of_indexer),
            weight if weight == indexer => (&of_indexer, &of_main),
            _ => continue,
        };
        if let Some(suffix) = tensor.entry.name.strip_prefix(from.as_str()) {
            tensor.entry.name = format!("{to}{suffix}");
        }
    }
    true
}
