//! Integers in groups: which tensors hold them, and the widths, groups and order that they spell.
//!
//! Shapes say nearly everything; the config gives what they leave open, and is held against them.

use blockscale::format::ScaleElement;
use blockscale::int::{IntFormat, IntLayout};
use safetensors::Dtype;

use super::format_of::Facts;
use super::int_config::{IntConfig, IntGroups};
use super::problem::ScaleProblem;

/// A way of naming the tensors of integers in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// `qweight`, `scales`, `qzeros`, `g_idx`.
    AwqOrGptq,
    /// `weight_packed` in words, and `weight_shape`.
    CompressedTensors,
    /// `weight` in bytes, two rows a byte, and `weight_scale`.
    Modelopt,
    /// `weight` in words, `scales`, `biases`.
    Mlx,
}

/// Suffixes of a module's tensors.
pub(super) struct Names {
    pub(super) family: Family,
    pub(super) codes: &'static str,
    pub(super) scales: &'static str,
    /// Zero points, or biases.
    pub(super) zeros: Option<&'static str>,
    pub(super) index: Option<&'static str>,
    pub(super) shape: Option<&'static str>,
}

/// Every family, no two with the same dtype under one suffix of codes.
pub(super) const FAMILIES: [Names; 4] = [
    Names {
        family: Family::AwqOrGptq,
        codes: ".qweight",
        scales: ".scales",
        zeros: Some(".qzeros"),
        index: Some(".g_idx"),
        shape: None,
    },
    Names {
        family: Family::CompressedTensors,
        codes: ".weight_packed",
        scales: ".weight_scale",
        zeros: Some(".weight_zero_point"),
        index: Some(".weight_g_idx"),
        shape: Some(".weight_shape"),
    },
    Names {
        family: Family::Modelopt,
        codes: ".weight",
        scales: ".weight_scale",
        zeros: None,
        index: None,
        shape: None,
    },
    Names {
        family: Family::Mlx,
        codes: ".weight",
        scales: ".scales",
        zeros: Some(".biases"),
        index: None,
        shape: None,
    },
];

impl Family {
    /// Whether these codes and scales are of the family, as block formats share some of its names.
    pub(super) fn has(self, codes: Facts<'_>, scales: Option<Facts<'_>>) -> bool {
        let words = matches!(codes.dtype, Dtype::I32 | Dtype::U32);
        let float = scales.is_some_and(|s| scale_element(s.dtype).is_some());
        match self {
            Self::AwqOrGptq | Self::CompressedTensors => words,
            Self::Mlx => words && float,
            Self::Modelopt => {
                let rows = |facts: Facts<'_>| facts.shape.first().copied().unwrap_or(0);
                let halved = scales.is_some_and(|s| rows(s).div_ceil(2) == rows(codes));
                matches!(codes.dtype, Dtype::U8 | Dtype::I8) && float && halved
            }
        }
    }
}

/// The type of float scales.
fn scale_element(dtype: Dtype) -> Option<ScaleElement> {
    match dtype {
        Dtype::F32 => Some(ScaleElement::F32),
        Dtype::BF16 => Some(ScaleElement::Bf16),
        Dtype::F16 => Some(ScaleElement::F16),
        _ => None,
    }
}

/// What stands beside each other in the file.
pub(super) struct Evidence<'a> {
    pub(super) family: Family,
    pub(super) module: &'a str,
    pub(super) codes: Facts<'a>,
    pub(super) scales: Facts<'a>,
    pub(super) zeros: Option<Facts<'a>>,
    pub(super) index: Option<Facts<'a>>,
    /// `quant_method` of the config.
    pub(super) method: Option<&'a str>,
    pub(super) config: &'a IntConfig,
    /// What the config may mean for this module.
    pub(super) groups: &'a [IntGroups],
}

/// Format and shape of a weight.
type Reading = (IntFormat, Vec<usize>);

/// Settles the format that the evidence spells, and the logical shape of the weight.
pub(super) fn int_format_of(evidence: &Evidence<'_>) -> Result<Reading, ScaleProblem> {
    let scale = scale_element(evidence.scales.dtype).ok_or_else(|| ScaleProblem::Dtype {
        scale: evidence.scales.name.to_owned(),
        expected: "F16, BF16 or F32",
        found: evidence.scales.dtype,
    })?;
    let stated = evidence.groups;
    let unstated = [IntGroups::default()];
    let candidates = if stated.is_empty() { &unstated } else { stated };
    let mut readings = Vec::new();
    let mut problem = None;
    for &groups in candidates {
        match evidence.read(scale, groups) {
            Ok(reading) if !readings.contains(&reading) => readings.push(reading),
            Ok(_) => {}
            Err(error) => {
                problem.get_or_insert(error);
            }
        }
    }
    match (readings.len(), problem) {
        (0, Some(problem)) => Err(problem),
        (1, _) => Ok(readings.swap_remove(0)),
        _ => Err(ScaleProblem::Unsaid {
            what: "which of its groups of integers this weight is in",
            key: "bits and group_size of this module",
        }),
    }
}

