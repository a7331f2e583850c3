//! Orders in which serving runtimes keep scales and codes, to and from the order of checkpoints.
//!
//! A checkpoint holds a weight and its scales row by row. Before the first multiplication a runtime
//! brings both into the order its kernels read. [`ScaleLayout`] names these orders; this module
//! computes their sizes, applies them ([`permute_scales`], [`permute_codes`]) and undoes them
//! ([`unpermute_scales`], [`unpermute_codes`]), for stacks of matrices of any size. Padding is
//! zero.
//!
//! ```
//! use blockscale::layout::{ScaleLayout, Scales, Stack, permute_scales, unpermute_scales};
//! use blockscale::{ScaleElement, Shape};
//!
//! // 33 rows of two E4M3 scales.
//! let stack = Stack::single(Shape::new(33, 2));
//! let linear: [u8; 66] = std::array::from_fn(|i| i as u8);
//! let element = ScaleElement::E4m3Fn;
//! let scales = Scales { layout: ScaleLayout::Linear, element, bytes: &linear };
//!
//! let mut tiles = [0; 512];
//! permute_scales(ScaleLayout::Tiles128x4, stack, scales, &mut tiles)?;
//! assert_eq!(tiles[..2], [0, 1]); // row 0
//! assert_eq!(tiles[4..6], [64, 65]); // row 32 lies beside row 0
//! assert_eq!(tiles[16..18], [2, 3]); // row 1
//!
//! // Tiling what is tiled already is refused: the tag travels with the bytes.
//! let tiled = Scales { layout: ScaleLayout::Tiles128x4, bytes: &tiles, ..scales };
//! assert!(permute_scales(ScaleLayout::Tiles128x4, stack, tiled, &mut [0; 512]).is_err());
//!
//! let mut back = [0; 66];
//! unpermute_scales(stack, tiled, &mut back)?;
//! assert_eq!(back, linear);
//! # Ok::<(), blockscale::layout::LayoutError>(())
//! ```
//!
//! # Which layout for which runtime
//!
//! | runtime, weight | codes | scales |
//! |---|---|---|
//! | DeepGEMM on SM90, FP8 128 x 128 | as stored | as stored, F32 |
//! | DeepGEMM on SM90, FP8 1 x 128 | as stored | [`DeepGemmF32`](ScaleLayout::DeepGemmF32) |
//! | DeepGEMM on SM100, FP8 128 x 128 | as stored | [`DeepGemmPackedBlocks`](ScaleLayout::DeepGemmPackedBlocks) |
//! | DeepGEMM on SM100, FP8 1 x 128, MXFP4 | as stored | [`DeepGemmPacked`](ScaleLayout::DeepGemmPacked) |
//! | DeepGEMM Mega MoE, MXFP4 | [`MegaMoeL1`](ScaleLayout::MegaMoeL1), `L2` | the same |
//! | TensorRT-LLM kernels, NVFP4 | [`TrtllmMoeW13`](ScaleLayout::TrtllmMoeW13), `W2`, `Linear` | the same |
//! | CUTLASS and cuDNN, NVFP4 | as stored, [padded](pad_cutlass_codes) | [`Tiles128x4`](ScaleLayout::Tiles128x4) |
//! | Marlin, NVFP4 and MXFP4 | [`MarlinNvfp4`](ScaleLayout::MarlinNvfp4), `Mxfp4` | the same |
//!
//! What DeepGEMM does with the scales it is handed, check by check, is [`transform_sf`].

mod codes;
mod copies;
mod cutlass;
mod error;
mod k_grouped;
mod lines;
pub mod marlin;
mod memory;
mod name;
mod place;
mod rows;
mod scales;
pub mod transform_sf;

pub use codes::{Codes, permute_codes, unpermute_codes};
pub use cutlass::{crop_cutlass_codes, cutlass_code_shape, pad_cutlass_codes};
pub use error::LayoutError;
pub use k_grouped::{k_grouped_bytes, pack_k_grouped, unpack_k_grouped};
pub use memory::MemoryShape;
pub use rows::{RowShuffle, gate_up_eights_place, gate_up_eights_source, w13_place, w13_source};
#[cfg(test)]
pub(crate) use scales::Planes;
pub use scales::{Scales, permute_scales, unpermute_scales};

use crate::Shape;

