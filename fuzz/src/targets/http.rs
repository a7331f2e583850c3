//! The header `Range` of a request to the viewer's server.

use parser::{Requested, requested};

/// Compiled in by itself: all of the command line would make the fuzzer's build three times as long.
#[path = "../../../crates/blockscale-cli/src/http_range.rs"]
#[allow(unreachable_pub, reason = "public in its own crate")]
mod parser;

/// The length of a file, and the text of the header.
pub(super) fn range(data: &[u8]) {
    let Some((len, text)) = data.split_first_chunk() else {
        return;
    };
    let len = u64::from_le_bytes(*len);
    if let Requested::Part(part) = requested(&String::from_utf8_lossy(text), len) {
        assert!(
            part.start < part.end && part.end <= len,
            "{part:?} of {len}"
        );
    }
}

pub(super) fn ranges() -> Vec<Vec<u8>> {
    let texts = [
        "bytes=2-5",
        "bytes=2-",
        "bytes=-3",
        "bytes=0-0,4-9",
        "bytes = 10-9",
        "lines=1-2",
    ];
    texts
        .map(|text| [&10_u64.to_le_bytes(), text.as_bytes()].concat())
        .into()
}
