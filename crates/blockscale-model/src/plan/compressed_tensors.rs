//! The section by which compressed-tensors describes a checkpoint.

use blockscale::format::{Block, Element, Format, GlobalScale, ScaleElement};
use serde_json::{Map, Value, json};

use super::form::IntForm;

/// Version of the library whose fields these are.
const VERSION: &str = "0.19.0";

/// `quantization_config` for one block format.
pub(super) fn blocks(format: &Format, ignore: &[String]) -> Value {
    section(name(format), &weights(format), &activations(format), ignore)
}

/// `quantization_config` for integers in groups, which meet activations in the model's own type.
pub(super) fn integers(form: &IntForm, ignore: &[String]) -> Value {
    let IntForm {
        format,
        zeros,
        sorted,
    } = *form;
    let (strategy, group) = match format.group_cols {
        0 => ("channel", None),
        cols => ("group", Some(cols)),
    };
    let weights = json!({
        "num_bits": format.bits,
        "type": "int",
        "symmetric": !zeros,
        "strategy": strategy,
        "dynamic": false,
        "group_size": group,
        "actorder": sorted.then_some("group"),
    });
    section("pack-quantized", &weights, &Value::Null, ignore)
}

fn section(name: &str, weights: &Value, activations: &Value, ignore: &[String]) -> Value {
    json!({
        "config_groups": { "group_0": {
            "format": name,
            "input_activations": activations,
            "output_activations": null,
            "targets": ["Linear"],
            "weights": weights,
        } },
        "format": name,
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
