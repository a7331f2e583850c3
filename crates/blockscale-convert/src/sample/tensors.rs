//! Making the tensors of a unit: numbers, then bytes.

use blockscale::encode::{amax, encode_rows, global_scale};
use blockscale::{Format, LenMismatch, Shape, bf16};
use blockscale_model::deepseek_v4::{DeepSeekV4, NativeName};
use blockscale_model::{Dtype, NewTensor};

use super::model::Storage;
use super::random::Stream;
use super::{SampleDialect, SampleOptions};

/// A tensor as it is written.
pub(super) struct Tensor {
    /// The weight that it is, or belongs to.
    pub(super) weight: NativeName,
    /// Whether it is a scale of that weight.
    pub(super) is_scale: bool,
    pub(super) entry: NewTensor,
    pub(super) bytes: Vec<u8>,
}

/// Makes the tensors of one unit.
pub(super) fn make(
    arch: &DeepSeekV4,
    options: &SampleOptions,
    unit: &[NativeName],
) -> Result<Vec<Tensor>, LenMismatch> {
    let weights: Vec<Weight> = unit
        .iter()
        .map(|name| Weight::draw(arch, options.seed, *name))
        .collect();
    let shared_amax = weights
        .iter()
        .map(|weight| amax(&weight.values))
        .fold(0.0, f32::max);
    let mut tensors = Vec::new();
    for weight in &weights {
        match weight.storage {
            Storage::Nvfp4 { .. } => {
                // Tensors of a unit see the same activations too.
                let input_scale = input_scale(options.seed, unit[0]);
                tensors.extend(weight.quantize(options.dialect, shared_amax, input_scale)?);
            }
            _ => tensors.push(weight.store(options.dialect)),
        }
    }
    Ok(tensors)
}

struct Weight {
    name: NativeName,
    shape: Vec<usize>,
    storage: Storage,
    values: Vec<f32>,
}

impl Weight {
    fn draw(arch: &DeepSeekV4, seed: u64, name: NativeName) -> Self {
        let native = name.to_string();
        let shape = arch.expected_shape(&native).unwrap_or_default();
        let storage = Storage::of(name.part);
        let mut stream = Stream::new(seed, &native);
        let len = shape.iter().product();
        let values = match storage {
            Storage::Nvfp4 { sigma } => {
                let loud = loud_channels(seed, matrix(&shape).cols);
                linear(&mut stream, &loud, matrix(&shape), sigma)
            }
            Storage::Bf16 { sigma } => rounded(stream.normal(len, sigma)),
            Storage::Norm => norm(&mut stream, &loud_channels(seed, len), len),
            Storage::F32 { sigma } => stream.normal(len, sigma),
            Storage::ExpertIds => expert_ids(&mut stream, arch.experts, matrix(&shape)),
        };
        Self {
            name,
            shape,
            storage,
            values,
        }
    }

    fn quantize(
        &self,
        dialect: SampleDialect,
        amax: f32,
        input_scale: f32,
    ) -> Result<[Tensor; 4], LenMismatch> {
        let format = Format::NVFP4;
        let shape = matrix(&self.shape);
        let global = global_scale(&format, amax);
        let scale_shape = format.scale_shape(shape);
        let mut codes = vec![0; shape.rows * format.row_bytes(shape.cols)];
        let mut scales = vec![0; scale_shape.rows * scale_shape.cols];
        let rule = format.default_rule();
        encode_rows(
            &format,
            rule,
            shape,
            &self.values,
            global,
            &mut codes,
            &mut scales,
        )?;

        let weight = spelled(self.name, dialect);
        let packed = vec![shape.rows, format.row_bytes(shape.cols)];
        let scale_shape = vec![scale_shape.rows, scale_shape.cols];
        let scale = |suffix: &str, dtype, shape, bytes| {
            let name = format!("{}{suffix}", weight.trim_end_matches(".weight"));
            let entry = NewTensor { name, dtype, shape };
            Tensor {
                weight: self.name,
                is_scale: true,
                entry,
                bytes,
            }
        };
        let scalar = |suffix: &str, value: f32| {
            scale(suffix, Dtype::F32, Vec::new(), value.to_le_bytes().to_vec())
        };
        Ok([
            scale(".weight_scale", Dtype::F8_E4M3, scale_shape, scales),
            scalar(".weight_scale_2", global),
            scalar(".input_scale", input_scale),
            self.tensor(weight, Dtype::U8, packed, codes),
        ])
    }

