//! Where integers, scales and zero points lie.

use std::fmt;

use super::IntError;
use crate::{LenMismatch, ScaleElement, Shape};

/// How one library lays out groups of integers; the [module](super) has the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IntLayout {
    /// AutoAWQ's `gemm`.
    AwqGemm,
    /// GPTQ with `checkpoint_format` `gptq`, whose zero points are stored less 1.
    Gptq,
    /// GPTQ with `checkpoint_format` `gptq_v2`.
    GptqV2,
    /// compressed-tensors' `pack-quantized`.
    CompressedTensors,
    /// ModelOpt's INT4_AWQ.
    Modelopt,
    /// MLX' affine quantisation.
    Mlx,
}

impl IntLayout {
    /// The widths it takes, in words.
    pub(super) const fn widths(self) -> &'static str {
        match self {
            Self::AwqGemm | Self::Modelopt => "4 bits",
            Self::Gptq | Self::GptqV2 => "2, 4 or 8 bits",
            Self::CompressedTensors => "1 to 8 bits",
            Self::Mlx => "2, 3, 4, 5, 6 or 8 bits",
        }
    }

    const fn takes(self, bits: u8) -> bool {
        match self {
            Self::AwqGemm | Self::Modelopt => bits == 4,
            Self::Gptq | Self::GptqV2 => matches!(bits, 2 | 4 | 8),
            Self::CompressedTensors => matches!(bits, 1..=8),
            Self::Mlx => matches!(bits, 2..=6 | 8),
        }
    }
}

impl fmt::Display for IntLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AwqGemm => "AWQ gemm",
            Self::Gptq => "GPTQ",
            Self::GptqV2 => "GPTQ v2",
            Self::CompressedTensors => "compressed-tensors pack-quantized",
            Self::Modelopt => "ModelOpt INT4_AWQ",
            Self::Mlx => "MLX affine",
        })
    }
}

/// Integers in groups: how wide they are, how many columns share a scale, and how they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntFormat {
    /// Bits of an integer.
    pub bits: u8,
    /// Columns of a group; 0 for one group a row.
    pub group_cols: usize,
    /// Type of the scales, and of MLX' biases.
    pub scale: ScaleElement,
    /// How it all lies.
    pub layout: IntLayout,
}

/// Where the bits of a code start: a word, counted from the first, and a bit in it; and how many
/// words on the next one is, for a code that crosses into it.
pub(super) struct Place {
    pub(super) word: usize,
    pub(super) bit: usize,
    pub(super) next: usize,
}

/// At which place of a word AutoAWQ puts each of 8 rows.
const AWQ_PLACES: [usize; 8] = [0, 4, 1, 5, 2, 6, 3, 7];

impl IntFormat {
    /// Groups of a row.
    ///
    /// ```
    /// use blockscale::int::{IntFormat, IntLayout};
    /// use blockscale::{ScaleElement, Shape};
    ///
    /// let (scale, layout) = (ScaleElement::F16, IntLayout::AwqGemm);
    /// let format = IntFormat { bits: 4, group_cols: 128, scale, layout };
    /// let shape = Shape::new(64, 300);
    /// assert_eq!(format.groups(shape.cols), 3);
    /// assert_eq!(format.code_bytes(shape), Some(300 * 64 / 2));
    /// assert_eq!(format.scale_bytes(shape), Some(3 * 64 * 2));
    /// assert_eq!(format.zero_bytes(shape), Some(3 * 64 / 2));
    /// ```
    pub const fn groups(&self, cols: usize) -> usize {
        match self.group_cols {
            0 => 1,
            group => cols.div_ceil(group),
        }
    }

    /// The group of a column, where no index says otherwise.
    pub(super) const fn group_of(&self, col: usize) -> usize {
        match self.group_cols {
            0 => 0,
            group => col / group,
        }
    }

    /// Checks that the layout has integers of this width.
    ///
    /// # Errors
    ///
    /// [`IntError::Bits`] if it has none.
    pub fn check_bits(&self) -> Result<(), IntError> {
        if self.layout.takes(self.bits) {
            return Ok(());
        }
        Err(IntError::Bits {
            layout: self.layout,
            bits: self.bits,
        })
    }

    /// Words of 32 bits that `codes` codes take one after the other, `None` where that overflows.
    fn words(&self, codes: usize) -> Option<usize> {
        let bits = usize::from(self.bits);
        (codes / 32)
            .checked_mul(bits)?
            .checked_add((codes % 32 * bits).div_ceil(32))
    }

    /// Bytes that the codes take, `None` where that overflows.
    pub fn code_bytes(&self, Shape { rows, cols }: Shape) -> Option<usize> {
        let words = match self.layout {
            IntLayout::AwqGemm => cols.checked_mul(self.words(rows)?)?,
            IntLayout::Gptq | IntLayout::GptqV2 => self.words(cols)?.checked_mul(rows)?,
            IntLayout::CompressedTensors | IntLayout::Mlx => rows.checked_mul(self.words(cols)?)?,
            IntLayout::Modelopt => return rows.div_ceil(2).checked_mul(cols),
        };
        words.checked_mul(4)
    }

    /// Bytes that the scales take, `None` where that overflows.
    pub fn scale_bytes(&self, shape: Shape) -> Option<usize> {
        let scales = self.groups(shape.cols).checked_mul(shape.rows)?;
        scales.checked_mul(self.scale.bytes())
    }