/// An order of scales, and with it of codes, that some runtime reads.
///
/// `r` and `c` are the row and the column of a scale in its matrix, `R` and `C` the numbers of rows
/// and columns, `A` is `R` rounded up to 4, `T` is `ceil(C / 4)`. Offsets are in bytes; matrices of
/// a stack follow each other, each padded by itself.
///
/// Bytes do not show which layout they are in: a value of this type has to travel with them. Files
/// carry its [`name`](Self::name).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScaleLayout {
    /// Row by row, as checkpoints store scales: offset `(r * C + c) * bytes of a scale`.
    Linear,

    /// Tiles of 128 rows by 4 columns, 512 bytes each.
    ///
    /// ```text
    ///        bytes 0-3      4-7       8-11      12-15
    ///   0    row 0        row 32    row 64    row 96       four columns each
    ///   16   row 1        row 33    row 65    row 97
    ///   ...
    ///   496  row 31       row 63    row 95    row 127
    /// ```
    ///
    /// `offset = (r / 128 * T + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4`. Rows are
    /// padded to 128, columns to 4.
    ///
    /// Trap: libraries differ in 3-D. Here, as in FlashInfer and vLLM, each matrix is padded by
    /// itself; torchao flattens the stack first, which agrees only where `R` is a multiple of 128.
    ///
    /// Source: CUTLASS `Sm1xxBlockScaledBasicChunk`, cuBLAS "1D block scaling factors layout",
    /// torchao `to_blocked`, FlashInfer `get_sf_out_offset_128x4`.
    Tiles128x4,

    /// Tiles of 8 rows by 4 columns, 32 bytes each, row by row inside.
    ///
    /// `offset = (r / 8 * T + c / 4) * 32 + r % 8 * 4 + c % 4`. Rows are padded to 8, columns to 4.
    ///
    /// Trap: kernels choose it for activations of few rows; a weight in it is read as noise by all
    /// that expect [`Tiles128x4`](Self::Tiles128x4).
    ///
    /// Source: FlashInfer `get_sf_out_offset_8x4`.
    Tiles8x4,

    /// F32 scales column by column, each column padded to 16 bytes so that TMA can load it.
    ///
    /// ```text
    /// 3 rows, 2 columns: (0,0) (1,0) (2,0) pad (0,1) (1,1) (2,1) pad
    /// ```
    ///
    /// `offset = (c * A + r) * 4`. As a tensor: shape (R, C), strides (1, A).
    ///
    /// Trap: DeepGEMM leaves the padding unwritten; two runs of it compare unequal there.
    ///
    /// Source: DeepGEMM `get_mn_major_tma_aligned_tensor`.
    DeepGemmF32,

    /// Four UE8M0 scales along the columns in one 32-bit word, words column by column, columns of
    /// words padded to 16 bytes.
    ///
    /// ```text
    /// 3 rows, 5 columns, words:  r0[0..4] r1[0..4] r2[0..4] pad  r0[4] r1[4] r2[4] pad
    /// one word, from low byte:   c, c + 1, c + 2, c + 3
    /// ```
    ///
    /// `offset = (c / 4 * A + r) * 4 + c % 4`. As an I32 tensor: shape (R, T), strides (1, A).
    /// Scales 2^-6, 2^-7, 1, 2^-8 make the word `0x777F7879`.
    ///
    /// The source is UE8M0, or F32 that hold powers of two.
    ///
    /// Trap: packers of DeepGEMM before June 2026 shifted F32 bits without a mask, so a mantissa
    /// bit of one scale made its neighbour 255, which is NaN. Here such a scale is an error.
    ///
    /// Source: DeepGEMM `get_mn_major_tma_aligned_packed_ue8m0_tensor`.
    DeepGemmPacked,

    /// [`DeepGemmPacked`](Self::DeepGemmPacked) made from blocks of 128 rows: each of the 128 rows
    /// gets a copy of its block's scales.
    ///
    /// `R` is the number of rows of the weight; the source has `ceil(R / 128)`. The `wo_a` of
    /// DeepSeek-V4, R = 1024 and C = 32 in G groups, gives I32 (G, 1024, 8), strides
    /// (8192, 1, 1024).
    ///
    /// Trap: 128 times the bytes of the source. Block scales handed over without the copies have
    /// the right number of columns and are read as the scales of the first rows.
    ///
    /// Source: DeepGEMM `transform_sf_into_required_layout` on SM100.
    DeepGemmPackedBlocks,

    /// First MoE weight, gate and up, for TensorRT-LLM kernels: halves swapped, their rows in
    /// turn, shuffled, and the scales then in [`Tiles128x4`](Self::Tiles128x4).
    ///
    /// ```text
    /// disk          swapped       in turn                      shuffled (By32)
    /// w1 rows  ->   w3 rows  ->   w3[0] w1[0] w3[1] w1[1] ->   w3[0] w3[2] ... w3[14] w1[0] ...
    /// w3 rows       w1 rows
    /// ```
    ///
    /// The row of place `n` is [`w13_source`]. The result keeps the shape of the source, the codes
    /// need a multiple of 32 (16) rows, the scales one of 128.
    ///
    /// Trap: without the swap `silu` is applied to the wrong half; the text is fluent nonsense.
    ///
    /// Source: vLLM `prepare_static_weights_for_trtllm_fp4_moe`, FlashInfer
    /// `_maybe_get_cached_w3_w1_permute_indices`.
    TrtllmMoeW13(RowShuffle),

    /// Second MoE weight for TensorRT-LLM kernels: rows shuffled, scales then in
    /// [`Tiles128x4`](Self::Tiles128x4).
    ///
    /// The row of place `n` is [`RowShuffle::source`]. Row counts as for
    /// [`TrtllmMoeW13`](Self::TrtllmMoeW13).
    ///
    /// Trap: codes and scales are shuffled alike; scales that are only tiled belong to other rows.
    ///
    /// Source: FlashInfer `get_w2_permute_indices_with_cache`.
    TrtllmMoeW2(RowShuffle),

    /// Weight of a linear layer for TensorRT-LLM kernels; the same order as
    /// [`TrtllmMoeW2`](Self::TrtllmMoeW2).
    ///
    /// Trap: a fused weight (qkv, gate and up) is shuffled as one matrix, after its parts are put
    /// together.
    ///
    /// Source: vLLM's NVFP4 linear layers, FlashInfer `shuffle_matrix_a` and `shuffle_matrix_sf_a`.
    TrtllmLinear(RowShuffle),

    /// Marlin's order of NVFP4: codes in 16 x 64 tiles of 32-bit words, scales transposed, permuted
    /// and in the number format S0E5M3.
    ///
    /// Both are padded to N and K of (64, 128) or (128, 64), whichever makes the smaller area. A
    /// scale is stored at `c * N + p(r)`, where `p` transposes each 64 rows as 8 x 8 and exchanges
    /// the middle two of every four. [`marlin`] says what a stored byte is worth.
    ///
    /// Trap: scales below 2^-6, the subnormals of E4M3, become zero. Multiply the scales by
    /// [`marlin::scale_factor`] first; what is still below stays lost.
    ///
    /// Source: vLLM `gptq_marlin_repack`, `marlin_permute_scales`, `nvfp4_marlin_process_scales`.
    MarlinNvfp4,

    /// Marlin's order of MXFP4: as [`MarlinNvfp4`](Self::MarlinNvfp4), with UE8M0 scales of 32
    /// columns whose bytes stay what they are.
    ///
    /// Source: vLLM `mxfp4_marlin_process_scales`, with 16-bit activations.
    MarlinMxfp4,

    /// First MoE weight for DeepGEMM's Mega MoE: eight rows of gate, eight of up, in turn; scales
    /// packed as [`DeepGemmPacked`](Self::DeepGemmPacked), then the words of row `32 a + b` of each
    /// 128 at `4 b + a`.
    ///
    /// The row of place `n` is [`gate_up_eights_source`]. Rows come in multiples of 128. MXFP4
    /// only.
    ///
    /// Trap: gate comes first here, up first in [`TrtllmMoeW13`](Self::TrtllmMoeW13).
    ///
    /// Source: DeepGEMM `transform_weights_for_mega_moe`.
    MegaMoeL1,

    /// Second MoE weight for DeepGEMM's Mega MoE: codes as stored, scale words as in
    /// [`MegaMoeL1`](Self::MegaMoeL1).
    MegaMoeL2,
}

/// A stack of matrices of one size: the experts of a layer, the groups of a projection, or one.
///
/// For scales, `shape.rows` is the number of rows of the *weight* and `shape.cols` the number of
/// scales along one row. For codes, `shape.cols` is the number of *bytes* of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stack {
    /// Number of matrices.
    pub matrices: usize,
    /// Size of each.
    pub shape: Shape,
}

impl Stack {
    /// `matrices` matrices of `shape`.
    pub const fn new(matrices: usize, shape: Shape) -> Self {
        Self { matrices, shape }
    }

    /// One matrix.
    pub const fn single(shape: Shape) -> Self {
        Self::new(1, shape)
    }
}
