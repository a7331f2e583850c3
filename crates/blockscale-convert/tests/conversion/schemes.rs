//! Scale rules and schemes by their names: the bytes that are written are those of the core.

use std::fs;
use std::path::Path;

use blockscale::encode::{ScaleRule, Scheme, amax, encode_rows_with, global_scale_with};
use blockscale::format::{Format, GlobalScale, Shape};
use blockscale::{Real, bf16};
use blockscale_convert::{ConvertOptions, Manifest};
use blockscale_model::catalog::{Encoding, PartRole};
use blockscale_model::dialect::Dialect;
use blockscale_model::plan::PlanError;
use blockscale_model::recipe::{EncodeBy, Recipe, Target};
use safetensors::SafeTensors;
use serde_json::json;
use tempfile::TempDir;

use crate::checkpoint::{NewTensor, noise, write_single};
use crate::files::data;
use crate::run::{Opened, comparison, to};

/// Both sides are multiples of no square block; rows are whole blocks of 32.
const SHAPE: Shape = Shape::new(150, 160);

/// Numbers with a block of zeros, which only schemes tell apart, and one that is small.
fn numbers() -> Vec<f32> {
    let mut values = noise(5, SHAPE.rows * SHAPE.cols);
    values[..32].fill(0.0);
    values[32..64].iter_mut().for_each(|x| *x *= 1e-4);
    values.iter().map(|&x| bf16::from_f32(x).to_f32()).collect()
}

/// A checkpoint of one weight, in the type that its config states.
fn source<T: Real>(values: &[f32]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let shape = [SHAPE.rows, SHAPE.cols];
    let (tensor, dtype) = match size_of::<T>() {
        2 => (NewTensor::bf16("a.weight", &shape, values), "bfloat16"),
        _ => (NewTensor::f32("a.weight", &shape, values), "float32"),
    };
    write_single(dir.path(), &[tensor]);
    let config = json!({ "dtype": dtype }).to_string();
    fs::write(dir.path().join("config.json"), config).unwrap();
    dir
}

fn recipe(target: Target, dialect: Option<Dialect>, by: EncodeBy) -> Recipe {
    let mut recipe = to(target);
    recipe.dialect = dialect;
    recipe.encode_by(by).unwrap();
    recipe
}

/// Targets that are block formats, each in these dialects.
fn forms(dialects: &[Option<Dialect>]) -> impl Iterator<Item = (Target, Option<Dialect>)> {
    let targets = Target::CONVERSIONS.into_iter();
    let blocks = targets.filter(|target| target.format().is_some());
    blocks.flat_map(|target| dialects.iter().map(move |&dialect| (target, dialect)))
}

/// Converts, whatever the SQNR, unless the plan says that this is not written so.
fn try_convert(source: &Opened, recipe: &Recipe, out: &Path) -> Result<Manifest, PlanError> {
    let plan = source.plan_with(recipe, 1 << 30)?;
    let options = ConvertOptions {
        min_sqnr: Some(10.0),
        max_memory: 3 << 20,
        ..ConvertOptions::default()
    };
    Ok(source.convert(&plan, out, &options).unwrap())
}

/// Codes, scales and global scale by the core alone.
fn encoded<T: Real>(format: &Format, scheme: &Scheme, values: &[f32]) -> (Vec<u8>, Vec<u8>, f32) {
    let values: Vec<T> = values.iter().map(|&x| T::from_f32(x)).collect();
    let global = global_scale_with(format, scheme, T::from_f32(amax(&values)));
    let mut codes = vec![0; format.code_bytes(SHAPE).unwrap()];
    let mut scales = vec![0; format.scale_bytes(SHAPE).unwrap()];
    encode_rows_with(
        format,
        scheme,
        SHAPE,
        &values,
        global,
        &mut codes,
        &mut scales,
    )
    .unwrap();
    (codes, scales, global)
}

