//! The types that a tensor in a GGUF file can have.

use std::fmt;

/// One row a type: what it is, variant, id in the file, name, elements and bytes of a block.
macro_rules! ggml_types {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $id:literal, $name:literal, $elements:literal, $bytes:literal;
    )*) => {
        /// The type of a tensor: how a block of elements lies in bytes.
        ///
        /// A row of a tensor is cut into blocks along its contiguous axis. Ids, names and sizes are
        /// those of ggml (`ggml.h`, `ggml-common.h`). Types that ggml has dropped from the format
        /// (ids 4, 5, 31 to 33, 36 to 38) are not here: their blocks no longer have a definition.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(non_camel_case_types, reason = "the names by which these types are known")]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum GgmlType {
            $($(#[$doc])* $variant = $id,)*
        }

        impl GgmlType {
            /// Every type, by rising id.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name as ggml's own tools print it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Elements of a block; 1 for types that are not block-scaled.
            pub const fn block_elements(self) -> usize {
                match self {
                    $(Self::$variant => $elements,)*
                }
            }

            /// Bytes of a block, its scales included.
            pub const fn block_bytes(self) -> usize {
                match self {
                    $(Self::$variant => $bytes,)*
                }
            }
        }
    };
}

ggml_types! {
    /// IEEE 754 binary32.
    F32 = 0, "F32", 1, 4;
    /// IEEE 754 binary16.
    F16 = 1, "F16", 1, 2;
    /// 4-bit codes less 8, times an F16 scale.
    Q4_0 = 2, "Q4_0", 32, 18;
    /// 4-bit codes times an F16 scale, plus an F16 minimum.
    Q4_1 = 3, "Q4_1", 32, 20;
    /// 5-bit codes less 16, times an F16 scale.
    Q5_0 = 6, "Q5_0", 32, 22;
    /// 5-bit codes times an F16 scale, plus an F16 minimum.
    Q5_1 = 7, "Q5_1", 32, 24;
    /// 8-bit integers times an F16 scale.
    Q8_0 = 8, "Q8_0", 32, 34;
    /// As `Q8_0`, with the scaled sum of the integers. For products, not for files. The Python
    /// package `gguf` gives it 40 bytes, from the time when scale and sum were F32.
    Q8_1 = 9, "Q8_1", 32, 36;
    /// 2-bit k-quant: 16 sub-blocks, each with a 4-bit scale and minimum.
    Q2_K = 10, "Q2_K", 256, 84;
    /// 3-bit k-quant: 16 sub-blocks with 6-bit scales.
    Q3_K = 11, "Q3_K", 256, 110;
    /// 4-bit k-quant: 8 sub-blocks, each with a 6-bit scale and minimum.
    Q4_K = 12, "Q4_K", 256, 144;
    /// 5-bit k-quant: 8 sub-blocks, each with a 6-bit scale and minimum.
    Q5_K = 13, "Q5_K", 256, 176;
    /// 6-bit k-quant: 16 sub-blocks with 8-bit scales.
    Q6_K = 14, "Q6_K", 256, 210;
    /// 8-bit integers with an F32 scale and sums of 16. For products, not for files.
    Q8_K = 15, "Q8_K", 256, 292;
    /// Codebook of 8-element vectors, 2.06 bits an element.
    IQ2_XXS = 16, "IQ2_XXS", 256, 66;
    /// Codebook of 8-element vectors, 2.31 bits an element.
    IQ2_XS = 17, "IQ2_XS", 256, 74;
    /// Codebook of 4-element vectors, 3.06 bits an element.
    IQ3_XXS = 18, "IQ3_XXS", 256, 98;
    /// Codebook of 8-element ternary vectors, 1.56 bits an element.
    IQ1_S = 19, "IQ1_S", 256, 50;
    /// 4-bit codes of a table of 16 uneven levels, times an F16 scale.
    IQ4_NL = 20, "IQ4_NL", 32, 18;
    /// Codebook of 4-element vectors, 3.44 bits an element.
    IQ3_S = 21, "IQ3_S", 256, 110;
    /// Codebook of 8-element vectors, 2.56 bits an element.
    IQ2_S = 22, "IQ2_S", 256, 82;
    /// The levels of `IQ4_NL`, in 8 sub-blocks with 6-bit scales.
    IQ4_XS = 23, "IQ4_XS", 256, 136;
    /// Signed integer, 8 bits.
    I8 = 24, "I8", 1, 1;
    /// Signed integer, 16 bits.
    I16 = 25, "I16", 1, 2;
    /// Signed integer, 32 bits.
    I32 = 26, "I32", 1, 4;
    /// Signed integer, 64 bits.
    I64 = 27, "I64", 1, 8;
    /// IEEE 754 binary64.
    F64 = 28, "F64", 1, 8;
    /// Codebook of 8-element ternary vectors, 1.75 bits an element.
    IQ1_M = 29, "IQ1_M", 256, 56;
    /// The upper half of binary32.
    Bf16 = 30, "BF16", 1, 2;
    /// Ternary, five elements a byte.
    TQ1_0 = 34, "TQ1_0", 256, 54;
    /// Ternary, four elements a byte.
    TQ2_0 = 35, "TQ2_0", 256, 66;
    /// E2M1 codes with an E8M0 scale in front. Byte j holds element j low and j + 16 high.
    Mxfp4 = 39, "MXFP4", 32, 17;
    /// E2M1 codes in four sub-blocks of 16, their unsigned E4M3 scales in front. In a sub-block
    /// byte j holds element j low and j + 8 high. The scale of `NAME.weight` is tensor
    /// `NAME.scale`.
    Nvfp4 = 40, "NVFP4", 64, 36;
    /// Signs times an F16 scale.
    Q1_0 = 41, "Q1_0", 128, 18;
    /// 2-bit codes less 1, times an F16 scale. A fork of llama.cpp writes blocks of 128 elements in
    /// 34 bytes under this id: with the sizes here its weights overlap, so such a file is refused.
    Q2_0 = 42, "Q2_0", 64, 18;
}

impl GgmlType {
    /// The type with that id.
    ///
    /// ```
    /// use blockscale_model::gguf::GgmlType;
    ///
    /// assert_eq!(GgmlType::from_id(39), Some(GgmlType::Mxfp4));
    /// assert_eq!(GgmlType::from_id(4), None);
    /// ```
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.id() == id)
    }

    /// Its id in the file.
    pub const fn id(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for GgmlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
