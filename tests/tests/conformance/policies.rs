//! How each peer rounds a number to an element type.

use blockscale::Element;
use blockscale::element::{EncodePolicy, NanCode, Overflow, Ties, ZeroSign};

const DEFAULT: EncodePolicy = EncodePolicy::DEFAULT;

/// Overflow is special, NaN keeps its sign; types without NaN give zero of the other sign.
pub(crate) const ML_DTYPES: EncodePolicy = EncodePolicy {
    overflow: Overflow::Special,
    nan: NanCode::Opposite(0),
    ..DEFAULT
};

const fn with_nan(policy: EncodePolicy, nan: NanCode) -> EncodePolicy {
    EncodePolicy { nan, ..policy }
}

const fn dropping_zero_sign(nan: NanCode) -> EncodePolicy {
    EncodePolicy {
        zero: ZeroSign::Drop,
        nan,
        ..DEFAULT
    }
}

/// An element type in the vectors.
pub(crate) struct Codec {
    pub(crate) name: &'static str,
    pub(crate) element: Element,
    /// Who decodes it besides ml_dtypes.
    pub(crate) second_peer: &'static str,
    /// Who encodes it, and how.
    pub(crate) peers: &'static [(&'static str, EncodePolicy)],
}

pub(crate) const CODECS: [Codec; 6] = [
    Codec {
        name: "e2m1",
        element: Element::E2m1,
        second_peer: "torchao",
        peers: &[
            ("ml_dtypes", ML_DTYPES),
            ("torchao", with_nan(DEFAULT, NanCode::Payload)),
            ("tilekernels", with_nan(DEFAULT, NanCode::Signed(0x7))),
            ("modelopt", dropping_zero_sign(NanCode::OfType)),
            ("compressed_tensors", dropping_zero_sign(NanCode::Fixed(0))),
            (
                "deepgemm",
                EncodePolicy {
                    ties: Ties::TowardZero,
                    zero: ZeroSign::DropRounded,
                    nan: NanCode::Fixed(0),
                    ..DEFAULT
                },
            ),
        ],
    },
    Codec {
        name: "e2m3",
        element: Element::E2m3,
        second_peer: "torchao",
        peers: &[
            ("ml_dtypes", ML_DTYPES),
            ("torchao", with_nan(DEFAULT, NanCode::Payload)),
            (
                "compressed_tensors",
                with_nan(DEFAULT, NanCode::Fixed(0x20)),
            ),
        ],
    },
    Codec {
        name: "e3m2",
        element: Element::E3m2,
        second_peer: "torchao",
        peers: &[
            ("ml_dtypes", ML_DTYPES),
            ("torchao", with_nan(DEFAULT, NanCode::Payload)),
        ],
    },
    Codec {
        name: "e4m3fn",
        element: Element::E4m3Fn,
        second_peer: "torch",
        peers: &[
            ("ml_dtypes", with_nan(ML_DTYPES, NanCode::Signed(0x7f))),
            ("torch", with_nan(DEFAULT, NanCode::Signed(0x7f))),
        ],
    },
    Codec {
        name: "e4m3fnuz",
        element: Element::E4m3Fnuz,
        second_peer: "torch",
        peers: &[("ml_dtypes", ML_DTYPES), ("torch", ML_DTYPES)],
    },
    Codec {
        name: "e5m2",
        element: Element::E5m2,
        second_peer: "torch",
        peers: &[
            ("ml_dtypes", with_nan(ML_DTYPES, NanCode::Signed(0x7e))),
            ("torch", with_nan(ML_DTYPES, NanCode::Signed(0x7f))),
        ],
    },
];
