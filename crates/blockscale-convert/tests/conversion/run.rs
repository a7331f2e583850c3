//! The library as these tests call it: open, plan, convert, decode.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use blockscale::layout::ScaleLayout;
use blockscale_convert::source::LocalSource;
use blockscale_convert::{
    Comparison, ConvertError, ConvertOptions, Manifest, Run, VerifyOptions, VerifyReport, Weights,
    convert, decode, verify,
};
use blockscale_model::Checkpoint;
use blockscale_model::catalog::Catalog;
use blockscale_model::plan::{Plan, PlanError, PlanOptions};
use blockscale_model::recipe::{Recipe, Target, generic};

/// A checkpoint that is open.
pub(crate) struct Opened {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) catalog: Catalog,
    pub(crate) source: LocalSource,
}

impl Opened {
    pub(crate) fn new(path: &Path) -> Self {
        let (checkpoint, source) =
            LocalSource::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let catalog = Catalog::of(&checkpoint);
        Self {
            checkpoint,
            catalog,
            source,
        }
    }

    pub(crate) fn weights(&self) -> Weights<'_> {
        Weights {
            checkpoint: &self.checkpoint,
            catalog: &self.catalog,
            source: &self.source,
        }
    }

    /// All values of a weight, decoded matrix by matrix.
    pub(crate) fn decode(&self, name: &str) -> Vec<f32> {
        let position = self.catalog.position(name);
        let weight = position.unwrap_or_else(|| panic!("no weight `{name}`"));
        let matrices = self.catalog.weights[weight].matrices();
        let mut values = Vec::new();
        for matrix in 0..matrices.count {
            let run = Run {
                weight,
                matrix,
                rows: 0..matrices.shape.rows,
            };
            let weights = self.weights();
            let bytes = weights.read(&run).unwrap();
            values.extend(decode(weights.weight(&run), weights.shape(&run), &bytes).unwrap());
        }
        values
    }

    /// Stored bytes of a tensor.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        let position = self.checkpoint.position(name);
        let tensor = position.unwrap_or_else(|| panic!("no tensor `{name}`"));
        let mut bytes = vec![0; self.checkpoint.tensors[tensor].bytes() as usize];
        self.weights().read_tensor(tensor, 0, &mut bytes).unwrap();
        bytes
    }

    /// Stored values of an F32 tensor.
    pub(crate) fn f32s(&self, name: &str) -> Vec<f32> {
        let bytes = self.bytes(name);
        let chunks = bytes.as_chunks().0.iter();
        chunks.map(|&chunk| f32::from_le_bytes(chunk)).collect()
    }

    pub(crate) fn tensor_names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self
            .checkpoint
            .tensors
            .iter()
            .map(|t| t.name.as_str())
            .collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn plan(&self, recipe: &Recipe) -> Plan {
        self.plan_with(recipe, PlanOptions::default().max_shard_bytes)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn plan_with(
        &self,
        recipe: &Recipe,
        max_shard_bytes: u64,
    ) -> Result<Plan, PlanError> {
        let options = PlanOptions {
            max_shard_bytes,
            ..PlanOptions::default()
        };
        Plan::build(&self.checkpoint, &self.catalog, recipe, &options)
    }

    /// A plan that writes block-scaled weights in a runtime's layout.
    pub(crate) fn plan_in(&self, recipe: &Recipe, layout: ScaleLayout) -> Result<Plan, PlanError> {
        let options = PlanOptions {
            layout,
            ..PlanOptions::default()
        };
        Plan::build(&self.checkpoint, &self.catalog, recipe, &options)
    }

    /// Converts by `plan` without a word and without a stop.
    pub(crate) fn convert(
        &self,
        plan: &Plan,
        out: &Path,
        options: &ConvertOptions,
    ) -> Result<Manifest, ConvertError> {
        convert(
            self.weights(),
            plan,
            out,
            options,
            &(),
            &AtomicBool::new(false),
        )
    }

    /// [`verify`] with this checkpoint as the source.
    pub(crate) fn verify(&self, output: &Self, options: &VerifyOptions) -> VerifyReport {
        let stop = AtomicBool::new(false);
        verify(self.weights(), output.weights(), options, &(), &stop)
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The recipe of `--to`.
pub(crate) fn to(target: Target) -> Recipe {
    generic(target, Vec::new(), Vec::new())
}

/// Every weight to one format, vectors and scalars included.
pub(crate) fn everything_to(target: Target) -> Recipe {
    let text = format!("version = 1\nname = \"all\"\n[[rule]]\nmatch = [\"*\"]\nto = \"{target}\"");
    Recipe::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Converts a folder and opens the result.
pub(crate) fn converted(source: &Path, recipe: &Recipe, out: &Path) -> (Manifest, Opened) {
    let source = Opened::new(source);
    let manifest = source
        .convert(&source.plan(recipe), out, &ConvertOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    (manifest, Opened::new(out))
}

/// The comparison of a weight in a manifest.
pub(crate) fn comparison<'a>(manifest: &'a Manifest, tensor: &str) -> &'a Comparison {
    let mut weights = manifest.weights.iter();
    weights
        .find(|w| w.tensor == tensor)
        .unwrap_or_else(|| panic!("`{tensor}` was not compared"))
}
