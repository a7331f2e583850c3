//! MXFP4 to NVFP4: the codes stay, the powers of two become E4M3 scales.

use super::TranscodeError;
use crate::decode::Rows;
use crate::element::{E2m1, E4m3Fn, E8m0Fnu};
use crate::encode::{ScaleRule, tensor_scale};
use crate::{Format, LenMismatch, Shape, bits};

/// Columns of a block of either format.
const MX_COLS: usize = 32;
const NV_COLS: usize = 16;

/// The exponents that an E4M3 scale holds as powers of two: 2^-9 to 2^8.
const EXPONENTS: core::ops::RangeInclusive<i32> = -9..=8;

/// How one MXFP4 tensor becomes NVFP4, from its scales alone.
///
/// With `k` the exponent of a block's scale and `k_max` the largest in the tensor, the scale of the
/// tensor is `2^m`, `m = k_max - 8`, and that of the block `2^(k - m)`. E4M3 holds that exactly while
/// `k - m` is -9 to 8, which is 17 binades below the largest: then the codes stay as they are and
/// the block is lossless. A block farther below is encoded anew, with the largest of its numbers as
/// 6. Each block of 32 becomes two of 16. (The lossless cast of ModelOpt.)
///
/// ```
/// use blockscale::decode::Rows;
/// use blockscale::transcode::{Mxfp4ToNvfp4, Nvfp4Blocks};
/// use blockscale::Shape;
///
/// let scales = [120, 117];
/// let plan = Mxfp4ToNvfp4::of_scales(&scales);
/// assert_eq!(plan.global(), 2_f32.powi(120 - 127 - 8));
/// assert_eq!(plan.blocks(&scales), Nvfp4Blocks { lossless: 2, ..Nvfp4Blocks::default() });
///
/// let rows = Rows { codes: &[0x21; 32], scales: &scales, global: 1.0 };
/// let (mut codes, mut block_scales) = ([0; 32], [0; 4]);
/// let shape = Shape::new(1, 64);
/// plan.rows(shape, rows, &mut codes, &mut block_scales, |_, _| ())?;
/// assert_eq!(codes, [0x21; 32]);
/// assert_eq!(block_scales, [0x78, 0x78, 0x60, 0x60]); // 2^8, 2^8, 2^5, 2^5
/// # Ok::<(), blockscale::transcode::TranscodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mxfp4ToNvfp4 {
    /// Code of the largest scale, `None` before one is seen. Neither that of NaN nor 0, which
    /// blocks of zeros have.
    largest: Option<u8>,
}

/// How blocks of 32 fare, in numbers of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nvfp4Blocks {
    /// Every value stays, to the bit.
    pub lossless: usize,
    /// Encoded anew, and some value may change.
    pub reencoded: usize,
    /// The scale is NaN, and stays NaN.
    pub nan: usize,
}

impl Mxfp4ToNvfp4 {
    /// The way of a tensor with these scales, all of them.
    pub fn of_scales(scales: &[u8]) -> Self {
        let finite = |&code: &u8| code != E8m0Fnu::NAN.to_bits() && code != 0;
        Self {
            largest: scales.iter().copied().filter(finite).max(),
        }
    }

