//! AWQ, GPTQ, ModelOpt and compressed-tensors integers: numbers worked out by hand, whole weights
//! through the core's own encoder, and files that contradict themselves.

use blockscale::format::{ScaleElement, Shape};
use blockscale::int::{IntFormat, IntLayout, IntParts, IntPartsMut, IntRule, decode_rows, encode};
use blockscale_convert::ConvertError;
use blockscale_model::Dtype;
use blockscale_model::catalog::{Encoding, ScaleProblem};
use blockscale_model::recipe::{Target, generic};
use serde_json::{Value, json};

use crate::support::{NewTensor, Opened, f32_bytes, folder, noise};

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn open(config: &Value, tensors: &[NewTensor]) -> (Opened, tempfile::TempDir) {
    let dir = folder(config, tensors);
    (Opened::new(dir.path()), dir)
}

fn awq(group_size: i64) -> Value {
    json!({ "quantization_config": {
        "quant_method": "awq", "bits": 4, "group_size": group_size, "version": "gemm",
        "zero_point": true,
    } })
}

fn gptq(form: Option<&str>) -> Value {
    let mut config = json!({ "quantization_config": {
        "quant_method": "gptq", "bits": 4, "group_size": -1,
    } });
    if let Some(form) = form {
        config["quantization_config"]["checkpoint_format"] = json!(form);
    }
    config
}

/// One column of eight rows, `q` 0 to 7 in AWQ's order, zero point 1, scale 0.5.
fn awq_tensors() -> Vec<NewTensor> {
    let halves: Vec<f32> = vec![0.5; 8];
    vec![
        NewTensor::new("a.qweight", Dtype::I32, &[1, 1], words(&[0x7531_6420])),
        NewTensor::new("a.qzeros", Dtype::I32, &[1, 1], words(&[0x1111_1111])),
        NewTensor::new("a.scales", Dtype::F32, &[1, 8], f32_bytes(&halves)),
    ]
}

/// Eight columns of one row, `q` 0 to 7, the zero point stored as 2.
fn gptq_tensors() -> Vec<NewTensor> {
    let index: Vec<u32> = vec![0; 8];
    vec![
        NewTensor::new("a.qweight", Dtype::I32, &[1, 1], words(&[0x7654_3210])),
        NewTensor::new("a.qzeros", Dtype::I32, &[1, 1], words(&[2])),
        NewTensor::new("a.scales", Dtype::F32, &[1, 1], f32_bytes(&[2.0])),
        NewTensor::new("a.g_idx", Dtype::I32, &[8], words(&index)),
    ]
}

#[test]
fn awq_takes_rows_out_of_a_word_in_its_own_order() {
    let (opened, _dir) = open(&awq(-1), &awq_tensors());
    assert_eq!(opened.catalog.refusals, []);
    assert_eq!(opened.catalog.weight("a.weight").unwrap().shape, [8, 1]);
    let expected = [-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0];
    assert_eq!(opened.decode("a.weight"), expected);
}

#[test]
fn gptq_zero_points_are_stored_less_one_but_not_in_v2() {
    for (form, zero) in [(None, 3.0), (Some("gptq"), 3.0), (Some("gptq_v2"), 2.0)] {
        let mut tensors = gptq_tensors();
        // One row fills a word of zero points only in part.
        tensors[1].shape = vec![1, 1];
        let (opened, _dir) = open(&gptq(form), &tensors);
        let Some(weight) = opened.catalog.weight("a.weight") else {
            panic!("{form:?}: {:?}", opened.catalog.refusals);
        };
        assert_eq!(weight.shape, [1, 8]);
        let expected: Vec<f32> = (0..8).map(|q| (q as f32 - zero) * 2.0).collect();
        assert_eq!(opened.decode("a.weight"), expected, "{form:?}");
    }
}

#[test]
fn modelopt_int4_has_two_rows_in_a_byte_in_twos_complement() {
    let config = json!({ "quantization_config": {
        "quant_method": "modelopt", "quant_algo": "W4A16_AWQ", "group_size": 128,
    } });
    let scales = f32_bytes(&[1.0, 0.5]);
    let tensors = [
        // Row 0 is 1, -1; row 1 is -8, 7.
        NewTensor::new("a.weight", Dtype::U8, &[1, 2], vec![0x81, 0x7f]),
        NewTensor::new("a.weight_scale", Dtype::F32, &[2, 1], scales),
        NewTensor::new(
            "a.pre_quant_scale",
            Dtype::F32,
            &[2],
            f32_bytes(&[1.0, 2.0]),
        ),
    ];
    let (opened, _dir) = open(&config, &tensors);
    assert_eq!(opened.catalog.refusals, []);
    assert_eq!(opened.decode("a.weight"), [1.0, -1.0, -4.0, 3.5]);
    let codes: Vec<&str> = opened.catalog.findings.iter().map(|f| f.code).collect();
    assert_eq!(codes, ["activation-multiplier"]);
}

