//! Which tensor goes to which shard, and writing them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use blockscale_model::deepseek_v4::{DeepSeekV4, NativeName, Part};
use blockscale_model::{Dtype, NewTensor, ShardName, lay_out, write_index};
use rayon::prelude::*;

use super::fault::Damage;
use super::files::Folder;
use super::model::{Unit, position, units};
use super::tensors::{self, Tensor};
use super::{SampleError, SampleOptions, SampleReport};

/// Layers of a shard in a model of full depth, which makes five shards.
const MAX_LAYERS_OF_SHARD: usize = 13;
const SHARDS_OF_SHALLOW_MODEL: usize = 5;

/// Shards to be written, each a run of layers.
pub(super) struct Plan<'a> {
    arch: &'a DeepSeekV4,
    layers_of_shard: usize,
    names: Vec<ShardName>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(arch: &'a DeepSeekV4) -> Result<Self, SampleError> {
        let layers = arch.layers + arch.mtp_layers;
        let layers_of_shard = layers
            .div_ceil(SHARDS_OF_SHALLOW_MODEL)
            .min(MAX_LAYERS_OF_SHARD);
        let count = layers.div_ceil(layers_of_shard);
        let name = |part| ShardName::new(&format!("model-{part:05}-of-{count:05}.safetensors"));
        let names = (1..=count).map(name).collect::<Result<_, _>>()?;
        Ok(Self {
            arch,
            layers_of_shard,
            names,
        })
    }

    pub(super) fn shard_names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(ShardName::as_str)
    }

    /// Writes one shard after the other; scales that stray are handed on to the next.
    pub(super) fn write(
        &self,
        folder: &Folder,
        options: &SampleOptions,
        damage: &mut Damage,
    ) -> Result<Written, SampleError> {
        let mut units_of_shard: Vec<Vec<Unit>> = vec![Vec::new(); self.names.len()];
        for unit in units(self.arch) {
            units_of_shard[self.shard_of(unit[0])].push(unit);
        }
        let mut written = Written::default();
        let mut strays = Vec::new();
        for (name, units) in self.names.iter().zip(&units_of_shard) {
            let made: Vec<Vec<Tensor>> = units
                .par_iter()
                .map(|unit| tensors::make(self.arch, options, unit))
                .collect::<Result<_, _>>()?;
            let (stray, mut own): (Vec<_>, Vec<_>) = made
                .into_iter()
                .flatten()
                .partition(|tensor| self.strays(tensor));
            own.append(&mut strays);
            strays = stray;
            let metadata = damage.shard(&mut own);
            write_shard(folder, name, &own, metadata)?;
            written.add(name, &own);
        }
        Ok(written)
    }

    fn shard_of(&self, name: NativeName) -> usize {
        position(self.arch, name) / self.layers_of_shard
    }

    /// Whether a scale lies in the shard behind its weight's, as happens to a writer that fills one
    /// shard after the other: some of the last layer of each shard but the last.
    fn strays(&self, tensor: &Tensor) -> bool {
        let next = position(self.arch, tensor.weight) + 1;
        let ends_shard = next.is_multiple_of(self.layers_of_shard);
        let has_next_shard = next / self.layers_of_shard < self.names.len();
        let chosen = matches!(
            tensor.weight.part,
            Part::WoA | Part::Wkv | Part::CompressorWkv | Part::SharedW2 | Part::ExpertW2
        );
        tensor.is_scale && chosen && ends_shard && has_next_shard
    }
}

fn write_shard(
    folder: &Folder,
    name: &ShardName,
    tensors: &[Tensor],
    mut metadata: BTreeMap<String, String>,
) -> Result<(), SampleError> {
    let entries: Vec<NewTensor> = tensors.iter().map(|tensor| tensor.entry.clone()).collect();
    metadata.insert("format".to_owned(), "pt".to_owned());
    let layout = lay_out(&entries, &metadata)?;
    let mut in_data_order: Vec<_> = layout.ranges.iter().zip(tensors).collect();
    in_data_order.sort_by_key(|(range, _)| range.start);
    folder.write(name.as_str(), |file| {
        let mut file = io::BufWriter::with_capacity(1 << 20, file);
        file.write_all(&layout.bytes)?;
        for (_, tensor) in in_data_order {
            file.write_all(&tensor.bytes)?;
        }
        file.flush()
    })
}

/// What was written so far.
#[derive(Default)]
pub(super) struct Written {
    weight_map: BTreeMap<String, ShardName>,
    shards: Vec<String>,
    quantized: usize,
    tensor_bytes: u64,
}

impl Written {
    fn add(&mut self, shard: &ShardName, tensors: &[Tensor]) {
        self.shards.push(shard.as_str().to_owned());
        for tensor in tensors {
            self.quantized += usize::from(tensor.entry.dtype == Dtype::U8);
            self.tensor_bytes += tensor.bytes.len() as u64;
            self.weight_map
                .insert(tensor.entry.name.clone(), shard.clone());
        }
    }

    pub(super) fn index(&self) -> Vec<u8> {
        write_index(&self.weight_map, self.tensor_bytes)
    }

    pub(super) fn report(self) -> SampleReport {
        SampleReport {
            tensors: self.weight_map.len(),
            quantized: self.quantized,
            tensor_bytes: self.tensor_bytes,
            shards: self.shards,
        }
    }
}
