//! Putting shards and index together, and saying where they disagree.
//!
//! The rule: what can be read without a choice is read. A choice that the index makes is followed and
//! reported. A choice that nothing makes is an error.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::checkpoint::{
    Checkpoint, CheckpointError, CheckpointFiles, NameList, RawTensor, ShardFile,
};
use crate::finding::{Finding, Severity};
use crate::index::Index;
use crate::json::excerpt;
use crate::shard_name::ShardName;

impl Checkpoint {
    /// Holds headers and index against each other and lists every tensor once.
    ///
    /// Where they disagree without doubt about the data, a finding says so: the index lists a tensor
    /// in another shard than holds it, omits a tensor, states a wrong total size; two shards hold one
    /// name and the index picks one; a file beside the shards is not read.
    ///
    /// # Errors
    /// [`CheckpointError`] if something listed is missing, or nothing says which of two tensors of
    /// one name counts.
    pub fn assemble(files: CheckpointFiles) -> Result<Self, CheckpointError> {
        let CheckpointFiles {
            shards,
            index,
            config,
            hf_quant_config,
            ..
        } = files;
        if shards.is_empty() && index.is_none() {
            return Err(CheckpointError::NoShards);
        }
        let mut findings = Vec::new();
        let holders = Holders::new(&shards)?;
        let chosen = match &index {
            Some((name, index)) => follow_index(
                name,
                index,
                &holders,
                &files.unreferenced_shards,
                &mut findings,
            )?,
            None => without_index(&holders, &mut findings)?,
        };
        let tensors = list_tensors(&shards, &chosen);
        if let Some((name, index)) = &index {
            check_total_size(name, index, &tensors, &mut findings);
        }
        findings.extend(
            files
                .unreferenced_shards
                .iter()
                .map(|file| not_read(file, index.as_ref())),
        );

        let mut checkpoint = Self::new(shards, tensors, findings);
        checkpoint.has_index = index.is_some();
        checkpoint.config = config;
        checkpoint.hf_quant_config = hf_quant_config;
        checkpoint.other_files = files.other_files;
        Ok(checkpoint)
    }
}

/// The shard that counts for each tensor.
type Chosen<'a> = HashMap<&'a str, usize>;

/// Which shards hold which tensor.
struct Holders<'a> {
    shards: &'a [ShardFile],
    by_tensor: HashMap<&'a str, Vec<usize>>,
    by_name: HashMap<&'a ShardName, usize>,
}

impl<'a> Holders<'a> {
    fn new(shards: &'a [ShardFile]) -> Result<Self, CheckpointError> {
        let mut by_tensor: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut by_name = HashMap::new();
        for (id, shard) in shards.iter().enumerate() {
            if by_name.insert(&shard.name, id).is_some() {
                return Err(CheckpointError::ShardTwice {
                    shard: shard.name.clone(),
                });
            }
            for tensor in &shard.header.tensors {
                by_tensor.entry(&tensor.name).or_default().push(id);
            }
        }
        Ok(Self {
            shards,
            by_tensor,
            by_name,
        })
    }

    fn of(&self, tensor: &str) -> &[usize] {
        self.by_tensor.get(tensor).map_or(&[], Vec::as_slice)
    }

    fn name(&self, shard: usize) -> &'a ShardName {
        &self.shards[shard].name
    }

    /// Names of all tensors, by shard and in the order of their data.
    fn tensors(&self) -> impl Iterator<Item = &'a str> {
        self.shards.iter().flat_map(|shard| {
            shard
                .header
                .tensors
                .iter()
                .map(|tensor| tensor.name.as_str())
        })
    }

    fn twice(&self, tensor: &str, first: usize, second: usize) -> CheckpointError {
        CheckpointError::TensorTwice {
            tensor: tensor.to_owned(),
            first: self.name(first).clone(),
            second: self.name(second).clone(),
        }
    }
}

fn follow_index<'a>(
    file: &str,
    index: &'a Index,
    holders: &Holders<'a>,
    unread: &[String],
    findings: &mut Vec<Finding>,
) -> Result<Chosen<'a>, CheckpointError> {
    let missing: BTreeSet<&ShardName> = index
        .weight_map
        .iter()
        .map(|(_, shard)| shard)
        .filter(|shard| !holders.by_name.contains_key(shard))
        .collect();
    if !missing.is_empty() {
        let shards = missing.into_iter().cloned().collect();
        return Err(CheckpointError::MissingShards {
            index: file.to_owned(),
            shards,
        });
    }

    let mut disagreements = Disagreements::default();
    let mut chosen = Chosen::with_capacity(holders.by_tensor.len());
    for (tensor, shard) in &index.weight_map {
        let listed = holders.by_name[shard];
        let held_by = holders.of(tensor);
        if held_by.contains(&listed) {
            for &other in held_by.iter().filter(|&&other| other != listed) {
                disagreements
                    .doubled
                    .entry((listed, other))
                    .or_default()
                    .push(tensor);
            }
            chosen.insert(tensor, listed);
        } else if let Some(found) = only_holder(tensor, holders)? {
            disagreements
                .elsewhere
                .entry((listed, found))
                .or_default()
                .push(tensor);
            chosen.insert(tensor, found);
        } else {
            return Err(CheckpointError::TensorNotThere {
                index: file.to_owned(),
                tensor: tensor.clone(),
                shard: shard.clone(),
                unread: unread.to_vec(),
            });
        }
    }
    for tensor in holders.tensors() {
        if !chosen.contains_key(tensor)
            && let Some(found) = only_holder(tensor, holders)?
        {
            disagreements.omitted.entry(found).or_default().push(tensor);
            chosen.insert(tensor, found);
        }
    }
    findings.extend(disagreements.report(file, holders));
    Ok(chosen)
}