/// A weight of noise as a layout stores it, and its format.
fn encoded(layout: IntLayout, rule: IntRule, shape: Shape) -> (IntFormat, [Vec<u8>; 3], Vec<f32>) {
    let format = IntFormat {
        bits: 4,
        group_cols: 32,
        scale: ScaleElement::F16,
        layout,
    };
    let values = noise(3, shape.rows * shape.cols);
    let mut codes = vec![0; format.code_bytes(shape).unwrap()];
    let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
    let mut zeros = vec![0; format.zero_bytes(shape).unwrap()];
    let parts = IntPartsMut {
        codes: &mut codes,
        scales: &mut scales,
        zeros: Some(&mut zeros),
    };
    encode(&format, rule, shape, &values, parts).unwrap();
    let mut decoded = vec![0.0; values.len()];
    let parts = IntParts {
        codes: &codes,
        scales: &scales,
        zeros: Some(&zeros),
        groups: None,
    };
    decode_rows(&format, shape, parts, 0..shape.rows, &mut decoded).unwrap();
    (format, [codes, scales, zeros], decoded)
}

/// AWQ and GPTQ weights of 72 x 96, the columns in three groups.
fn column_major() -> Vec<(Value, Vec<NewTensor>, IntFormat, Vec<f32>)> {
    let shape = Shape::new(72, 96);
    let layouts = [
        (IntLayout::AwqGemm, awq(32), [96, 9]),
        (IntLayout::Gptq, gptq(Some("gptq")), [12, 72]),
        (IntLayout::GptqV2, gptq(Some("gptq_v2")), [12, 72]),
    ];
    let weights = layouts
        .into_iter()
        .map(|(layout, mut config, codes_shape)| {
            config["quantization_config"]["group_size"] = json!(32);
            let (format, [codes, scales, zeros], values) = encoded(layout, IntRule::Affine, shape);
            let tensors = vec![
                NewTensor::new("a.qweight", Dtype::I32, &codes_shape, codes),
                NewTensor::new("a.qzeros", Dtype::I32, &[3, 9], zeros),
                NewTensor::new("a.scales", Dtype::F16, &[3, 72], scales),
            ];
            (config, tensors, format, values)
        });
    weights.collect()
}

#[test]
fn runs_of_rows_come_out_of_column_major_layouts() {
    for (config, tensors, format, values) in column_major() {
        let (opened, _dir) = open(&config, &tensors);
        let weight = opened.catalog.weight("a.weight").unwrap();
        assert_eq!(weight.encoding, Encoding::Grouped(format));
        assert_eq!(opened.weights().run_alignment(0), 32);
        assert_eq!(
            opened.decode_runs(0, 32).unwrap(),
            values,
            "{}",
            weight.encoding
        );
        assert_eq!(opened.decode("a.weight"), values, "{}", weight.encoding);
    }
}

#[test]
fn integers_convert_to_every_format_and_verify() {
    for (config, tensors, format, _) in column_major() {
        let (opened, _dir) = open(&config, &tensors);
        for target in [
            Target::Bf16,
            Target::F32,
            Target::Nvfp4,
            Target::Mxfp4,
            Target::Mxfp8,
            Target::Fp8Block,
            Target::Fp8Channel,
        ] {
            let out = tempfile::tempdir().unwrap();
            let recipe = generic(target, Vec::new(), Vec::new());
            let report = opened.verify(&opened.converted(&recipe, out.path()));
            assert!(
                report.passed(),
                "{} to {target}: {:?}",
                format.layout,
                report.failures
            );
            assert_eq!(report.weights.len(), 1, "{target}");
        }
    }
}

