//! The table of policies: how each library rounds a number to an element type.

use blockscale::element::{EncodePolicy, NanCode};

use crate::page;
use crate::peer_policies::CODECS;

/// Libraries as the vectors name them, and what of each was called.
const LIBRARIES: [(&str, &str); 7] = [
    ("ml_dtypes", "ml_dtypes, `astype`"),
    ("torch", "torch, `to`"),
    (
        "torchao",
        "torchao, `f32_to_f4_unpacked`, `f32_to_f6_*_unpacked`",
    ),
    ("modelopt", "ModelOpt, `NVFP4QTensor`"),
    (
        "compressed_tensors",
        "compressed-tensors, `cast_to_fp4`, `cast_to_fp6`",
    ),
    ("deepgemm", "DeepGEMM, `per_token_cast_to_fp4`"),
    ("tilekernels", "TileKernels, `cast`"),
];

pub(crate) fn table() -> String {
    let head = ["library", "type", "differs from `DEFAULT` in"];
    let mut rows: Vec<[String; 3]> = Vec::new();
    for (peer, library) in LIBRARIES {
        let mut of_peer: Vec<(EncodePolicy, Vec<String>)> = Vec::new();
        for codec in CODECS {
            let Some((_, policy)) = codec.peers.iter().find(|(name, _)| *name == peer) else {
                continue;
            };
            let element = codec.element.to_string();
            match of_peer.iter_mut().find(|(known, _)| known == policy) {
                Some((_, elements)) => elements.push(element),
                None => of_peer.push((*policy, vec![element])),
            }
        }
        for (i, (policy, elements)) in of_peer.into_iter().enumerate() {
            let differences = differences(&policy).into_iter();
            let differences: Vec<_> = differences.map(|text| format!("`{text}`")).collect();
            let library = if i == 0 { library } else { "" };
            rows.push([
                library.to_owned(),
                elements.join(", "),
                differences.join(", "),
            ]);
        }
    }
    page::table(head, &rows)
}

/// The fields of a policy that are not those of the default, as Rust has them.
pub(crate) fn differences(policy: &EncodePolicy) -> Vec<String> {
    let EncodePolicy {
        ties,
        overflow,
        zero,
        nan,
    } = EncodePolicy::DEFAULT;
    let fields = [
        (policy.ties != ties, format!("ties: {:?}", policy.ties)),
        (
            policy.overflow != overflow,
            format!("overflow: {:?}", policy.overflow),
        ),
        (policy.zero != zero, format!("zero: {:?}", policy.zero)),
        (policy.nan != nan, format!("nan: {}", nan_code(policy.nan))),
    ];
    let differing = fields.into_iter().filter(|(differs, _)| *differs);
    differing.map(|(_, text)| text).collect()
}

/// With the code in hexadecimal.
fn nan_code(nan: NanCode) -> String {
    match nan {
        NanCode::Fixed(code) => format!("Fixed({code:#04x})"),
        NanCode::Signed(code) => format!("Signed({code:#04x})"),
        NanCode::Opposite(code) => format!("Opposite({code:#04x})"),
        NanCode::OfType | NanCode::Payload => format!("{nan:?}"),
    }
}

#[test]
fn every_peer_has_a_row() {
    for codec in CODECS {
        for (peer, _) in codec.peers {
            assert!(LIBRARIES.iter().any(|(name, _)| name == peer), "{peer}");
        }
    }
}
