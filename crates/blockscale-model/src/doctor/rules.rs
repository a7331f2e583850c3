//! The table of rules. Each has a page under `rules/`, and a fault that it finds.
//!
//! | codes | about |
//! | --- | --- |
//! | BS001 to BS010 | files, index |
//! | BS011 to BS032 | scales: whether they are there, their shapes, their values |
//! | BS040 to BS049 | numbers |
//! | BS050 to BS059 | layouts and the order of rows |
//! | BS060 to BS069 | readings that the numbers themselves contradict |
//! | BS070 to BS079 | the architecture |
//! | BS080 to BS089 | the config |
//! | BS090 to BS099 | what a consumer does |
//! | BS100 to BS109 | found by conversions only |

use super::Rule;
use crate::finding::Severity;

macro_rules! rules {
    ($($id:ident = $code:literal, $name:literal, $severity:ident;)*) => {
        $(
            #[doc = concat!("`", $code, "` ", $name)]
            pub static $id: Rule = Rule {
                code: $code,
                name: $name,
                severity: Severity::$severity,
                page: include_str!(concat!("../../rules/", $code, ".md")),
            };
        )*

        /// Every built-in rule, by code.
        pub static RULES: &[&Rule] = &[$(&$id),*];
    };
}

rules! {
    FILE_REFUSED = "BS001", "file-refused", Error;
    FILES_DO_NOT_FIT = "BS002", "files-do-not-fit", Error;
    INDEX_NAMES_WRONG_SHARD = "BS003", "index-names-wrong-shard", Warning;
    TENSOR_IN_TWO_SHARDS = "BS004", "tensor-in-two-shards", Warning;
    INDEX_OMITS_TENSOR = "BS005", "index-omits-tensor", Warning;
    INDEX_TOTAL_SIZE = "BS006", "index-total-size", Warning;
    SHARD_NOT_READ = "BS007", "shard-not-read", Warning;
    PART_WITHOUT_INDEX = "BS008", "part-without-index", Warning;
    FILE_NOT_COPIED = "BS009", "file-not-copied", Info;
    MANIFEST_DISAGREES = "BS010", "manifest-disagrees", Error;
    SCALE_MISSING = "BS011", "scale-missing", Error;
    SCALE_DOUBLED = "BS012", "scale-doubled", Error;
    SCALE_WITHOUT_WEIGHT = "BS013", "scale-without-weight", Warning;
    SCALE_SHAPE = "BS014", "scale-shape", Error;
    SCALE_TRANSPOSED = "BS015", "scale-transposed", Error;
    SCALE_PER_TENSOR = "BS016", "scale-per-tensor", Error;
    SCALE_DTYPE = "BS017", "scale-dtype", Error;
    SCALE_PADDED = "BS018", "scale-padded", Error;
    GLOBAL_MISSING = "BS019", "global-missing", Error;
    GLOBAL_UNEXPECTED = "BS020", "global-unexpected", Error;
    SCALE_PLANE_ONES = "BS021", "scale-plane-ones", Error;
    SCALE_PLANE_CONSTANT = "BS022", "scale-plane-constant", Error;
    SCALE_NOT_WRITTEN = "BS023", "scale-not-written", Error;
    SCALE_NOT_POWER_OF_TWO = "BS024", "scale-not-power-of-two", Error;
    EXPONENT_BYTES_AS_NUMBERS = "BS025", "exponent-bytes-as-numbers", Error;
    NUMBERS_AS_EXPONENT_BYTES = "BS026", "numbers-as-exponent-bytes", Error;
    SCALE_NEGATIVE = "BS027", "scale-negative", Error;
    SCALE_NOT_FINITE = "BS028", "scale-not-finite", Error;
    GLOBAL_INVERTED = "BS029", "global-inverted", Error;
    GLOBAL_LOST = "BS030", "global-lost", Error;
    GLOBALS_UNEQUAL = "BS031", "globals-unequal", Error;
    INPUT_SCALE_UNUSABLE = "BS032", "input-scale-unusable", Error;
    NAN_CODES = "BS040", "nan-codes", Error;
    NON_FINITE_VALUES = "BS041", "non-finite-values", Error;
    SATURATED = "BS042", "saturated", Warning;
    UNDERFLOW = "BS043", "underflow", Warning;
    BLOCK_MAXIMUM = "BS044", "block-maximum", Warning;
    CAST_AS_INTEGERS = "BS045", "cast-as-integers", Error;
    CAST_WITHOUT_SCALE = "BS046", "cast-without-scale", Warning;
    WEIGHT_OF_ZEROS = "BS047", "weight-of-zeros", Warning;
    NEAR_COPY = "BS048", "near-copy", Warning;
    CAST_NOT_LOSSLESS = "BS049", "cast-not-lossless", Warning;
    LAYOUT_ON_DISK = "BS050", "layout-on-disk", Info;
    SIBLINGS_EXCHANGED = "BS051", "siblings-exchanged", Error;
    LAYOUT_REFUSED = "BS052", "layout-refused", Error;
    WEIGHT_REFUSED = "BS053", "weight-refused", Error;
    SCALE_NOT_APPLIED = "BS054", "scale-not-applied", Warning;
    ROWS_NOT_AS_STATED = "BS055", "rows-not-as-stated", Warning;
    ROWS_NOT_UNDERSTOOD = "BS056", "rows-not-understood", Warning;
    SCALES_LAID_OUT = "BS060", "scales-laid-out", Error;
    SCALES_LAID_OUT_TWICE = "BS061", "scales-laid-out-twice", Error;
    SCALES_BY_COLUMN = "BS062", "scales-by-column", Error;
    NIBBLE_ORDER = "BS063", "nibble-order", Error;
    TWOS_COMPLEMENT = "BS064", "twos-complement", Error;
    SCALES_DIVIDE = "BS065", "scales-divide", Error;
    ROWS_APART = "BS066", "rows-apart", Error;
    OTHER_ELEMENT = "BS067", "other-element", Error;
    FACTOR_LOST = "BS068", "factor-lost", Error;
    NOT_THE_REFERENCE = "BS069", "not-the-reference", Error;
    WEIGHTS_MISSING = "BS070", "weights-missing", Error;
    UNKNOWN_NAME = "BS071", "unknown-name", Warning;
    TENSOR_SHAPE = "BS072", "tensor-shape", Error;
    COMPRESSOR_CONFUSED = "BS073", "compressor-confused", Error;
    LAYERS_MISSING = "BS074", "layers-missing", Error;
    CONFIG_REFUSED = "BS075", "config-refused", Warning;
    IGNORED_BUT_QUANTISED = "BS080", "ignored-but-quantised", Error;
    QUANTISATION_NOT_ANNOUNCED = "BS081", "quantisation-not-announced", Warning;
    BLOCK_SIZE_DISAGREES = "BS082", "block-size-disagrees", Error;
    TIED_EMBEDDINGS = "BS083", "tied-embeddings", Warning;
    DIALECT_NOT_CONFIRMED = "BS084", "dialect-not-confirmed", Warning;
    NOT_IGNORED = "BS085", "not-ignored", Warning;
    ACTIVATION_MULTIPLIER = "BS086", "activation-multiplier", Warning;
    CONFIG_DISAGREES = "BS087", "config-disagrees", Error;
    TARGET_COMPUTES_WRONG = "BS090", "target-computes-wrong", Error;
    TARGET_REFUSES = "BS091", "target-refuses", Error;
    TARGET_LOADS = "BS092", "target-loads", Info;
    KEPT_AS_IT_IS = "BS100", "kept-as-it-is", Warning;
    NOT_EXACT = "BS101", "not-exact", Warning;
}
