//! Names, shapes and configurations of DeepSeek-V4.

mod config;
mod names;
mod shapes;

use serde_json::Value;

pub(crate) const WRITTEN_BY_OTHERS: [(&str, &str, &str); 4] = [
    (
        "official",
        include_str!("../data/deepseek_v4/official.config.json"),
        include_str!("../data/deepseek_v4/official.txt"),
    ),
    (
        "modelopt-release",
        include_str!("../data/deepseek_v4/modelopt-release.config.json"),
        include_str!("../data/deepseek_v4/modelopt-release.txt"),
    ),
    (
        "modelopt-export",
        include_str!("../data/deepseek_v4/modelopt-export.config.json"),
        include_str!("../data/deepseek_v4/modelopt-export.txt"),
    ),
    (
        "compressed-tensors",
        include_str!("../data/deepseek_v4/compressed-tensors.config.json"),
        include_str!("../data/deepseek_v4/compressed-tensors.txt"),
    ),
];

pub(crate) fn config_of(writer: &str) -> Value {
    let (_, config, _) = WRITTEN_BY_OTHERS
        .iter()
        .find(|(name, ..)| *name == writer)
        .unwrap();
    serde_json::from_str(config).unwrap()
}
