//! The page that the program carries.

use hyper::body::Bytes;

/// Names and bytes of the page's files, as the build found them.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/page.rs"));

const START: &str = "index.html";

/// Tells the page that it was served with a checkpoint, and where that is listed.
const MARK: &str = r#"<meta name="blockscale-server" content="api/">"#;

/// Shown where the program was built without the page.
const MISSING: &str = "<!doctype html><html lang=\"en\"><head><title>blockscale</title></head><body>\
    <h1>The page is missing</h1><p>This program was built without it. Run <code>cargo xtask web</code> in \
    the project's folder, build the program again, and start <code>blockscale view</code> anew.</p>\
    </body></html>";

/// Whether the page was built before the program was.
pub(crate) fn is_there() -> bool {
    FILES.iter().any(|(name, _)| *name == START)
}

/// The start page.
pub(crate) fn start() -> Bytes {
    let found = FILES.iter().find(|(name, _)| *name == START);
    let html = found.and_then(|(_, html)| std::str::from_utf8(html).ok());
    let Some(html) = html else {
        return Bytes::from_static(MISSING.as_bytes());
    };
    Bytes::from(html.replacen("<head>", &format!("<head>{MARK}"), 1))
}

/// A file of the page, and its media type.
pub(crate) fn file(name: &str) -> Option<(Bytes, &'static str)> {
    let (name, bytes) = FILES.iter().find(|(known, _)| *known == name)?;
    Some((Bytes::from_static(bytes), media_type(name)))
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