/// Holds a written weight against the core; gives its format.
fn assert_as_core<T: Real>(out: &Path, by: EncodeBy, values: &[f32]) -> Format {
    let output = Opened::new(out);
    // Its name follows from the dialect.
    let [weight] = output.catalog.weights.as_slice() else {
        panic!("{:?}", output.catalog);
    };
    let Encoding::Block(format) = weight.encoding else {
        panic!("{}", weight.encoding);
    };
    let (codes, scales, global) = encoded::<T>(&format, &by.scheme(&format), values);
    let part = |role| {
        let tensor = weight.part(role).unwrap();
        output.bytes(&output.checkpoint.tensors[tensor].name)
    };
    assert!(part(PartRole::Codes) == codes, "codes of {format} by {by}");
    assert!(
        part(PartRole::BlockScale) == scales,
        "scales of {format} by {by}"
    );
    if format.global != GlobalScale::None {
        let stored = part(PartRole::GlobalScale);
        assert_eq!(stored, global.to_le_bytes(), "global of {format} by {by}");
    }
    format
}

/// The formats that a rule or scheme is written in, in these dialects.
fn written<T: Real>(by: EncodeBy, dialects: &[Option<Dialect>]) -> Vec<String> {
    let values = numbers();
    let dir = source::<T>(&values);
    let source = Opened::new(dir.path());
    let mut formats = Vec::new();
    for (target, dialect) in forms(dialects) {
        let out = tempfile::tempdir().unwrap();
        match try_convert(&source, &recipe(target, dialect, by), out.path()) {
            Ok(manifest) => {
                let format = assert_as_core::<T>(out.path(), by, &values);
                assert!(by.fits(&format), "{format} by {by}");
                let recorded = &comparison(&manifest, "a.weight").encoded_by;
                assert_eq!(recorded.as_ref(), Some(&by.to_string()));
                formats.push(format.to_string());
            }
            Err(PlanError::NotEncodedBy { fitting, .. }) => assert!(!fitting.is_empty()),
            Err(PlanError::NotInDialect { .. }) => {}
            Err(error) => panic!("{target} by {by}: {error}"),
        }
    }
    formats
}

/// The two that write most formats, and each in its own way; the others write theirs by default.
const DIALECTS: [Option<Dialect>; 3] = [
    None,
    Some(Dialect::Modelopt),
    Some(Dialect::CompressedTensors),
];

/// Its format is not written.
const NOT_WRITTEN: [&str; 1] = ["compressed-tensors-mxfp6"];

#[test]
fn every_scheme_writes_the_bytes_of_the_core() {
    for named in Scheme::NAMED {
        let by = EncodeBy::Scheme(named);
        for formats in [
            written::<f32>(by, &DIALECTS),
            written::<bf16>(by, &DIALECTS),
        ] {
            let expected = NOT_WRITTEN.contains(&named.name);
            assert_eq!(formats.is_empty(), expected, "{by}: {formats:?}");
        }
    }
}

#[test]
fn every_scale_rule_writes_the_bytes_of_the_core() {
    for &rule in ScaleRule::ALL {
        let formats = written::<f32>(EncodeBy::Rule(rule), &[None]);
        assert!(formats.contains(&"NVFP4".to_owned()), "{rule}: {formats:?}");
        let everywhere = !matches!(rule, ScaleRule::FourOverSix(_));
        assert_eq!(
            formats.contains(&"MXFP8 E4M3".to_owned()),
            everywhere,
            "{rule}"
        );
    }
}