impl Evidence<'_> {
    /// Reads the tensors with what the config says, and holds every shape against it.
    fn read(&self, scale: ScaleElement, stated: IntGroups) -> Result<Reading, ScaleProblem> {
        let (mut format, lead, [rows, cols]) = match self.family {
            Family::AwqOrGptq => self.awq_or_gptq(scale, stated)?,
            Family::CompressedTensors => self.compressed_tensors(scale, stated)?,
            Family::Modelopt => self.modelopt(scale)?,
            Family::Mlx => self.mlx(scale, stated)?,
        };
        format.check_bits()?;
        format.group_cols = self.group_cols(&format, cols, stated)?;
        if let Some(bits) = stated.bits.filter(|&bits| bits != format.bits) {
            return Err(ScaleProblem::Disagrees {
                key: "bits",
                stated: bits.to_string(),
                found: format.bits.to_string(),
            });
        }
        self.check_shapes(&format, &lead, [rows, cols])?;
        Ok((format, [lead, vec![rows, cols]].concat()))
    }

    fn awq_or_gptq(&self, scale: ScaleElement, stated: IntGroups) -> Result<Parts, ScaleProblem> {
        let [lines, words] = matrix(self.codes)?;
        let [_, rows] = matrix(self.scales)?;
        let gptq = words == rows;
        let (announced, found) = (self.method, if gptq { "gptq" } else { "awq" });
        if let Some(announced @ ("awq" | "gptq")) = announced
            && announced != found
        {
            return Err(ScaleProblem::Disagrees {
                key: "quant_method",
                stated: announced.to_owned(),
                found: found.to_owned(),
            });
        }
        if !gptq {
            let layout = self.awq_layout()?;
            let format = int_format(width(words, rows, stated.bits), scale, layout);
            return Ok((format, Vec::new(), [rows, lines]));
        }
        let from_zeros = match self.zeros {
            Some(zeros) => Some(width(matrix(zeros)?[1], rows, stated.bits)),
            None => None,
        };
        let bits = from_zeros.or(stated.bits).ok_or(ScaleProblem::Unsaid {
            what: "how many bits its integers have",
            key: "`quantization_config.bits`",
        })?;
        let format = int_format(bits, scale, self.gptq_layout()?);
        let cols = match self.index.map(|index| index.shape) {
            Some(&[cols]) => cols,
            _ => codes_in(lines, bits),
        };
        Ok((format, Vec::new(), [rows, cols]))
    }

    fn awq_layout(&self) -> Result<IntLayout, ScaleProblem> {
        match self.config.version.as_deref() {
            None | Some("gemm" | "GEMM") => Ok(IntLayout::AwqGemm),
            Some(version) => Err(ScaleProblem::NotRead {
                what: format!("AWQ version `{version}`"),
                instead: "export the checkpoint as version `gemm`",
            }),
        }
    }

    /// Without zero points the two forms of GPTQ are the same.
    fn gptq_layout(&self) -> Result<IntLayout, ScaleProblem> {
        match (self.config.checkpoint_format.as_deref(), self.method) {
            (Some("gptq_v2"), _) => Ok(IntLayout::GptqV2),
            (Some("gptq"), _) | (None, Some("gptq")) => Ok(IntLayout::Gptq),
            (Some(other), _) => Err(ScaleProblem::NotRead {
                what: format!("GPTQ checkpoint format `{other}`"),
                instead: "export the checkpoint as `gptq` or `gptq_v2`",
            }),
            (None, _) if self.zeros.is_none() => Ok(IntLayout::Gptq),
            (None, _) => Err(ScaleProblem::Unsaid {
                what: "whether GPTQ's zero points are stored less 1",
                key: "`quantization_config.checkpoint_format`, `gptq` if they are or `gptq_v2`",
            }),
        }
    }

    fn compressed_tensors(
        &self,
        scale: ScaleElement,
        stated: IntGroups,
    ) -> Result<Parts, ScaleProblem> {
        let [rows, words] = matrix(self.codes)?;
        let [_, groups] = matrix(self.scales)?;
        let bits = stated.bits.ok_or(ScaleProblem::Unsaid {
            what: "how many bits its integers have",
            key: "`num_bits` of its group in `quantization_config.config_groups`",
        })?;
        let format = int_format(bits, scale, IntLayout::CompressedTensors);
        // Words show the columns but for the last few; whole groups show all.
        let whole_groups = stated.group_cols.unwrap_or(0).saturating_mul(groups);
        let cols = match words_of(whole_groups, bits) {
            found if found == words && whole_groups > 0 => whole_groups,
            _ => codes_in(words, bits),
        };
        Ok((format, Vec::new(), [rows, cols]))
    }

    fn modelopt(&self, scale: ScaleElement) -> Result<Parts, ScaleProblem> {
        let [_, cols] = matrix(self.codes)?;
        let [rows, _] = matrix(self.scales)?;
        let format = int_format(4, scale, IntLayout::Modelopt);
        Ok((format, Vec::new(), [rows, cols]))
    }

    fn mlx(&self, scale: ScaleElement, stated: IntGroups) -> Result<Parts, ScaleProblem> {
        let bits = stated.bits.ok_or(ScaleProblem::Unsaid {
            what: "how many bits its integers have",
            key: "`quantization.bits`",
        })?;
        let Some(zeros) = self.zeros else {
            return Err(ScaleProblem::Missing {
                dtype: self.codes.dtype,
                looked_for: vec![format!("{}.biases", self.module)],
            });
        };
        if zeros.dtype != self.scales.dtype {
            return Err(ScaleProblem::Dtype {
                scale: zeros.name.to_owned(),
                expected: "the dtype of the scales",
                found: zeros.dtype,
            });
        }
        let [ref lead @ .., rows, words] = *self.codes.shape else {
            return Err(no_matrix(self.codes));
        };
        let format = int_format(bits, scale, IntLayout::Mlx);
        Ok((format, lead.to_vec(), [rows, codes_in(words, bits)]))
    }

    /// Columns of a group: what the config says, or what divides the columns evenly.
    fn group_cols(
        &self,
        format: &IntFormat,
        cols: usize,
        stated: IntGroups,
    ) -> Result<usize, ScaleProblem> {
        let groups = match format.layout {
            IntLayout::AwqGemm | IntLayout::Gptq | IntLayout::GptqV2 => matrix(self.scales)?[0],
            _ => self.scales.shape.last().copied().unwrap_or(0),
        };
        match stated.group_cols {
            Some(0) if groups == 1 => Ok(0),
            Some(size) if size > 0 && cols.div_ceil(size) == groups => Ok(size),
            Some(size) => Err(ScaleProblem::Disagrees {
                key: "group_size",
                stated: size.to_string(),
                found: format!("{groups} groups of {cols} columns"),
            }),
            None if groups == 1 => Ok(0),
            None if groups > 0 && cols.is_multiple_of(groups) => Ok(cols / groups),
            None => Err(ScaleProblem::Unsaid {
                what: "how many columns share a scale",
                key: "`group_size`",
            }),
        }
    }

    fn check_shapes(
        &self,
        format: &IntFormat,
        lead: &[usize],
        [rows, cols]: [usize; 2],
    ) -> Result<(), ScaleProblem> {
        let words = |codes| words_of(codes, format.bits);
        let groups = format.groups(cols);
        let (codes, scales, zeros) = match format.layout {
            IntLayout::AwqGemm => ([cols, words(rows)], [groups, rows], [groups, words(rows)]),
            IntLayout::Gptq | IntLayout::GptqV2 => {
                ([words(cols), rows], [groups, rows], [groups, words(rows)])
            }
            IntLayout::CompressedTensors => {
                ([rows, words(cols)], [rows, groups], [words(rows), groups])
            }
            IntLayout::Modelopt => ([rows.div_ceil(2), cols], [rows, groups], [0, 0]),
            _ => ([rows, words(cols)], [rows, groups], [rows, groups]),
        };
        let of = |shape: [usize; 2]| [lead, &shape].concat();
        let mut parts = vec![(self.codes, of(codes)), (self.scales, of(scales))];
        parts.extend(self.zeros.map(|facts| (facts, of(zeros))));
        parts.extend(self.index.map(|facts| (facts, vec![cols])));
        match parts.iter().find(|(facts, shape)| facts.shape != shape) {
            None => Ok(()),
            Some((facts, expected)) => Err(ScaleProblem::PartShape {
                tensor: facts.name.to_owned(),
                expected: expected.clone(),
                found: facts.shape.to_vec(),
                format: super::Encoding::Grouped(*format).to_string(),
            }),
        }
    }
}

