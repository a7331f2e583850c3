//! What layouts are called in the metadata of files and on the command line.

use std::fmt;

use super::{RowShuffle, ScaleLayout};

impl ScaleLayout {
    /// Every layout.
    pub const ALL: [Self; 16] = [
        Self::Linear,
        Self::Tiles128x4,
        Self::Tiles8x4,
        Self::DeepGemmF32,
        Self::DeepGemmPacked,
        Self::DeepGemmPackedBlocks,
        Self::TrtllmMoeW13(RowShuffle::By32),
        Self::TrtllmMoeW13(RowShuffle::By16),
        Self::TrtllmMoeW2(RowShuffle::By32),
        Self::TrtllmMoeW2(RowShuffle::By16),
        Self::TrtllmLinear(RowShuffle::By32),
        Self::TrtllmLinear(RowShuffle::By16),
        Self::MarlinNvfp4,
        Self::MarlinMxfp4,
        Self::MegaMoeL1,
        Self::MegaMoeL2,
    ];

    /// The name that files and the command line use, such as `tiles-128x4`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Tiles128x4 => "tiles-128x4",
            Self::Tiles8x4 => "tiles-8x4",
            Self::DeepGemmF32 => "deepgemm-f32",
            Self::DeepGemmPacked => "deepgemm-packed",
            Self::DeepGemmPackedBlocks => "deepgemm-packed-blocks",
            Self::TrtllmMoeW13(RowShuffle::By32) => "trtllm-moe-w13",
            Self::TrtllmMoeW13(RowShuffle::By16) => "trtllm-moe-w13-shuffle16",
            Self::TrtllmMoeW2(RowShuffle::By32) => "trtllm-moe-w2",
            Self::TrtllmMoeW2(RowShuffle::By16) => "trtllm-moe-w2-shuffle16",
            Self::TrtllmLinear(RowShuffle::By32) => "trtllm-linear",
            Self::TrtllmLinear(RowShuffle::By16) => "trtllm-linear-shuffle16",
            Self::MarlinNvfp4 => "marlin-nvfp4",
            Self::MarlinMxfp4 => "marlin-mxfp4",
            Self::MegaMoeL1 => "mega-moe-l1",
            Self::MegaMoeL2 => "mega-moe-l2",
        }
    }

    /// The layout of that name, `None` where there is none.
    ///
    /// ```
    /// use blockscale::layout::ScaleLayout;
    ///
    /// assert_eq!(ScaleLayout::from_name("tiles-128x4"), Some(ScaleLayout::Tiles128x4));
    /// assert_eq!(ScaleLayout::from_name("swizzled"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.name() == name)
    }
}

impl fmt::Display for ScaleLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
