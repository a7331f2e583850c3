//! From a request to an answer.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;

use super::body::{Content, FileBytes};
use super::files::{Served, ServedFile, Version, name_of};
use super::guard::{self, Token};
use super::page;
use crate::http_range::{Requested, requested};

/// What a page may do: run its own code and reach this server, nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; \
    frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// What goes with every answer.
const ALWAYS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // The URL holds the token: it goes to nobody.
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

const TEXT: &str = "text/plain; charset=utf-8";

/// What is answered, and to whom.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) token: Token,
    pub(crate) bind: IpAddr,
    pub(crate) served: Vec<Served>,
}

impl Site {
    /// Answers a request; whatever its body says is not read.
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Response<Content> {
        let mut answer = self.route(request);
        for (name, value) in ALWAYS {
            answer
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
        }
        answer
    }

    fn route<B>(&self, request: &Request<B>) -> Response<Content> {
        if let Err(refusal) = guard::check(request.headers(), self.bind) {
            return text(StatusCode::FORBIDDEN, refusal.text());
        }
        let Some(path) = self.token.strip(request.uri().path()) else {
            return text(
                StatusCode::NOT_FOUND,
                "nothing here; use the URL that `blockscale view` printed, with all of its letters",
            );
        };
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "this server only reads");
            put(&mut refused, header::ALLOW, "GET, HEAD");
            return refused;
        }
        match path {
            "" => {
                let mut moved = text(
                    StatusCode::PERMANENT_REDIRECT,
                    "the page is one `/` further",
                );
                put(
                    &mut moved,
                    header::LOCATION,
                    &format!("/{}/", self.token.as_str()),
                );
                moved
            }
            "/" | "/index.html" => with_type("text/html; charset=utf-8", page::start()),
            "/api/checkpoints" => with_type("application/json", self.listing()),
            path => match path.strip_prefix("/api/") {
                Some(path) => self.file(path, request.headers()),
                None => match page::file(&path[1..]) {
                    Some((bytes, media_type)) => with_type(media_type, bytes),
                    None => not_found(),
                },
            },
        }
    }

    fn listing(&self) -> Bytes {
        let served = self.served.iter().enumerate();
        let checkpoints: Vec<_> = served.map(|(id, served)| served.listing(id)).collect();
        let listing = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "checkpoints": checkpoints,
        });
        Bytes::from(listing.to_string())
    }

    /// `files/ID/NAME`.
    fn file(&self, path: &str, headers: &HeaderMap) -> Response<Content> {
        let found = || {
            let (id, name) = path.strip_prefix("files/")?.split_once('/')?;
            let served = self.served.get(id.parse::<usize>().ok()?)?;
            served.get(&name_of(name)?)
        };
        match found() {
            Some(file) => send(file, headers),
            None => not_found(),
        }
    }
}

/// A file, or the part of it that is asked for.
fn send(file: &Arc<ServedFile>, headers: &HeaderMap) -> Response<Content> {
    let version = match file.version() {
        Ok(version) => version,
        Err(error) => {
            let why = format!("the file can't be read: {error}");
            return text(StatusCode::INTERNAL_SERVER_ERROR, &why);
        }
    };
    let is_this = |value: &HeaderValue| value.as_bytes() == version.etag.as_bytes();
    let of_this = |value: &HeaderValue| {
        let mut tags = value.to_str().unwrap_or_default().split(',').map(str::trim);
        tags.any(|tag| tag == "*" || tag == version.etag)
    };
    if !headers.get_all(header::IF_MATCH).iter().all(of_this) {
        let mut changed = text(
            StatusCode::PRECONDITION_FAILED,
            "the file was changed meanwhile",
        );
        put(&mut changed, header::ETAG, &version.etag);
        return changed;
    }
    if headers.get_all(header::IF_NONE_MATCH).iter().any(of_this) {
        let mut same = Response::new(Content::Bytes(Bytes::new()));
        *same.status_mut() = StatusCode::NOT_MODIFIED;
        put(&mut same, header::ETAG, &version.etag);
        return same;
    }
    // A part of another version than the one that is known would be glued to the wrong rest.
    let range = headers.get(header::RANGE).filter(|_| {
        let known = headers.get(header::IF_RANGE);
        known.is_none_or(is_this)
    });
    let wanted = match range.map(HeaderValue::to_str) {
        None => Requested::Whole,
        Some(Ok(value)) => requested(value, version.len),
        Some(Err(_)) => Requested::Unsatisfiable,
    };
    let mut answer = match wanted {
        Requested::Whole => with_file(file, 0..version.len),
        Requested::Part(part) => {
            let stated = format!("bytes {}-{}/{}", part.start, part.end - 1, version.len);
            let mut answer = with_file(file, part);
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            put(&mut answer, header::CONTENT_RANGE, &stated);
            answer
        }
        Requested::Unsatisfiable => unsatisfiable(&version),
    };
    put(&mut answer, header::ETAG, &version.etag);
    put(&mut answer, header::ACCEPT_RANGES, "bytes");
    answer
}

fn unsatisfiable(version: &Version) -> Response<Content> {
    let mut answer = text(
        StatusCode::RANGE_NOT_SATISFIABLE,
        "one range of bytes that the file has can be asked for",
    );
    put(
        &mut answer,
        header::CONTENT_RANGE,
        &format!("bytes */{}", version.len),
    );
    answer
}

fn with_file(file: &Arc<ServedFile>, range: std::ops::Range<u64>) -> Response<Content> {
    let bytes = FileBytes::new(Arc::clone(file), range);
    let mut answer = Response::new(Content::File(bytes));
    put(
        &mut answer,
        header::CONTENT_TYPE,
        "application/octet-stream",
    );
    answer
}

fn with_type(media_type: &str, bytes: Bytes) -> Response<Content> {
    let mut answer = Response::new(Content::Bytes(bytes));
    put(&mut answer, header::CONTENT_TYPE, media_type);
    answer
}

fn text(status: StatusCode, words: &str) -> Response<Content> {
    let mut answer = with_type(TEXT, Bytes::from(format!("{words}\n")));
    *answer.status_mut() = status;
    answer
}

fn not_found() -> Response<Content> {
    text(StatusCode::NOT_FOUND, "no such file")
}

/// Sets a header to a value that was made here.
fn put(answer: &mut Response<Content>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}