    /// The way of a tensor of which this and the other are parts.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            largest: self.largest.max(other.largest),
        }
    }

    /// `2^m`, the scale of the tensor, which multiplies; 1 where no block has a scale above 2^-127.
    pub fn global(self) -> f32 {
        // From 2^-134 up: in f32 a subnormal, and exact.
        self.largest.map_or(1.0, |code| {
            E8m0Fnu::from_bits(code).to_f32() * (1.0 / 256.0)
        })
    }

    /// The E4M3 scale of a block whose codes can stay, `None` where it is out of range.
    fn scale(self, code: u8) -> Option<E4m3Fn> {
        let exponent = i32::from(code) - i32::from(self.largest?) + 8;
        EXPONENTS.contains(&exponent).then(|| {
            let scale = f32::from_bits(((exponent + 127) as u32) << 23);
            E4m3Fn::from_f32(scale)
        })
    }

    /// How blocks with these scales fare, for all that can be told from scales: some of those
    /// counted as [`reencoded`](Nvfp4Blocks::reencoded), blocks of zeros among them, may prove
    /// lossless once their codes are seen.
    pub fn blocks(self, scales: &[u8]) -> Nvfp4Blocks {
        let mut blocks = Nvfp4Blocks::default();
        for &code in scales {
            match self.scale(code) {
                _ if code == E8m0Fnu::NAN.to_bits() => blocks.nan += 1,
                Some(_) => blocks.lossless += 1,
                None => blocks.reencoded += 1,
            }
        }
        blocks
    }

    /// Transcodes a run of rows of [`Format::MXFP4`] to [`Format::NVFP4`].
    ///
    /// `on_block` is called with the index of each block of 32 and whether it is lossless. A block
    /// of zeros keeps its codes and has the scale 1; one with a NaN scale keeps its codes and a NaN
    /// scale.
    ///
    /// # Errors
    ///
    /// [`TranscodeError::Len`] where a slice is not as long as `shape` asks for.
    pub fn rows(
        self,
        shape: Shape,
        rows: Rows<'_>,
        codes: &mut [u8],
        scales: &mut [u8],
        mut on_block: impl FnMut(usize, bool),
    ) -> Result<Nvfp4Blocks, TranscodeError> {
        rows.check(&Format::MXFP4, shape)?;
        LenMismatch::check("new codes", Format::NVFP4.code_bytes(shape), codes.len())?;
        LenMismatch::check("new scales", Format::NVFP4.scale_bytes(shape), scales.len())?;
        let mut counts = Nvfp4Blocks::default();
        if shape.cols == 0 {
            return Ok(counts);
        }
        codes.copy_from_slice(rows.codes);
        let blocks_a_row = shape.cols.div_ceil(MX_COLS);
        let code_rows = codes.chunks_exact_mut(shape.cols.div_ceil(2));
        let scale_rows = scales.chunks_exact_mut(shape.cols.div_ceil(NV_COLS));
        for (row, (codes, scales)) in code_rows.zip(scale_rows).enumerate() {
            let blocks = codes.chunks_mut(MX_COLS / 2).zip(scales.chunks_mut(2));
            for (block, (codes, scales)) in blocks.enumerate() {
                let index = row * blocks_a_row + block;
                let code = rows.scales[index];
                if code == E8m0Fnu::NAN.to_bits() {
                    scales.fill(0x7f);
                    counts.nan += 1;
                    on_block(index, true);
                    continue;
                }
                let lossless = self.block(code, codes, scales);
                counts.lossless += usize::from(lossless);
                counts.reencoded += usize::from(!lossless);
                on_block(index, lossless);
            }
        }
        Ok(counts)
    }

    /// Whether the block lost nothing.
    fn block(self, code: u8, codes: &mut [u8], scales: &mut [u8]) -> bool {
        if let Some(scale) = self.scale(code) {
            scales.fill(scale.to_bits());
            return true;
        }
        let old = E8m0Fnu::from_bits(code).to_f32();
        let halves = codes.chunks_mut(NV_COLS / 2).zip(scales);
        halves.fold(true, |lossless, (codes, scale)| {
            self.reencode(old, codes, scale) && lossless
        })
    }

    /// Encodes 16 columns anew, and says whether no value changed.
    fn reencode(self, old: f32, codes: &mut [u8], stored: &mut u8) -> bool {
        let value = |code: u8| E2m1::from_bits(code).to_f32();
        let largest = (0..2 * codes.len())
            .map(|col| value(bits::get(codes, 4, col)).abs())
            .fold(0.0, f32::max);
        if largest == 0.0 {
            *stored = 0x38;
            return true;
        }
        let global = self.global();
        let relative = largest * old / global;
        let chosen = tensor_scale(&Format::NVFP4_ONE_LEVEL, ScaleRule::Amax, relative);
        *stored = E4m3Fn::from_f32(chosen).to_bits();
        let new = chosen * global;
        let mut lossless = true;
        let mut recode = |code: u8| {
            let x = value(code) * old;
            let recoded = E2m1::from_f32(x / new);
            lossless &= recoded.to_f32() * new == x;
            recoded.to_bits()
        };
        for byte in codes {
            *byte = recode(*byte & 0xf) | (recode(*byte >> 4) << 4);
        }
        lossless
    }
}