#[test]
fn scheme_of_another_format_is_refused_and_those_that_fit_are_named() {
    let dir = source::<f32>(&numbers());
    let source = Opened::new(dir.path());
    let refusal = |target, dialect, by| {
        let recipe = recipe(target, dialect, by);
        source.plan_with(&recipe, 1).unwrap_err().to_string()
    };
    let scheme = |name| EncodeBy::Scheme(Scheme::from_name(name).unwrap());
    let text = refusal(
        Target::Nvfp4,
        Some(Dialect::Modelopt),
        scheme("compressed-tensors-nvfp4"),
    );
    assert_eq!(
        text,
        "`a.weight` is to be NVFP4, which scheme compressed-tensors-nvfp4 does not write; there \
         are default, modelopt-nvfp4, torchao-nvfp4, four-over-six, modelopt-four-over-six; it \
         would with --dialect compressed-tensors"
    );
    let text = refusal(
        Target::Mxfp4,
        Some(Dialect::Modelopt),
        scheme("deepgemm-fp8-ue8m0"),
    );
    assert!(
        text.contains("there are default, torchao-mx-floor"),
        "{text}"
    );
    assert!(!text.contains("--dialect"), "{text}");
    let search = EncodeBy::Rule(ScaleRule::MseSearch);
    let text = refusal(Target::Fp8Tensor, None, search);
    assert!(text.contains("amax") && !text.contains("are mse"), "{text}");
}

#[test]
fn schemes_differ_in_what_they_write() {
    let values = numbers();
    let dir = source::<f32>(&values);
    let source = Opened::new(dir.path());
    let mut seen = Vec::new();
    for name in ["modelopt-nvfp4", "torchao-nvfp4", "four-over-six"] {
        let by = EncodeBy::Scheme(Scheme::from_name(name).unwrap());
        let recipe = recipe(Target::Nvfp4, None, by);
        let out = tempfile::tempdir().unwrap();
        try_convert(&source, &recipe, out.path()).unwrap();
        let scales = Opened::new(out.path()).bytes("a.weight_scale");
        assert!(!seen.contains(&scales), "{name}");
        seen.push(scales);
    }
}

#[test]
fn what_is_only_moved_stays_as_it_is_whatever_the_scheme() {
    let dir = source::<f32>(&numbers());
    let first = tempfile::tempdir().unwrap();
    let nvfp4 = to(Target::Nvfp4);
    try_convert(&Opened::new(dir.path()), &nvfp4, first.path()).unwrap();
    let by = EncodeBy::Scheme(Scheme::from_name("torchao-nvfp4").unwrap());
    let second = tempfile::tempdir().unwrap();
    let recipe = recipe(Target::Nvfp4, None, by);
    let source = Opened::new(first.path());
    try_convert(&source, &recipe, second.path()).unwrap();
    let output = Opened::new(second.path());
    for name in source.tensor_names() {
        assert_eq!(source.bytes(name), output.bytes(name), "{name}");
    }
}

