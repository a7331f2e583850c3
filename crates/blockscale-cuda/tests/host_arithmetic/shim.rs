//! The program made of the kernels' arithmetic.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

const COMPILERS: [&str; 3] = ["c++", "g++", "clang++"];

/// The program, compiled once; `None`, with a line that says so, where there is no compiler.
pub(crate) fn shim() -> Option<&'static Path> {
    static SHIM: OnceLock<Option<PathBuf>> = OnceLock::new();
    SHIM.get_or_init(|| {
        let Some(compiler) = COMPILERS.into_iter().find(|name| runs(name)) else {
            println!("skipped: no C++ compiler: none of {}", COMPILERS.join(", "));
            return None;
        };
        Some(compile(compiler))
    })
    .as_deref()
}

fn runs(compiler: &str) -> bool {
    let output = Command::new(compiler).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

fn compile(compiler: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/cuda/host_shim.cpp");
    let program =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("host-shim-{}", std::process::id()));
    let output = Command::new(compiler)
        .args(["-std=c++17", "-O2", "-ffp-contract=off", "-o"])
        .arg(&program)
        .arg(source)
        .output()
        .expect("the compiler has just run");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// What the program writes for an operation with these parameters and this input.
pub(crate) fn run(shim: &Path, operation: &str, parameters: &[u64], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(shim)
        .arg(operation)
        .args(parameters.iter().map(|number| format!("{number:x}")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was compiled");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("it was started");
    writer
        .join()
        .expect("it does not panic")
        .expect("all was read");
    assert!(output.status.success(), "{operation}: {}", output.status);
    output.stdout
}

/// Little-endian bytes of numbers.
pub(crate) fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

pub(crate) fn numbers_of(bytes: &[u8]) -> Vec<f32> {
    let (words, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty());
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// Compares bits and names the first that differ.
#[track_caller]
pub(crate) fn assert_same(what: &str, found: &[u8], expected: &[u8]) {
    assert_eq!(found.len(), expected.len(), "{what}: bytes");
    let differing = found.iter().zip(expected).position(|(a, b)| a != b);
    if let Some(at) = differing {
        let from = at & !3;
        let part = |bytes: &[u8]| bytes[from..bytes.len().min(from + 4)].to_vec();
        panic!(
            "{what}: byte {at} of {}: {:02x?}, not {:02x?}",
            found.len(),
            part(found),
            part(expected)
        );
    }
}
