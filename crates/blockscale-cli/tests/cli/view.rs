//! `view`: real requests to the real server, those of attackers included.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::{blockscale, run};

/// No answer here takes nearly as long.
const LIMIT: Duration = Duration::from_secs(60);

/// A server that ends with the test.
struct Server {
    child: Child,
    address: SocketAddr,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came back.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is there twice");
        value
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Server {
    fn start(args: &[&str], path: &Path) -> Self {
        let mut command = blockscale();
        command.arg("view").arg(path).args(args);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let rest = line.trim().strip_prefix("http://").unwrap();
        let (address, path) = rest.split_once('/').unwrap();
        let token = path.strip_suffix('/').unwrap().to_owned();
        Self {
            child,
            address: address.parse().unwrap(),
            token,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// Sends a request as it stands and reads the answer to the end.
    fn raw(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        read_answer(&mut stream)
    }

    /// A request under the token, with a proper `Host` and these lines more.
    fn ask(&self, method: &str, path: &str, lines: &[&str]) -> Answer {
        let Self { address, token, .. } = self;
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        self.raw(&format!(
            "{method} /{token}/{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{lines}\r\n"
        ))
    }

    fn get(&self, path: &str, lines: &[&str]) -> Answer {
        self.ask("GET", path, lines)
    }
}

fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .expect("an answer");
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    Answer {
        status,
        headers: lines.map(header).collect(),
        body: bytes[end + 4..].to_vec(),
    }
}

const FILE: &str = "api/files/0/model.safetensors";

/// A folder with a checkpoint of 1,000,000 bytes, a config, and things that are none of its files.
fn checkpoint() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model");
    fs::create_dir(&path).unwrap();
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|i| ((i * 31) >> 3) as u8).collect();
    fs::write(path.join("model.safetensors"), &bytes).unwrap();
    fs::write(path.join("config.json"), r#"{"model_type":"x"}"#).unwrap();
    fs::write(path.join("secret.txt"), "secret").unwrap();
    fs::write(dir.path().join("outside.json"), "secret").unwrap();
    (dir, path, bytes)
}

#[test]
fn the_page_and_the_listing_are_served_under_the_token() {
    let (_dir, path, _) = checkpoint();
    let server = Server::start(&[], &path);
    assert!(server.address.ip().is_loopback() && server.address.port() != 0);
    let page = server.get("", &[]);
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/html; charset=utf-8"))
    );
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && policy.contains("connect-src 'self';"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    let listing = server.get("api/checkpoints", &[]);
    let checkpoint = &listing.json()["checkpoints"][0];
    assert_eq!(
        (&checkpoint["name"], &checkpoint["role"]),
        (&"model".into(), &"checkpoint".into())
    );
    let names: Vec<&str> = checkpoint["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["config.json", "model.safetensors"]);
    assert_eq!(checkpoint["files"][1]["bytes"], 1_000_000);
    assert_eq!(checkpoint["files"][1]["url"], FILE);
}

#[test]
fn a_reference_is_a_second_checkpoint() {
    let (_dir, path, _) = checkpoint();
    let other = path.parent().unwrap().join("other.safetensors");
    fs::write(&other, b"abc").unwrap();
    let server = Server::start(&["--reference", other.to_str().unwrap()], &path);
    let listing = server.get("api/checkpoints", &[]).json();
    assert_eq!(listing["checkpoints"][1]["role"], "reference");
    assert_eq!(
        listing["checkpoints"][1]["files"][0]["name"],
        "other.safetensors"
    );
    assert_eq!(
        server.get("api/files/1/other.safetensors", &[]).body,
        b"abc"
    );
    assert_eq!(server.get("api/files/2/other.safetensors", &[]).status, 404);
}

#[test]
fn ranges_are_the_bytes_of_the_file() {
    let (_dir, path, bytes) = checkpoint();
    let server = Server::start(&[], &path);
    let whole = server.get(FILE, &[]);
    assert_eq!(
        (whole.status, whole.header("content-length")),
        (200, Some("1000000"))
    );
    assert!(whole.body == bytes && whole.header("accept-ranges") == Some("bytes"));
    for (range, expected) in [
        ("0-0", 0..1),
        ("8-15", 8..16),
        ("999999-", 999_999..1_000_000),
        ("-5", 999_995..1_000_000),
        ("-2000000", 0..1_000_000),
        // Longer than what is read at a time, and across it.
        ("100-600000", 100..600_001),
        ("262144-99999999999999999999", 262_144..1_000_000),
    ] {
        let part = server.get(FILE, &[&format!("Range: bytes={range}")]);
        assert_eq!(part.status, 206, "{range}");
        assert!(part.body == bytes[expected.clone()], "{range}");
        let stated = format!("bytes {}-{}/1000000", expected.start, expected.end - 1);
        assert_eq!(part.header("content-range"), Some(stated.as_str()));
    }
    for range in [
        "bytes=1000000-",
        "bytes=5-4",
        "bytes=-0",
        "bytes=0-1,4-5",
        "bytes=",
        "nonsense",
    ] {
        let none = server.get(FILE, &[&format!("Range: {range}")]);
        assert_eq!(
            (none.status, none.header("content-range")),
            (416, Some("bytes */1000000")),
            "{range}"
        );
    }
    let lines = server.get(FILE, &["Range: lines=0-1"]);
    assert_eq!((lines.status, lines.body.len()), (200, 1_000_000));
}

#[test]
fn head_says_what_get_would_and_sends_nothing() {
    let (_dir, path, _) = checkpoint();
    let server = Server::start(&[], &path);
    let whole = server.ask("HEAD", FILE, &[]);
    assert_eq!((whole.status, whole.body.len()), (200, 0));
    assert_eq!(whole.header("content-length"), Some("1000000"));
    let part = server.ask("HEAD", FILE, &["Range: bytes=10-19"]);
    assert_eq!(
        (part.status, part.header("content-length"), part.body.len()),
        (206, Some("10"), 0)
    );
}

#[test]
fn one_connection_carries_many_requests() {
    let (_dir, path, bytes) = checkpoint();
    let server = Server::start(&[], &path);
    let mut stream = server.connect();
    for start in [0, 500_000] {
        let (address, token) = (server.address, &server.token);
        let request = format!(
            "GET /{token}/{FILE} HTTP/1.1\r\nHost: {address}\r\nRange: bytes={start}-{}\r\n\r\n",
            start + 9
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(&stream);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
        }
        let mut body = [0; 10];
        reader.read_exact(&mut body).unwrap();
        assert_eq!(body, bytes[start..start + 10]);
    }
}

#[test]
fn a_changed_file_is_another_version() {
    let (_dir, path, bytes) = checkpoint();
    let server = Server::start(&[], &path);
    let etag = server
        .get(FILE, &["Range: bytes=0-1"])
        .header("etag")
        .unwrap()
        .to_owned();
    let if_range = format!("If-Range: {etag}");
    let same = server.get(FILE, &["Range: bytes=4-5", &if_range]);
    assert_eq!((same.status, same.body), (206, bytes[4..6].to_vec()));
    assert_eq!(
        server
            .get(FILE, &[&format!("If-None-Match: {etag}")])
            .status,
        304
    );
    assert_eq!(
        server
            .get(FILE, &[&format!("If-Match: {etag}"), "Range: bytes=0-0"])
            .status,
        206
    );
    // A weak or a dated validator is no proof that bytes fit.
    let weak = server.get(FILE, &["Range: bytes=4-5", &format!("If-Range: W/{etag}")]);
    assert_eq!(weak.status, 200);

    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(path.join("model.safetensors"))
        .unwrap();
    file.write_all(b"more").unwrap();
    drop(file);
    let changed = server.get(FILE, &["Range: bytes=4-5", &if_range]);
    assert_eq!((changed.status, changed.body.len()), (200, 1_000_004));
    assert_ne!(changed.header("etag"), Some(etag.as_str()));
    let refused = server.get(FILE, &["Range: bytes=4-5", &format!("If-Match: {etag}")]);
    assert_eq!(refused.status, 412);
}

#[test]
fn nothing_but_the_files_of_the_checkpoint_can_be_named() {
    let (_dir, path, _) = checkpoint();
    let server = Server::start(&[], &path);
    for name in [
        "secret.txt",
        "../outside.json",
        "..%2foutside.json",
        "%2e%2e/outside.json",
        "..%5coutside.json",
        "./model.safetensors",
        "model.safetensors/",
        "model.safetensors%00",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "//etc/passwd",
        "config.json/../model.safetensors",
        "MODEL.SAFETENSORS",
        "",
        "%",
        "%zz",
        "%ff",
        "model%2esafetensors/..",
        "....//outside.json",
        "..;/outside.json",
    ] {
        let answer = server.get(&format!("api/files/0/{name}"), &[]);
        assert_eq!(answer.status, 404, "{name}");
        assert!(
            !answer.body.windows(6).any(|six| six == b"secret"),
            "{name}"
        );
    }
    for path in [
        "api/files/00x/config.json",
        "api/files/-1/config.json",
        "api/",
        "api/files/0",
        "x.js",
        "../",
        "..%2f",
    ] {
        assert_eq!(server.get(path, &[]).status, 404, "{path}");
    }
    // An escape is the letter that it stands for, no more.
    assert_eq!(
        server
            .get("api/files/0/model%2Esafetensors", &["Range: bytes=0-0"])
            .status,
        206
    );
}

#[test]
#[cfg(unix)]
fn links_out_of_the_checkpoint_are_refused_and_those_of_a_cache_followed() {
    use std::os::unix::fs::symlink;
    let (dir, path, _) = checkpoint();
    symlink(dir.path().join("outside.json"), path.join("link.json")).unwrap();
    let refused = run(blockscale().arg("view").arg(&path));
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("link.json"), "{}", refused.stderr);

    let repository = dir.path().join("models--org--name");
    let (snapshot, blobs) = (repository.join("snapshots/abc"), repository.join("blobs"));
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(&blobs).unwrap();
    fs::write(blobs.join("12ab"), b"tensors").unwrap();
    symlink("../../blobs/12ab", snapshot.join("model.safetensors")).unwrap();
    let server = Server::start(&[], &repository);
    assert_eq!(server.get(FILE, &[]).body, b"tensors");
    // What the link leads to later changes nothing: the file is open.
    fs::remove_file(snapshot.join("model.safetensors")).unwrap();
    symlink(
        dir.path().join("outside.json"),
        snapshot.join("model.safetensors"),
    )
    .unwrap();
    assert_eq!(server.get(FILE, &[]).body, b"tensors");
}

#[test]
fn whoever_has_not_the_token_gets_nothing() {
    let (_dir, path, _) = checkpoint();
    let server = Server::start(&[], &path);
    let (address, token) = (server.address, &server.token);
    let shorter = &token[..31];
    for path in [
        "/".to_owned(),
        format!("/{FILE}"),
        format!("/{shorter}/"),
        format!("/{token}0/"),
        format!("/{}/", "0".repeat(32)),
        format!("//{token}/"),
        format!("/?{token}/"),
        format!("/x/../{token}/"),
    ] {
        let answer = server.raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        ));
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.header("content-security-policy").is_some());
    }
    let bare = server.raw(&format!(
        "GET /{token} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!(
        (bare.status, bare.header("location")),
        (308, Some(format!("/{token}/").as_str()))
    );
    let other = Server::start(&[], &path);
    assert_ne!(other.token, server.token);
}

