//! A file that another tool wrote; its story is in `tests/data/gguf` of the repository.

use std::ops::Range;
use std::path::Path;

use blockscale_model::gguf::Value;
use serde_json::Value as Json;

use crate::build::whole;

#[test]
fn file_of_the_python_package_is_read_as_the_package_reads_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/gguf");
    let file = std::fs::read(folder.join("small.gguf")).unwrap();
    let expected = std::fs::read(folder.join("small.expected.json")).unwrap();
    let expected: Json = serde_json::from_slice(&expected).unwrap();
    let header = whole(&file).unwrap();

    assert_eq!((header.version, header.alignment), (3, 32));
    assert_eq!(header.architecture(), Some("llama"));
    assert_eq!(header.get("llama.rope.freq_base"), Some(&Value::F32(1e4)));
    assert_eq!(header.get("general.example"), Some(&Value::Bool(true)));
    let shown = |key: &str| header.get(key).unwrap().to_string();
    assert_eq!(shown("llama.rope.dimension_sections"), "[16, 24, 24, 0]");
    assert_eq!(shown("tokenizer.ggml.tokens"), "[300 x String]");
    assert_eq!(shown("tokenizer.ggml.scores"), "[300 x F32]");

    let read: Vec<Json> = header
        .tensors
        .iter()
        .map(|tensor| {
            let Range { start, end } = tensor.range;
            let data = &file[start as usize..end as usize];
            let part = data.len().min(16);
            serde_json::json!({
                "name": tensor.name,
                "type": tensor.kind.name(),
                "shape": tensor.shape,
                "range": [start, end],
                "first_bytes": hex(&data[..part]),
                "last_bytes": hex(&data[data.len() - part..]),
            })
        })
        .collect();
    let mut expected = expected["tensors"].as_array().unwrap().clone();
    for tensor in &mut expected {
        // What the numbers are is no matter of the header.
        tensor
            .as_object_mut()
            .unwrap()
            .remove("f32_sha256")
            .unwrap();
    }
    assert_eq!(read, expected);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
