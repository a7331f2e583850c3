//! A plain model of how serving runtimes read their weights, to prove a layout right.
//!
//! [`layout`](crate::layout) says where a byte goes. This module starts from the other end: it
//! is given the memory that a kernel would be given, finds the codes and scales of an element the
//! way the kernel's tile loads do, and multiplies. It shares no index arithmetic with `layout`, so
//! if both ends agree on a number, the layout is the kernel's.
//!
//! ```
//! use blockscale::runtime::{Kernel, Operand, Source};
//! use blockscale::{ScaleElement, Shape};
//!
//! // 128 rows of 64 NVFP4 elements: all codes 1.0, scale of row r is 2^(r % 4).
//! let shape = Shape::new(128, 64);
//! let codes = [0x22; 128 * 32];
//! let scales: [u8; 128 * 4] = std::array::from_fn(|i| 0x38 + i as u8 / 4 % 4 * 8);
//!
//! let kernel = Kernel::TrtllmMoeW2;
//! let (mut baked_codes, mut baked_scales) = ([0; 128 * 32], [0; 128 * 4]);
//! let source = Source { codes: &codes, element: ScaleElement::E4m3Fn, scales: &scales };
//! kernel.bake(1, shape, source, &mut baked_codes, &mut baked_scales)?;
//!
//! let weight = Operand::weight(kernel, 1, shape, &baked_codes, &baked_scales, &[0.5])?;
//! assert_eq!(weight.value_at(0, 7, 63), Some(4.0)); // 1 * (8 * 0.5)
//! # Ok::<(), blockscale::layout::LayoutError>(())
//! ```

mod bake;
mod operand;
mod read;

use std::fmt;

pub use bake::Source;
pub use operand::{Operand, product_at};

use crate::layout::{RowShuffle, ScaleLayout};
use crate::{Format, Shape};

/// A serving runtime, by the GPU kernels that it multiplies with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Runtime {
    /// DeepGEMM on Hopper: FP8 in blocks of 128 x 128 with F32 scales.
    DeepGemmSm90,
    /// DeepGEMM on data-centre Blackwell: the same with packed UE8M0 scales.
    DeepGemmSm100,
    /// TensorRT-LLM's NVFP4 kernels, as FlashInfer ships them.
    TrtllmMoe,
    /// CUTLASS' NVFP4 kernels.
    Cutlass,
}

/// What a weight is in its model, as far as runtimes treat it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The gate (w1) of experts on top of their up (w3).
    MoeGateUp,
    /// The second weight (w2) of experts.
    MoeDown,
    /// Any other.
    Linear,
}

impl Runtime {
    /// Every runtime.
    pub const ALL: [Self; 4] = [
        Self::DeepGemmSm90,
        Self::DeepGemmSm100,
        Self::TrtllmMoe,
        Self::Cutlass,
    ];

