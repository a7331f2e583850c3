//! Headers written by hand, so that tensors lie in a chosen order.

use std::io::{self, Write};

/// A tensor: name, dtype, shape as JSON, length in bytes.
pub(crate) type Entry<'a> = (&'a str, &'a str, &'a str, u64);

/// Writes the header of tensors that follow each other in this order.
pub(crate) fn write_header(file: &mut impl Write, tensors: &[Entry<'_>]) -> io::Result<()> {
    let mut end = 0;
    let entry = |(name, dtype, shape, len): &Entry<'_>| {
        let start = end;
        end += len;
        format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{start},{end}]}}"#)
    };
    let entries: Vec<_> = tensors.iter().map(entry).collect();
    let json = format!("{{{}}}", entries.join(","));
    file.write_all(&(json.len() as u64).to_le_bytes())?;
    file.write_all(json.as_bytes())
}