/// Tensors about which index and headers disagree, by shard: thousands of tensors with the same fault
/// are one finding.
#[derive(Default)]
struct Disagreements<'a> {
    /// By the shard that the index lists and the one that holds them.
    elsewhere: BTreeMap<(usize, usize), Vec<&'a str>>,
    /// By the shard that the index lists and another that holds them too.
    doubled: BTreeMap<(usize, usize), Vec<&'a str>>,
    /// By the shard that holds them; the index does not list them.
    omitted: BTreeMap<usize, Vec<&'a str>>,
}

impl Disagreements<'_> {
    fn report(self, file: &str, holders: &Holders<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |code, shard: &ShardName, tensors: &[&str], what: String| {
            let message = format!("{what}: {}", NameList(tensors));
            findings.push(warning(
                code,
                shard.as_str(),
                tensors.first().copied(),
                message,
            ));
        };
        for ((listed, found), tensors) in self.elsewhere {
            let (listed, found) = (holders.name(listed), holders.name(found));
            let what =
                format!("listed in `{listed}` by `{file}`, but found in `{found}` and read there");
            add("index-names-wrong-shard", found, &tensors, what);
        }
        for ((listed, other), tensors) in self.doubled {
            let (listed, other) = (holders.name(listed), holders.name(other));
            let what =
                format!("found in `{listed}` and `{other}`, read from `{listed}` as `{file}` says");
            add("tensor-in-two-shards", other, &tensors, what);
        }
        for (found, tensors) in self.omitted {
            let found = holders.name(found);
            let what = format!("not listed by `{file}`, but found in `{found}` and read");
            add("index-omits-tensor", found, &tensors, what);
        }
        findings
    }
}

fn without_index<'a>(
    holders: &Holders<'a>,
    findings: &mut Vec<Finding>,
) -> Result<Chosen<'a>, CheckpointError> {
    let mut chosen = Chosen::with_capacity(holders.by_tensor.len());
    for tensor in holders.tensors() {
        if let Some(found) = only_holder(tensor, holders)? {
            chosen.insert(tensor, found);
        }
    }
    for ShardFile { name, .. } in holders.shards {
        if let Some((_, count)) = name.part()
            && count as usize > holders.shards.len()
        {
            let message = format!("`{name}` is one of {count} parts and is read without an index");
            findings.push(warning("part-without-index", name.as_str(), None, message));
        }
    }
    Ok(chosen)
}

/// The shard that holds a tensor, `None` if none does.
fn only_holder(tensor: &str, holders: &Holders<'_>) -> Result<Option<usize>, CheckpointError> {
    match *holders.of(tensor) {
        [] => Ok(None),
        [found] => Ok(Some(found)),
        [first, second, ..] => Err(holders.twice(tensor, first, second)),
    }
}

fn list_tensors(shards: &[ShardFile], chosen: &Chosen<'_>) -> Vec<RawTensor> {
    let mut tensors = Vec::with_capacity(chosen.len());
    for (id, shard) in shards.iter().enumerate() {
        for entry in &shard.header.tensors {
            if chosen.get(entry.name.as_str()) == Some(&id) {
                tensors.push(RawTensor {
                    name: entry.name.clone(),
                    dtype: entry.dtype,
                    shape: entry.shape.clone(),
                    ggml: None,
                    shard: id,
                    range: entry.range.clone(),
                });
            }
        }
    }
    tensors
}

/// The stated size has to be that of the listed tensors, or of all.
fn check_total_size(file: &str, index: &Index, tensors: &[RawTensor], findings: &mut Vec<Finding>) {
    let Some(stated) = index.metadata.get("total_size") else {
        return;
    };
    let listed: BTreeSet<&str> = index
        .weight_map
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let of_all = total(tensors.iter());
    let of_listed = total(
        tensors
            .iter()
            .filter(|tensor| listed.contains(tensor.name.as_str())),
    );
    if index.total_size != Some(of_listed) && index.total_size != Some(of_all) {
        findings.push(warning(
            "index-total-size",
            file,
            None,
            format!(
                "`{file}` states a total size of {} bytes, but its tensors have {of_listed}; \
                 the stated size is not used",
                excerpt(&stated.to_string()),
            ),
        ));
    }
}

fn total<'a>(tensors: impl Iterator<Item = &'a RawTensor>) -> u64 {
    tensors.map(RawTensor::bytes).fold(0, u64::saturating_add)
}

fn not_read(file: &str, index: Option<&(String, Index)>) -> Finding {
    let message = match index {
        Some((index, _)) => format!("`{file}` is not in `{index}` and is not read"),
        None => format!("`{file}` lies beside the file that was taken and is not read"),
    };
    warning("shard-not-read", file, None, message)
}

fn warning(code: &'static str, file: &str, tensor: Option<&str>, message: String) -> Finding {
    Finding {
        severity: Severity::Warning,
        code,
        file: Some(file.to_owned()),
        tensor: tensor.map(str::to_owned),
        message,
    }
}