/// A peer's vectors: file, key of the peer, its scheme, and what is written so; the fields of
/// codes, scales and global scale.
type Peer = (
    &'static str,
    &'static str,
    &'static str,
    Target,
    Option<Dialect>,
    [&'static str; 3],
);

const CT: Option<Dialect> = Some(Dialect::CompressedTensors);
const MX: [&str; 3] = ["packed", "scale", ""];
const FP8: [&str; 3] = ["weight", "scale", ""];

#[rustfmt::skip]
const PEERS: [Peer; 23] = [
    ("nvfp4_modelopt", "modelopt", "modelopt-nvfp4", Target::Nvfp4, None, ["packed", "scale", "scale_2"]),
    ("nvfp4_compressed_tensors", "ct", "compressed-tensors-nvfp4", Target::Nvfp4, CT, ["packed", "scale", "global_scale"]),
    ("nvfp4_torchao", "ao", "torchao-nvfp4", Target::Nvfp4, None, ["packed", "scale", "per_tensor_scale"]),
    ("mxfp4", "ao_e2m1_floor", "torchao-mx-floor", Target::Mxfp4, None, MX),
    ("mxfp4", "ao_e2m1_ceil", "torchao-mx-ceil", Target::Mxfp4, None, MX),
    ("mxfp4", "ao_e2m1_even", "torchao-mx-even", Target::Mxfp4, None, MX),
    ("mxfp4", "ao_e2m1_rceil", "torchao-mx-rceil", Target::Mxfp4, None, MX),
    ("mxfp4", "ct", "compressed-tensors-mxfp4", Target::Mxfp4, None, MX),
    ("mxfp4", "modelopt", "modelopt-mxfp4", Target::Mxfp4, None, MX),
    ("mxfp4", "deepgemm", "deepgemm-fp4", Target::Mxfp4, None, MX),
    ("mxfp4", "tilekernels", "tilekernels-fp4", Target::Mxfp4, None, MX),
    ("mxfp8", "ao_e4m3_floor", "torchao-mx-floor", Target::Mxfp8, None, MX),
    ("mxfp8", "ao_e4m3_rceil", "torchao-mx-rceil", Target::Mxfp8, None, MX),
    ("mxfp8", "ct", "compressed-tensors-mxfp8", Target::Mxfp8, None, MX),
    ("mxfp8", "modelopt", "modelopt-mxfp8", Target::Mxfp8, None, MX),
    ("fp8_block", "deepgemm", "deepgemm-fp8", Target::Fp8Block, None, FP8),
    ("fp8_block", "ct_f32", "compressed-tensors-fp8", Target::Fp8Block, CT, FP8),
    ("fp8_block", "modelopt_f32", "modelopt-fp8", Target::Fp8Block, None, FP8),
    ("fp8_block_ue8m0", "deepgemm", "deepgemm-fp8-ue8m0", Target::Fp8BlockUe8m0, None, ["weight", "e8m0", ""]),
    ("fp8_tensor_channel", "ct_tensor", "compressed-tensors-fp8", Target::Fp8Tensor, CT, FP8),
    ("fp8_tensor_channel", "ct_channel", "compressed-tensors-fp8", Target::Fp8Channel, CT, FP8),
    ("fp8_tensor_channel", "modelopt_channel", "modelopt-fp8", Target::Fp8Channel, None, FP8),
    ("fp8_tensor_channel", "ao_tensor", "torchao-fp8", Target::Fp8Tensor, None, FP8),
];

#[test]
fn real_weights_become_the_bytes_that_each_library_stored() {
    const CASE: &str = "real_q";
    let read = |file: &str| fs::read(data(&format!("conformance/{file}.safetensors"))).unwrap();
    let inputs = read("inputs");
    let inputs = SafeTensors::deserialize(&inputs).unwrap();
    let input = inputs.tensor(CASE).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let weight = NewTensor::new(
        "a.weight",
        input.dtype(),
        input.shape(),
        input.data().to_vec(),
    );
    write_single(dir.path(), &[weight]);
    let source = Opened::new(dir.path());
    for (file, peer, scheme, target, dialect, fields) in PEERS {
        let by = EncodeBy::Scheme(Scheme::from_name(scheme).unwrap());
        let out = tempfile::tempdir().unwrap();
        try_convert(&source, &recipe(target, dialect, by), out.path()).unwrap();
        let output = Opened::new(out.path());
        let [written] = output.catalog.weights.as_slice() else {
            panic!("{:?}", output.catalog);
        };
        let bytes = read(file);
        let vectors = SafeTensors::deserialize(&bytes).unwrap();
        let roles = [PartRole::Codes, PartRole::BlockScale, PartRole::GlobalScale];
        for (field, role) in fields.into_iter().zip(roles) {
            let part = written.part(role);
            assert_eq!(part.is_none(), field.is_empty(), "{field} of {peer}");
            let Some(tensor) = part else { continue };
            let stored = output.bytes(&output.checkpoint.tensors[tensor].name);
            let expected = vectors.tensor(&format!("{CASE}.{peer}.{field}")).unwrap();
            assert!(stored == expected.data(), "{field} of {peer} in {file}");
        }
    }
}
