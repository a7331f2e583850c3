//! What configs say of integers in groups, and of 6-bit floats.

use std::collections::HashMap;

use blockscale::format::Element;
use regex_lite::Regex;
use serde_json::Value;

/// Bits of an integer and columns of a group, as far as a config states them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntGroups {
    /// Bits of an integer.
    pub bits: Option<u8>,
    /// Columns of a group; 0 for one group a row.
    pub group_cols: Option<usize>,
}

/// What holds for the modules that some targets name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targeted {
    /// What holds.
    pub groups: IntGroups,
    /// Names of modules, `re:` and a regular expression, or classes of modules, as
    /// compressed-tensors has them. Empty: every module.
    pub targets: Vec<String>,
}

impl Targeted {
    /// Whether a target is about this module by its name.
    fn names(&self, module: &str) -> bool {
        self.targets
            .iter()
            .any(|target| match target.strip_prefix("re:") {
                None => target == module,
                // Matches from the start of the name, as Python's `re.match`.
                Some(pattern) => Regex::new(&format!("^(?:{pattern})"))
                    .is_ok_and(|pattern| pattern.is_match(module)),
            })
    }
}

/// Everything that a config says of integers in groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntConfig {
    /// For all modules, or for those that a target names. Where several may hold, the tensors tell
    /// which does.
    pub general: Vec<Targeted>,
    /// For single modules, by name (MLX).
    pub by_module: HashMap<String, IntGroups>,
    /// `checkpoint_format` of GPTQ, which says how zero points are stored.
    pub checkpoint_format: Option<String>,
    /// `version` of AWQ, which says how codes are packed.
    pub version: Option<String>,
}

impl IntConfig {
    /// Reads the quantisation section, MLX' own, and ModelOpt's document.
    pub(super) fn of(
        section: Option<&Value>,
        mlx: Option<&Value>,
        modelopt: Option<&Value>,
    ) -> Self {
        let text = |key: &str| Some(section?.get(key)?.as_str()?.to_owned());
        let mut general: Vec<Targeted> = section.into_iter().flat_map(compressed_groups).collect();
        if general.is_empty() {
            let mut sources = [mlx, section, modelopt].into_iter().flatten();
            general.extend(sources.find_map(stated).map(|groups| Targeted {
                groups,
                targets: Vec::new(),
            }));
        }
        let by_module = mlx.and_then(Value::as_object).into_iter().flatten();
        Self {
            general,
            by_module: by_module
                .filter_map(|(module, value)| Some((module.clone(), stated(value)?)))
                .collect(),
            checkpoint_format: text("checkpoint_format"),
            version: text("version"),
        }
    }

    /// What may hold for a module: its own entry, or what targets name it, or all there is.
    pub(super) fn of_module(&self, module: &str) -> Vec<IntGroups> {
        if let Some(&own) = self.by_module.get(module) {
            return vec![own];
        }
        let named = self.general.iter().filter(|entry| entry.names(module));
        let named: Vec<IntGroups> = named.map(|entry| entry.groups).collect();
        if named.is_empty() {
            return self.general.iter().map(|entry| entry.groups).collect();
        }
        named
    }
}

/// `bits` and `group_size` of AWQ, GPTQ, MLX and ModelOpt.
fn stated(value: &Value) -> Option<IntGroups> {
    let groups = IntGroups {
        bits: value.get("bits").and_then(bits),
        group_cols: value.get("group_size").and_then(group_cols),
    };
    (groups != IntGroups::default()).then_some(groups)
}

/// The integer groups among `config_groups` of compressed-tensors.
fn compressed_groups(section: &Value) -> Vec<Targeted> {
    let mut all = Vec::new();
    for group in config_groups(section) {
        let Some(weights) = group.get("weights") else {
            continue;
        };
        let groups = IntGroups {
            bits: weights.get("num_bits").and_then(bits),
            group_cols: match weights.get("group_size") {
                None | Some(Value::Null) => Some(0),
                Some(size) => group_cols(size),
            },
        };
        let targets = group.get("targets").and_then(Value::as_array);
        let targets = targets.into_iter().flatten().filter_map(Value::as_str);
        if weights.get("type").and_then(Value::as_str) == Some("int") {
            all.push(Targeted {
                groups,
                targets: targets.map(str::to_owned).collect(),
            });
        }
    }
    all
}

fn config_groups(section: &Value) -> impl Iterator<Item = &Value> {
    let groups = section.get("config_groups").and_then(Value::as_object);
    groups.into_iter().flat_map(|groups| groups.values())
}

fn bits(value: &Value) -> Option<u8> {
    value.as_u64().and_then(|bits| u8::try_from(bits).ok())
}

/// -1 stands for one group a row.
fn group_cols(value: &Value) -> Option<usize> {
    match value.as_i64()? {
        -1 => Some(0),
        cols => usize::try_from(cols).ok(),
    }
}

/// The 6-bit float that the config speaks of: Quark by its name, compressed-tensors by its width
/// alone, for it has no other than E2M3. `None` also where a config speaks of both.
pub(super) fn six_bit_float(section: Option<&Value>) -> Option<Element> {
    let section = section?;
    let mut found = Vec::new();
    for key in [
        "global_quant_config",
        "layer_quant_config",
        "layer_type_quant_config",
    ] {
        section
            .get(key)
            .into_iter()
            .for_each(|v| quark_dtypes(v, &mut found));
    }
    let float = |v: &Value| v.get("type").and_then(Value::as_str) == Some("float");
    let six = |v: &Value| v.get("num_bits").and_then(bits) == Some(6);
    let mut weights = config_groups(section).filter_map(|group| group.get("weights"));
    if weights.any(|weights| float(weights) && six(weights)) {
        found.push(Element::E2m3);
    }
    let first = *found.first()?;
    found.iter().all(|&other| other == first).then_some(first)
}

/// Element types of weights in a Quark section, however deep: `weight` is one description, or a
/// list of one for each level of scales.
fn quark_dtypes(section: &Value, found: &mut Vec<Element>) {
    let Some(section) = section.as_object() else {
        return;
    };
    for (key, value) in section {
        if key != "weight" {
            quark_dtypes(value, found);
            continue;
        }
        let levels = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        let dtypes = levels
            .iter()
            .filter_map(|level| level.get("dtype")?.as_str());
        found.extend(dtypes.filter_map(six_bit_name));
    }
}

/// The element that tools call by this name.
pub(super) fn six_bit_name(name: &str) -> Option<Element> {
    match name {
        "fp6_e2m3" => Some(Element::E2m3),
        "fp6_e3m2" => Some(Element::E3m2),
        _ => None,
    }
}