    /// Bytes that the zero points or biases take, `None` where that overflows.
    pub fn zero_bytes(&self, shape: Shape) -> Option<usize> {
        let groups = self.groups(shape.cols);
        match self.layout {
            IntLayout::Mlx => self.scale_bytes(shape),
            IntLayout::Modelopt => Some(0),
            _ => groups.checked_mul(self.words(shape.rows)?)?.checked_mul(4),
        }
    }

    pub(super) fn check(
        &self,
        shape: Shape,
        codes: usize,
        scales: usize,
        zeros: Option<usize>,
    ) -> Result<(), IntError> {
        self.check_bits()?;
        LenMismatch::check("codes", self.code_bytes(shape), codes)?;
        LenMismatch::check("scales", self.scale_bytes(shape), scales)?;
        match (self.layout, zeros) {
            (IntLayout::Modelopt, Some(_)) | (IntLayout::Mlx, None) => Err(IntError::Zeros {
                layout: self.layout,
            }),
            (_, None) => Ok(()),
            (_, Some(zeros)) => Ok(LenMismatch::check("zeros", self.zero_bytes(shape), zeros)?),
        }
    }

    /// Where the code of an element is.
    pub(super) fn code_place(&self, shape: Shape, row: usize, col: usize) -> Place {
        let bits = usize::from(self.bits);
        match self.layout {
            IntLayout::AwqGemm => self.across_rows(shape.rows, col, row),
            IntLayout::Gptq | IntLayout::GptqV2 => {
                let codes_a_word = 32 / bits;
                Place {
                    word: col / codes_a_word * shape.rows + row,
                    bit: col % codes_a_word * bits,
                    next: shape.rows,
                }
            }
            IntLayout::CompressedTensors | IntLayout::Mlx => {
                let words = shape.cols / 32 * bits + (shape.cols % 32 * bits).div_ceil(32);
                stream(row * words, bits, col)
            }
            IntLayout::Modelopt => {
                let byte = row / 2 * shape.cols + col;
                Place {
                    word: byte / 4,
                    bit: byte % 4 * 8 + row % 2 * 4,
                    next: 1,
                }
            }
        }
    }

    /// Where the zero point of a group is.
    pub(super) fn zero_place(&self, shape: Shape, row: usize, group: usize) -> Place {
        match self.layout {
            IntLayout::CompressedTensors => {
                let groups = self.groups(shape.cols);
                let Place { word, bit, .. } = stream(0, usize::from(self.bits), row);
                Place {
                    word: word * groups + group,
                    bit,
                    next: groups,
                }
            }
            _ => self.across_rows(shape.rows, group, row),
        }
    }

    /// Line `line` of codes for all rows.
    fn across_rows(&self, rows: usize, line: usize, row: usize) -> Place {
        let bits = usize::from(self.bits);
        let place = match self.layout {
            IntLayout::AwqGemm => row / 8 * 8 + AWQ_PLACES[row % 8],
            _ => row,
        };
        let words = rows / 32 * bits + (rows % 32 * bits).div_ceil(32);
        stream(line * words, bits, place)
    }

    /// Which scale, counted from the first, is that of a group.
    pub(super) fn scale_index(&self, shape: Shape, row: usize, group: usize) -> usize {
        match self.layout {
            IntLayout::AwqGemm | IntLayout::Gptq | IntLayout::GptqV2 => group * shape.rows + row,
            _ => row * self.groups(shape.cols) + group,
        }
    }

    /// What is stored for the integer 0.
    pub(super) fn middle(&self) -> i32 {
        match self.layout {
            IntLayout::Mlx => 0,
            _ => 1 << (self.bits - 1),
        }
    }

    /// What is added to a zero point before it is stored.
    pub(super) fn zero_offset(&self) -> i32 {
        match self.layout {
            IntLayout::Gptq => -1,
            _ => 0,
        }
    }
}

/// Code `index` of a stream that starts with word `first`.
fn stream(first: usize, bits: usize, index: usize) -> Place {
    let bit = index % 32 * bits;
    Place {
        word: first + index / 32 * bits + bit / 32,
        bit: bit % 32,
        next: 1,
    }
}

/// The byte of a bit, in words that lie where `place` says.
fn byte_and_shift(place: &Place, offset: usize) -> (usize, usize) {
    let bit = place.bit + offset;
    let word = place.word + bit / 32 * place.next;
    (word * 4 + bit % 32 / 8, bit % 8)
}

/// The code of `bits` bits that starts at `place`.
pub(super) fn read(words: &[u8], place: &Place, bits: u8) -> u8 {
    let (mut code, mut done) = (0, 0);
    while done < usize::from(bits) {
        let (byte, shift) = byte_and_shift(place, done);
        code |= (u16::from(words[byte]) >> shift) << done;
        done += 8 - shift;
    }
    code as u8 & (u8::MAX >> (8 - bits))
}

/// Writes the low `bits` bits of `code` at `place`, where zeros are.
pub(super) fn write(words: &mut [u8], place: &Place, bits: u8, code: u8) {
    let code = code & (u8::MAX >> (8 - bits));
    let mut done = 0;
    while done < usize::from(bits) {
        let (byte, shift) = byte_and_shift(place, done);
        words[byte] |= ((u16::from(code) >> done) << shift) as u8;
        done += 8 - shift;
    }
}