    fn store(&self, dialect: SampleDialect) -> Tensor {
        let dtype = match (self.storage, dialect) {
            (Storage::Bf16 { .. }, _) | (Storage::Norm, SampleDialect::Native) => Dtype::BF16,
            (Storage::ExpertIds, _) => Dtype::I64,
            _ => Dtype::F32,
        };
        let values = self.values.iter();
        let bytes = match dtype {
            Dtype::BF16 => values
                .flat_map(|x| bf16::from_f32(*x).to_le_bytes())
                .collect(),
            Dtype::I64 => values.flat_map(|x| (*x as i64).to_le_bytes()).collect(),
            _ => values.flat_map(|x| x.to_le_bytes()).collect(),
        };
        self.tensor(
            spelled(self.name, dialect),
            dtype,
            self.shape.clone(),
            bytes,
        )
    }

    fn tensor(&self, name: String, dtype: Dtype, shape: Vec<usize>, bytes: Vec<u8>) -> Tensor {
        let entry = NewTensor { name, dtype, shape };
        Tensor {
            weight: self.name,
            is_scale: false,
            entry,
            bytes,
        }
    }
}

fn spelled(name: NativeName, dialect: SampleDialect) -> String {
    match dialect {
        SampleDialect::Native => name.to_string(),
        SampleDialect::Hf => name.to_hf(),
    }
}

fn matrix(shape: &[usize]) -> Shape {
    match shape {
        [rows, cols] => Shape::new(*rows, *cols),
        _ => Shape::new(1, shape.iter().product()),
    }
}

/// Channels that are much louder than the rest, one in each 64. They depend on their number alone:
/// what reads the same channels finds the same ones loud, as in trained models.
fn loud_channels(seed: u64, channels: usize) -> Vec<usize> {
    let mut stream = Stream::new(seed, &format!("{channels} channels"));
    let groups = (0..channels).step_by(64);
    groups
        .map(|start| start + stream.below(64.min(channels - start)))
        .collect()
}

/// Gains near one; half of that where a channel is loud.
fn norm(stream: &mut Stream, loud: &[usize], len: usize) -> Vec<f32> {
    let mut gains = stream.normal(len, 0.1);
    for gain in &mut gains {
        *gain += 1.0;
    }
    for channel in loud {
        gains[*channel] *= 0.5;
    }
    rounded(gains)
}

/// Weights of a linear layer as trained ones are: BF16 numbers, loud input channels, one heavy row.
fn linear(stream: &mut Stream, loud: &[usize], shape: Shape, sigma: f32) -> Vec<f32> {
    let heavy_row = stream.below(shape.rows);
    let mut values = stream.normal(shape.rows * shape.cols, sigma);
    for row in values.chunks_exact_mut(shape.cols) {
        for channel in loud {
            row[*channel] *= 6.0;
        }
    }
    for value in &mut values[heavy_row * shape.cols..][..shape.cols] {
        *value *= 3.0;
    }
    rounded(values)
}

fn rounded(mut values: Vec<f32>) -> Vec<f32> {
    for value in &mut values {
        *value = bf16::from_f32(*value).to_f32();
    }
    values
}

/// Different experts for each token. Numbers of experts are exact in F32.
fn expert_ids(stream: &mut Stream, experts: usize, shape: Shape) -> Vec<f32> {
    let mut ids = Vec::with_capacity(shape.rows * shape.cols);
    for _ in 0..shape.rows {
        let first = stream.below(experts);
        ids.extend((0..shape.cols).map(|i| ((first + i) % experts) as f32));
    }
    ids
}

/// The scale of the activations: their largest magnitude, as calibration would find it, over the
/// largest number that a block scale of 1 reaches.
fn input_scale(seed: u64, name: NativeName) -> f32 {
    let mut stream = Stream::new(seed, &format!("{name} input"));
    stream.uniform(4.0, 12.0) / 2688.0
}
