//! The sample checkpoint: what it promises, read back from its files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use blockscale_convert::sample::{
    SampleDialect, SampleError, SampleOptions, SampleReport, write_sample,
};
use blockscale_convert::source::{LocalSource, Source};
use blockscale_model::deepseek_v4::{DeepSeekV4, Detection, to_native};
use blockscale_model::{Checkpoint, Dtype, RawTensor};
use tempfile::TempDir;

struct Sample {
    dir: TempDir,
    report: SampleReport,
    checkpoint: Checkpoint,
    source: LocalSource,
}

impl Sample {
    fn write(dialect: SampleDialect, layers: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let report = write_sample(
            dir.path(),
            &SampleOptions {
                dialect,
                layers,
                seed: 7,
                ..SampleOptions::default()
            },
        )
        .unwrap();
        let (checkpoint, source) = LocalSource::open(dir.path()).unwrap();
        Self {
            dir,
            report,
            checkpoint,
            source,
        }
    }

    fn arch(&self) -> DeepSeekV4 {
        DeepSeekV4::from_config(self.checkpoint.config.as_ref().unwrap()).unwrap()
    }

    fn bytes(&self, tensor: &RawTensor) -> Vec<u8> {
        let mut bytes = vec![0; tensor.bytes() as usize];
        self.source
            .read_exact_at(tensor.shard, tensor.range.start, &mut bytes)
            .unwrap();
        bytes
    }

    fn bytes_of(&self, name: &str) -> Vec<u8> {
        let tensor = self.checkpoint.tensor(name);
        self.bytes(tensor.unwrap_or_else(|| panic!("no tensor {name}")))
    }

    fn scalar(&self, name: &str) -> f32 {
        f32::from_le_bytes(self.bytes_of(name).try_into().unwrap())
    }

    /// Packed weights with the names of their modules.
    fn quantized(&self) -> impl Iterator<Item = (&RawTensor, &str)> {
        let packed = self
            .checkpoint
            .tensors
            .iter()
            .filter(|t| t.dtype == Dtype::U8);
        packed.map(|t| (t, t.name.strip_suffix(".weight").unwrap()))
    }

    /// Weights (no scales) under their native names.
    fn weights(&self) -> BTreeMap<String, &RawTensor> {
        let tensors = self.checkpoint.tensors.iter();
        tensors
            .filter_map(|t| Some((to_native(&t.name)?.into_owned(), t)))
            .collect()
    }
}

fn files_of(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entry = |entry: fs::DirEntry| {
        (
            entry.file_name().into_string().unwrap(),
            fs::read(entry.path()).unwrap(),
        )
    };
    fs::read_dir(dir)
        .unwrap()
        .map(|found| entry(found.unwrap()))
        .collect()
}

#[test]
fn full_depth_has_the_counts_of_the_large_model_and_stays_small() {
    let sample = Sample::write(SampleDialect::Hf, 61);
    let pro = DeepSeekV4::pro();
    let arch = sample.arch();
    assert_eq!(arch.ratios, pro.ratios);
    let (small, large) = (arch.counts(), pro.counts());
    assert_eq!(small.wo_a, large.wo_a);
    assert_eq!(small.fused_modules, large.fused_modules);
    assert_eq!(small.main_compressors, large.main_compressors);
    assert_eq!(small.indexers, large.indexers);

    // 5 of attention, 3 shared and 9 expert linears a layer, 2 a compressor, 4 an indexer, and of
    // the MTP layer e_proj and h_proj beside its own 17.
    assert_eq!(sample.report.quantized, 61 * 17 + 61 * 2 + 30 * 4 + 17 + 2);
    assert_eq!(sample.quantized().count(), sample.report.quantized);
    assert_eq!(sample.report.tensors, sample.checkpoint.tensors.len());
    assert_eq!(sample.report.tensor_bytes, sample.checkpoint.total_bytes());
    assert_eq!(sample.report.shards.len(), 5);
    assert!(
        sample.report.tensor_bytes < 45_000_000,
        "{}",
        sample.report.tensor_bytes
    );
}

