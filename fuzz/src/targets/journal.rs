//! Journals of interrupted conversions, and manifests of finished ones.

use blockscale_convert::doctor::{Scope, check_manifest};
use blockscale_convert::source::{ShardIdentity, Source, SourceError};
use blockscale_convert::{JournalRecord, MANIFEST};
use blockscale_model::{Dtype, ShardName};

use super::checkpoint::checkpoint_of;

/// What lines of a journal are whole, and where the shards lie that they name.
pub(super) fn journal(data: &[u8]) {
    let Ok(Some(record)) = JournalRecord::read(data) else {
        return;
    };
    let whole = &data[..record.whole_bytes as usize];
    assert!(whole.ends_with(b"\n"));
    assert!(!data[whole.len()..].contains(&b'\n'));
    for shard in &record.finished {
        assert!(ShardName::new(&shard.name).is_ok(), "{}", shard.name);
        let same = record
            .finished
            .iter()
            .filter(|other| other.name == shard.name);
        assert_eq!(same.count(), 1, "{}", shard.name);
    }
    assert_eq!(JournalRecord::read(whole), Ok(Some(record)));
}

pub(super) fn journals() -> Vec<Vec<u8>> {
    let begin = "{\"conversion\":{\"fingerprint\":\"5eed\"}}\n";
    let shard = "{\"shard\":{\"name\":\"model-00001-of-00002.safetensors\",\"len\":9,\"blake3\":\"00\",\
        \"comparisons\":[]}}\n";
    let all = [
        begin.to_owned(),
        format!("{begin}{shard}"),
        format!("{begin}{shard}{shard}"),
        format!("{begin}{shard}{}", &shard[..30]),
    ];
    all.map(String::into_bytes).into()
}

/// A folder that holds nothing but a manifest.
struct Given<'a>(&'a [u8]);

impl Source for Given<'_> {
    fn read_exact_at(
        &self,
        _shard: usize,
        _offset: u64,
        buf: &mut [u8],
    ) -> Result<(), SourceError> {
        buf.fill(0);
        Ok(())
    }

    fn read_other(&self, _name: &str) -> Result<Vec<u8>, SourceError> {
        Ok(self.0.to_vec())
    }

    fn describe(&self) -> String {
        String::new()
    }

    fn identities(&self) -> &[ShardIdentity] {
        &[]
    }
}

/// A manifest, held against a checkpoint.
pub(super) fn manifest(data: &[u8]) {
    let mut checkpoint = checkpoint_of(&[("a.weight", Dtype::F32, &[2, 2])]);
    checkpoint.other_files = vec![MANIFEST.to_owned()];
    let found = check_manifest(&checkpoint, &Given(data), Scope::Full);
    assert!(found.is_ok(), "bytes were there");
}

pub(super) fn manifests() -> Vec<Vec<u8>> {
    let hash = "\"blake3\":\"af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262\"";
    let all = [
        format!("{{\"files\":[{{\"name\":\"model.safetensors\",\"len\":96,{hash}}}]}}"),
        format!(
            "{{\"files\":[{{\"name\":\"model.safetensors\",\"len\":9,{hash}}},{{\"name\":\"b\",\"len\":0,{hash}}}]}}"
        ),
    ];
    all.map(String::into_bytes).into()
}
