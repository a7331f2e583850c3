//! The section by which compressed-tensors describes a checkpoint.

use blockscale::format::{Block, Element, Format, GlobalScale, ScaleElement};
use serde_json::{Map, Value, json};

/// Version of the library whose fields these are.
const VERSION: &str = "0.19.0";

/// `quantization_config` for one block format.
pub(super) fn section(format: &Format, ignore: &[String]) -> Value {
    json!({
        "config_groups": { "group_0": {
            "format": name(format),
            "input_activations": activations(format),
            "output_activations": null,
            "targets": ["Linear"],
            "weights": weights(format),
        } },
        "format": name(format),
        "global_compression_ratio": null,
        "ignore": ignore,
        "kv_cache_scheme": null,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
        "version": VERSION,
    })
}

fn name(format: &Format) -> &'static str {
    match (format.element, format.scale) {
        (Element::E2m1, ScaleElement::E8m0Fnu) => "mxfp4-pack-quantized",
        (Element::E2m1, _) => "nvfp4-pack-quantized",
        (_, ScaleElement::E8m0Fnu) => "mxfp8-quantized",
        _ => "float-quantized",
    }
}

/// The arguments of a quantised tensor that do not depend on whose it is.
fn arguments(format: &Format, strategy: &str) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("num_bits".to_owned(), json!(format.element.bits()));
    arguments.insert("type".to_owned(), json!("float"));
    arguments.insert("symmetric".to_owned(), json!(true));
    arguments.insert("strategy".to_owned(), json!(strategy));
    arguments
}

fn weights(format: &Format) -> Value {
    let (strategy, group) = match format.block {
        Block::Tensor => ("tensor", None),
        Block::Row => ("channel", None),
        Block::Grid { rows: 1, cols } if format.global == GlobalScale::None => {
            ("group", Some(cols))
        }
        Block::Grid { rows: 1, cols } => ("tensor_group", Some(cols)),
        Block::Grid { .. } => ("block", None),
    };
    let mut weights = arguments(format, strategy);
    weights.insert("dynamic".to_owned(), json!(false));
    weights.insert("group_size".to_owned(), json!(group));
    if let Block::Grid { rows, cols } = format.block
        && rows > 1
    {
        weights.insert("block_structure".to_owned(), json!([rows, cols]));
    }
    let scale = match format.scale {
        ScaleElement::E4m3Fn => json!("torch.float8_e4m3fn"),
        ScaleElement::E8m0Fnu => json!("torch.uint8"),
        _ => Value::Null,
    };
    weights.insert("scale_dtype".to_owned(), scale);
    Value::Object(weights)
}

/// FP8 weights meet activations in FP8, scaled as they come; FP4 weights are
/// quantised alone.
fn activations(format: &Format) -> Value {
    if format.element == Element::E2m1 {
        return Value::Null;
    }
    let mut activations = match format.block {
        Block::Grid { cols, .. } => {
            let mut group = arguments(format, "group");
            group.insert("group_size".to_owned(), json!(cols));
            group
        }
        _ => arguments(format, "token"),
    };
    activations.insert("dynamic".to_owned(), json!(true));
    Value::Object(activations)
}