#[test]
fn sorted_columns_take_the_group_that_the_index_names() {
    let shape = Shape::new(8, 64);
    let (format, [codes, scales, zeros], _) = encoded(IntLayout::Gptq, IntRule::Affine, shape);
    let index: Vec<u32> = (0..64).map(|col| 1 - col / 32).collect();
    let mut config = gptq(Some("gptq"));
    config["quantization_config"]["group_size"] = json!(32);
    let tensors = [
        NewTensor::new("a.qweight", Dtype::I32, &[8, 8], codes.clone()),
        NewTensor::new("a.qzeros", Dtype::I32, &[2, 1], zeros.clone()),
        NewTensor::new("a.scales", Dtype::F16, &[2, 8], scales.clone()),
        NewTensor::new("a.g_idx", Dtype::I32, &[64], words(&index)),
    ];
    let (opened, _dir) = open(&config, &tensors);
    let mut swapped = scales[16..].to_vec();
    swapped.extend(&scales[..16]);
    let swapped_zeros: Vec<u8> = [&zeros[4..], &zeros[..4]].concat();
    let parts = IntParts {
        codes: &codes,
        scales: &swapped,
        zeros: Some(&swapped_zeros),
        groups: None,
    };
    let mut expected = vec![0.0; 8 * 64];
    decode_rows(&format, shape, parts, 0..8, &mut expected).unwrap();
    assert_eq!(opened.decode("a.weight"), expected);
}

fn refusal(config: &Value, tensors: &[NewTensor]) -> (ScaleProblem, String) {
    let (opened, _dir) = open(config, tensors);
    let [refusal] = opened.catalog.refusals.as_slice() else {
        panic!("{:?}", opened.catalog);
    };
    (refusal.problem.clone(), refusal.to_string())
}

#[test]
fn config_that_contradicts_the_tensors_is_refused_with_both_named() {
    let mut bits = awq(-1);
    bits["quantization_config"]["bits"] = json!(8);
    let (problem, text) = refusal(&bits, &awq_tensors());
    assert!(
        matches!(problem, ScaleProblem::Disagrees { key: "bits", .. }),
        "{text}"
    );
    assert!(
        text.contains("`bits` is 8") && text.contains("have 4"),
        "{text}"
    );

    let (problem, text) = refusal(&gptq(None), &awq_tensors());
    let method = "quant_method";
    assert!(
        matches!(problem, ScaleProblem::Disagrees { key, .. } if key == method),
        "{text}"
    );

    let mut groups = awq_tensors();
    groups[2].shape = vec![2, 4];
    let (_, text) = refusal(&awq(128), &groups);
    assert!(text.contains("a.qweight"), "{text}");
}

#[test]
fn what_neither_tensors_nor_config_say_is_asked_for() {
    let (problem, text) = refusal(&json!({}), &gptq_tensors());
    assert!(matches!(problem, ScaleProblem::Unsaid { .. }), "{text}");
    assert!(text.contains("checkpoint_format"), "{text}");

    let packed = [
        NewTensor::new("a.weight_packed", Dtype::I32, &[1, 1], words(&[0])),
        NewTensor::new("a.weight_scale", Dtype::F32, &[1, 1], f32_bytes(&[1.0])),
    ];
    let (problem, text) = refusal(&json!({}), &packed);
    assert!(matches!(problem, ScaleProblem::Unsaid { .. }), "{text}");
    assert!(text.contains("num_bits"), "{text}");
}

#[test]
fn forms_without_a_reader_are_refused_by_name() {
    let mut gemv = awq(-1);
    gemv["quantization_config"]["version"] = json!("gemv");
    for (config, tensors, name) in [
        (gemv, awq_tensors(), "gemv"),
        (gptq(Some("marlin")), gptq_tensors(), "marlin"),
    ] {
        let (problem, text) = refusal(&config, &tensors);
        assert!(matches!(problem, ScaleProblem::NotRead { .. }), "{text}");
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn stated_shape_has_to_be_that_of_the_tensors() {
    let config = json!({ "quantization_config": {
        "quant_method": "compressed-tensors", "format": "pack-quantized",
        "config_groups": { "group_0": {
            "targets": ["Linear"],
            "weights": { "num_bits": 4, "type": "int", "strategy": "channel", "group_size": null },
        } },
    } });
    let tensors = |cols: i64| {
        let shape = [1_i64, cols].map(i64::to_le_bytes).concat();
        [
            NewTensor::new(
                "a.weight_packed",
                Dtype::I32,
                &[1, 1],
                words(&[0x7654_3210]),
            ),
            NewTensor::new("a.weight_scale", Dtype::F32, &[1, 1], f32_bytes(&[0.5])),
            NewTensor::new("a.weight_shape", Dtype::I64, &[2], shape),
        ]
    };
    let (opened, _dir) = open(&config, &tensors(8));
    let expected = [-4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5];
    assert_eq!(opened.decode("a.weight"), expected);
    let (opened, _dir) = open(&config, &tensors(7));
    let error = opened.try_decode("a.weight").unwrap_err();
    assert!(matches!(error, ConvertError::StatedShape { .. }), "{error}");
}