    /// The name that the command line uses, such as `deepgemm-sm100`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DeepGemmSm90 => "deepgemm-sm90",
            Self::DeepGemmSm100 => "deepgemm-sm100",
            Self::TrtllmMoe => "trtllm-moe",
            Self::Cutlass => "cutlass",
        }
    }

    /// The runtime of that name, `None` where there is none.
    ///
    /// ```
    /// use blockscale::runtime::Runtime;
    ///
    /// assert_eq!(Runtime::from_name("trtllm-moe"), Some(Runtime::TrtllmMoe));
    /// assert_eq!(Runtime::from_name("trtllm"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|runtime| runtime.name() == name)
    }

    /// The kernel that multiplies with this part of a model.
    pub const fn kernel(self, part: Part) -> Kernel {
        match (self, part) {
            (Self::DeepGemmSm90, _) => Kernel::DeepGemmSm90,
            (Self::DeepGemmSm100, _) => Kernel::DeepGemmSm100,
            (Self::TrtllmMoe, Part::MoeGateUp) => Kernel::TrtllmMoeW13,
            (Self::TrtllmMoe, Part::MoeDown) => Kernel::TrtllmMoeW2,
            (Self::TrtllmMoe, Part::Linear) => Kernel::TrtllmLinear,
            (Self::Cutlass, _) => Kernel::Cutlass,
        }
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A kernel whose way of reading a weight is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// DeepGEMM's FP8 products on SM90: E4M3 codes as stored, F32 scales of 128 x 128 as stored.
    DeepGemmSm90,
    /// DeepGEMM's FP8 products on SM100: E4M3 codes as stored, UE8M0 scales packed for every row.
    DeepGemmSm100,
    /// TensorRT-LLM's first MoE product: up and gate rows in turn, shuffled by 32, scales in
    /// tiles of 128 x 4.
    TrtllmMoeW13,
    /// TensorRT-LLM's second MoE product: rows shuffled by 32, scales in tiles of 128 x 4.
    TrtllmMoeW2,
    /// TensorRT-LLM's dense product, which reads as the second MoE product does.
    TrtllmLinear,
    /// CUTLASS: codes padded to 32 x 32, scales in tiles of 128 x 4. Rows stay where they are; that
    /// FlashInfer's MoE wants w3 above w1 is a matter of the loader.
    Cutlass,
}

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 6] = [
        Self::DeepGemmSm90,
        Self::DeepGemmSm100,
        Self::TrtllmMoeW13,
        Self::TrtllmMoeW2,
        Self::TrtllmLinear,
        Self::Cutlass,
    ];

    /// The format of a weight that the kernel multiplies with.
    pub const fn format(self) -> Format {
        match self {
            Self::DeepGemmSm90 => Format::FP8_BLOCK,
            Self::DeepGemmSm100 => Format::FP8_BLOCK_UE8M0,
            _ => Format::NVFP4,
        }
    }

    /// The layout that brings a checkpoint's weight into the order that the kernel reads.
    ///
    /// ```
    /// use blockscale::Format;
    /// use blockscale::layout::ScaleLayout;
    /// use blockscale::runtime::{Part, Runtime};
    ///
    /// let kernel = Runtime::DeepGemmSm100.kernel(Part::Linear);
    /// assert_eq!(kernel.format(), Format::FP8_BLOCK_UE8M0);
    /// assert_eq!(kernel.layout(), ScaleLayout::DeepGemmPackedBlocks);
    /// assert_eq!(kernel.activation_layout(), ScaleLayout::DeepGemmPacked);
    /// ```
    pub const fn layout(self) -> ScaleLayout {
        match self {
            Self::DeepGemmSm90 => ScaleLayout::Linear,
            Self::DeepGemmSm100 => ScaleLayout::DeepGemmPackedBlocks,
            Self::TrtllmMoeW13 => ScaleLayout::TrtllmMoeW13(RowShuffle::By32),
            Self::TrtllmMoeW2 => ScaleLayout::TrtllmMoeW2(RowShuffle::By32),
            Self::TrtllmLinear => ScaleLayout::TrtllmLinear(RowShuffle::By32),
            Self::Cutlass => ScaleLayout::Tiles128x4,
        }
    }

    /// The layout of the scales of activations: of one row each, 128 or 16 columns.
    pub const fn activation_layout(self) -> ScaleLayout {
        match self {
            Self::DeepGemmSm90 => ScaleLayout::DeepGemmF32,
            Self::DeepGemmSm100 => ScaleLayout::DeepGemmPacked,
            Self::TrtllmMoeW13 | Self::TrtllmMoeW2 | Self::TrtllmLinear => ScaleLayout::Linear,
            Self::Cutlass => ScaleLayout::Tiles128x4,
        }
    }

    /// Columns that one scale covers.
    const fn group(self) -> usize {
        match self {
            Self::DeepGemmSm90 | Self::DeepGemmSm100 => 128,
            _ => 16,
        }
    }

    /// Size of the scales of a weight of `shape`, as [`Stack`](crate::layout::Stack) counts it.
    const fn scale_shape(self, shape: Shape) -> Shape {
        let rows = match self {
            Self::DeepGemmSm90 => shape.rows.div_ceil(128),
            _ => shape.rows,
        };
        Shape::new(rows, shape.cols.div_ceil(self.group()))
    }
}