#[test]
fn names_and_shapes_are_those_of_the_architecture_in_both_dialects() {
    for dialect in [SampleDialect::Hf, SampleDialect::Native] {
        let sample = Sample::write(dialect, 4);
        let arch = sample.arch();
        let weights = sample.weights();
        assert!(
            weights.keys().cloned().eq(sorted(arch.tensor_names())),
            "{dialect:?}"
        );
        for (native, tensor) in weights {
            let mut logical = tensor.shape.clone();
            if tensor.dtype == Dtype::U8 {
                *logical.last_mut().unwrap() *= 2;
            }
            assert_eq!(
                arch.expected_shape(&native),
                Some(logical),
                "{}",
                tensor.name
            );
        }
    }
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn every_packed_weight_has_its_three_scales_and_nothing_else_has_one() {
    let sample = Sample::write(SampleDialect::Native, 3);
    let mut scales = 0;
    for (weight, module) in sample.quantized() {
        let scale = sample
            .checkpoint
            .tensor(&format!("{module}.weight_scale"))
            .unwrap();
        assert_eq!(scale.dtype, Dtype::F8_E4M3);
        assert_eq!(scale.shape, [weight.shape[0], weight.shape[1] / 8]);
        for suffix in ["weight_scale_2", "input_scale"] {
            let name = format!("{module}.{suffix}");
            assert!(sample.checkpoint.tensor(&name).unwrap().shape.is_empty());
            assert!(sample.scalar(&name) > 0.0, "{name}");
        }
        scales += 3;
    }
    let weights = sample.weights().len();
    assert_eq!(sample.checkpoint.tensors.len(), weights + scales);
}

#[test]
fn dtypes_are_those_that_each_kind_of_writer_has() {
    let hf = Sample::write(SampleDialect::Hf, 4);
    let native = Sample::write(SampleDialect::Native, 4);
    let expected = [
        ("layers.3.attn.wq_a.weight", Dtype::U8, Dtype::U8),
        (
            "layers.2.attn.indexer.weights_proj.weight",
            Dtype::U8,
            Dtype::U8,
        ),
        ("layers.3.ffn.experts.2.w2.weight", Dtype::U8, Dtype::U8),
        ("mtp.0.e_proj.weight", Dtype::U8, Dtype::U8),
        ("layers.3.attn.kv_norm.weight", Dtype::F32, Dtype::BF16),
        ("norm.weight", Dtype::F32, Dtype::BF16),
        ("layers.3.ffn.gate.weight", Dtype::BF16, Dtype::BF16),
        ("head.weight", Dtype::BF16, Dtype::BF16),
        ("embed.weight", Dtype::BF16, Dtype::BF16),
        ("layers.3.ffn.gate.bias", Dtype::F32, Dtype::F32),
        ("layers.2.attn.compressor.ape", Dtype::F32, Dtype::F32),
        ("layers.3.attn.attn_sink", Dtype::F32, Dtype::F32),
        ("layers.3.hc_attn_scale", Dtype::F32, Dtype::F32),
        ("layers.2.ffn.gate.tid2eid", Dtype::I64, Dtype::I64),
    ];
    for (name, in_hf, in_native) in expected {
        assert_eq!(hf.weights()[name].dtype, in_hf, "{name}");
        assert_eq!(native.weights()[name].dtype, in_native, "{name}");
    }
}

#[test]
fn dialects_hold_the_same_numbers() {
    let hf = Sample::write(SampleDialect::Hf, 3);
    let native = Sample::write(SampleDialect::Native, 3);
    let (in_hf, in_native) = (hf.weights(), native.weights());
    for (name, tensor) in &in_native {
        let spelled = in_hf[name];
        if tensor.dtype == spelled.dtype {
            assert_eq!(native.bytes(tensor), hf.bytes(spelled), "{name}");
        } else {
            // BF16 is the upper half of F32: norms in F32 must have nothing in the lower one.
            let narrow = native.bytes(tensor);
            let wide: Vec<u8> = narrow.chunks(2).flat_map(|b| [0, 0, b[0], b[1]]).collect();
            assert_eq!(wide, hf.bytes(spelled), "{name}");
        }
    }
    for (_, module) in native.quantized() {
        let spelled = &in_hf[&format!("{module}.weight")].name;
        let spelled = spelled.strip_suffix(".weight").unwrap();
        for suffix in ["weight_scale", "weight_scale_2", "input_scale"] {
            let here = native.bytes_of(&format!("{module}.{suffix}"));
            assert_eq!(
                here,
                hf.bytes_of(&format!("{spelled}.{suffix}")),
                "{module}.{suffix}"
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let of_seed = |seed| {
        let dir = tempfile::tempdir().unwrap();
        let options = SampleOptions {
            layers: 1,
            seed,
            ..SampleOptions::default()
        };
        write_sample(dir.path(), &options).unwrap();
        files_of(dir.path())
    };
    let first = of_seed(1);
    assert_eq!(first, of_seed(1));
    let other = of_seed(2);
    let differing: Vec<&String> = first
        .keys()
        .filter(|name| first[*name] != other[*name])
        .collect();
    assert_eq!(
        differing,
        [
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors"
        ]
    );
}

#[test]
fn tensor_bytes_are_the_same_on_every_machine() {
    let dir = tempfile::tempdir().unwrap();
    let options = SampleOptions {
        layers: 1,
        ..SampleOptions::default()
    };
    let report = write_sample(dir.path(), &options).unwrap();
    let mut hasher = blake3::Hasher::new();
    for shard in report.shards {
        hasher.update(&fs::read(dir.path().join(shard)).unwrap());
    }
    assert_eq!(
        hasher.finalize().to_hex().as_str(),
        "ecf124ffe55b0cf3e04b06494feb2c33cf7bd0a2cece2c4a060ff58ec41ca023"
    );
}

#[test]
fn block_scales_use_their_range_and_are_positive_and_finite() {
    let sample = Sample::write(SampleDialect::Native, 3);
    for (_, module) in sample.quantized() {
        let scales = sample.bytes_of(&format!("{module}.weight_scale"));
        let largest = *scales.iter().max().unwrap();
        // 0x7e is 448. `w1` and `w3` of an expert share a scale that only one of them fills.
        let shared = module.contains(".experts.") && !module.ends_with(".w2");
        let range = if shared { 0x60..=0x7e } else { 0x7e..=0x7e };
        assert!(range.contains(&largest), "{module}: {largest:#04x}");
        assert!(scales.iter().all(|scale| *scale > 0), "{module}");
        let distinct: std::collections::BTreeSet<_> = scales.iter().collect();
        assert!(
            distinct.len() > 8,
            "{module}: {} distinct scales",
            distinct.len()
        );
    }
}

#[test]
fn halves_of_compressors_differ_in_global_scale_and_gates_of_experts_share_it() {
    let sample = Sample::write(SampleDialect::Native, 3);
    let global = |module: &str| sample.scalar(&format!("{module}.weight_scale_2"));
    for compressor in [
        "layers.0.attn.compressor",
        "layers.2.attn.compressor",
        "layers.2.attn.indexer.compressor",
    ] {
        let halves = (
            global(&format!("{compressor}.wkv")),
            global(&format!("{compressor}.wgate")),
        );
        assert!(halves.1 > 1.2 * halves.0, "{compressor}: {halves:?}");
    }
    for expert in [
        "layers.0.ffn.experts.0",
        "layers.2.ffn.experts.2",
        "mtp.0.ffn.experts.1",
    ] {
        let (w1, w3) = (format!("{expert}.w1"), format!("{expert}.w3"));
        assert_eq!(global(&w1), global(&w3), "{expert}");
        let input = |module| sample.scalar(&format!("{module}.input_scale"));
        assert_eq!(input(w1), input(w3), "{expert}");
        assert_ne!(
            global(&format!("{expert}.w1")),
            global(&format!("{expert}.w2"))
        );
    }
}

#[test]
fn some_scales_lie_in_another_shard_than_their_weight() {
    let sample = Sample::write(SampleDialect::Hf, 4);
    let shard = |name: &str| sample.checkpoint.tensor(name).unwrap().shard;
    let mut apart = Vec::new();
    for (weight, module) in sample.quantized() {
        if shard(&format!("{module}.weight_scale")) != weight.shard {
            apart.push(module);
        }
    }
    assert!(
        apart.iter().any(|module| module.ends_with("o_a_proj")),
        "{apart:?}"
    );
    assert!(
        apart
            .iter()
            .any(|module| module.ends_with("compressor.kv_proj")),
        "{apart:?}"
    );
    assert!(
        apart.iter().any(|module| module.contains("experts.")),
        "{apart:?}"
    );
    assert!(apart.len() < sample.report.quantized / 2);
}

#[test]
fn tokens_are_routed_to_different_experts_that_exist() {
    let sample = Sample::write(SampleDialect::Native, 1);
    let experts = sample.arch().experts as i64;
    let bytes = sample.bytes_of("layers.0.ffn.gate.tid2eid");
    let ids: Vec<i64> = bytes
        .chunks(8)
        .map(|id| i64::from_le_bytes(id.try_into().unwrap()))
        .collect();
    assert!(ids.iter().all(|id| (0..experts).contains(id)));
    assert!(ids.chunks(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn a_reader_finds_nothing_wrong_and_knows_the_model() {
    for dialect in [SampleDialect::Hf, SampleDialect::Native] {
        let sample = Sample::write(dialect, 2);
        assert_eq!(sample.checkpoint.findings, [], "{dialect:?}");
        let config = sample.checkpoint.config.as_ref().unwrap();
        assert_eq!(DeepSeekV4::detect(config), Detection::V4);
        let quant = sample.checkpoint.hf_quant_config.as_ref().unwrap();
        assert_eq!(quant["quantization"]["quant_algo"], "NVFP4");
        let others = ["generation_config.json", "tokenizer_config.json"];
        assert_eq!(sample.checkpoint.other_files, others);
    }
}

#[test]
fn a_folder_with_anything_else_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    let options = SampleOptions {
        layers: 1,
        ..SampleOptions::default()
    };
    let error = write_sample(dir.path(), &options).unwrap_err();
    assert!(matches!(&error, SampleError::NotEmpty { found, .. } if found == "notes.txt"));
    assert_eq!(files_of(dir.path()).len(), 1);
}

#[test]
fn an_earlier_sample_is_written_over() {
    let sample = Sample::write(SampleDialect::Hf, 1);
    let before = files_of(sample.dir.path());
    let options = SampleOptions {
        layers: 1,
        seed: 7,
        ..SampleOptions::default()
    };
    fs::write(sample.dir.path().join("config.json"), "{}").unwrap();
    fs::write(sample.dir.path().join(".config.json.tmp"), "{").unwrap();
    write_sample(sample.dir.path(), &options).unwrap();
    assert_eq!(files_of(sample.dir.path()), before);
}

#[test]
fn a_sample_without_layers_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for layers in [0, 5000] {
        let options = SampleOptions {
            layers,
            ..SampleOptions::default()
        };
        let error = write_sample(dir.path(), &options).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("a sample has 1 to 4096 layers, not {layers}")
        );
    }
}