/// A format without its groups, leading axes, rows and columns.
type Parts = (IntFormat, Vec<usize>, [usize; 2]);

fn int_format(bits: u8, scale: ScaleElement, layout: IntLayout) -> IntFormat {
    IntFormat {
        bits,
        group_cols: 0,
        scale,
        layout,
    }
}

fn matrix(facts: Facts<'_>) -> Result<[usize; 2], ScaleProblem> {
    match *facts.shape {
        [first, second] => Ok([first, second]),
        _ => Err(no_matrix(facts)),
    }
}

fn no_matrix(facts: Facts<'_>) -> ScaleProblem {
    ScaleProblem::NotRead {
        what: format!("integers in a tensor of shape {:?}", facts.shape),
        instead: "they are read as matrices, one tensor each",
    }
}

/// Words of 32 bits that hold so many codes.
fn words_of(codes: usize, bits: u8) -> usize {
    codes.saturating_mul(bits.into()).div_ceil(32)
}

/// Codes that so many words hold.
fn codes_in(words: usize, bits: u8) -> usize {
    words.saturating_mul(32) / usize::from(bits.max(1))
}

/// Bits of each of `codes` codes in so many words: as stated, if that makes so many, for the last
/// word need not be full.
fn width(words: usize, codes: usize, stated: Option<u8>) -> u8 {
    if let Some(bits) = stated.filter(|&bits| words_of(codes, bits) == words) {
        return bits;
    }
    u8::try_from(words.saturating_mul(32) / codes.max(1)).unwrap_or(u8::MAX)
}