#[test]
fn other_sites_get_nothing_even_with_the_token() {
    let (_dir, path, _) = checkpoint();
    let server = Server::start(&[], &path);
    let (address, token) = (server.address, &server.token);
    for host in [
        "evil.example",
        "localhost.evil.example:80",
        "10.1.2.3",
        "[::1",
        "",
        "127.0.0.1\tx",
    ] {
        let answer = server.raw(&format!(
            "GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        ));
        assert!(
            [400, 403].contains(&answer.status),
            "{host}: {}",
            answer.status
        );
    }
    let none = server.raw(&format!(
        "GET /{token}/ HTTP/1.1\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!(none.status, 403);
    for line in [
        "Origin: http://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        let answer = server.get(FILE, &[line, "Range: bytes=0-0"]);
        assert_eq!(answer.status, 403, "{line}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    // Behind a tunnel the port is another, and so is the origin.
    let tunnel = server.raw(&format!(
        "GET /{token}/{FILE} HTTP/1.1\r\nHost: localhost:8000\r\nOrigin: http://localhost:8000\r\n\
         Sec-Fetch-Site: same-origin\r\nRange: bytes=0-0\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!(tunnel.status, 206);
    assert_eq!(
        server
            .get(
                FILE,
                &[&format!("Origin: http://{address}"), "Range: bytes=0-0"]
            )
            .status,
        206
    );
}

#[test]
fn it_only_reads() {
    let (_dir, path, bytes) = checkpoint();
    let server = Server::start(&[], &path);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let answer = server.ask(method, FILE, &["Content-Length: 0"]);
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, Some("GET, HEAD")),
            "{method}"
        );
    }
    assert!(fs::read(path.join("model.safetensors")).unwrap() == bytes);
}

#[test]
fn nonsense_and_silence_leave_it_answering() {
    let (_dir, path, bytes) = checkpoint();
    let server = Server::start(&[], &path);
    let silent: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    for nonsense in [
        "\0\0\0\0",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        &"x".repeat(100_000),
    ] {
        let mut stream = server.connect();
        let _ = stream.write_all(nonsense.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    // A reader that leaves in the middle of an answer.
    let mut left = server.connect();
    let (address, token) = (server.address, &server.token);
    left.write_all(format!("GET /{token}/{FILE} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())
        .unwrap();
    left.read_exact(&mut [0; 10]).unwrap();
    drop(left);
    assert_eq!(server.get(FILE, &["Range: bytes=7-7"]).body, bytes[7..8]);
    drop(silent);
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_it_with_success_and_cuts_connections() {
    let (_dir, path, _) = checkpoint();
    let mut server = Server::start(&[], &path);
    let mut idle = server.connect();
    assert_eq!(server.get(FILE, &["Range: bytes=0-0"]).status, 206);
    let pid = server.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = server.child.try_wait().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < LIMIT);
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(0));
    assert!(matches!(idle.read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn a_port_that_is_taken_and_a_folder_without_a_checkpoint_are_said() {
    let (dir, path, _) = checkpoint();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = run(blockscale().arg("view").arg(&path).args(["--port", &port]));
    assert_eq!(refused.code, Some(4));
    assert!(refused.stderr.contains("--port"), "{}", refused.stderr);
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let refused = run(blockscale().arg("view").arg(&empty));
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
}
