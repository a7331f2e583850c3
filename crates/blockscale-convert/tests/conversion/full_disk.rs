//! A disk that fills up: a small tmpfs, where the tests may mount one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use blockscale_convert::{ConvertError, ConvertOptions, Existing, FailureKind};
use blockscale_model::recipe::Target;
use tempfile::TempDir;

use crate::checkpoint::{NewTensor, write_sharded};
use crate::files::{assert_same, names};
use crate::run::{Opened, to};

/// A mounted tmpfs; unmounted when dropped, also by a failing test.
struct SmallDisk {
    dir: TempDir,
}

impl SmallDisk {
    /// `None` where mounting is not allowed.
    fn mount(kib: u32) -> Option<Self> {
        let disk = tempfile::tempdir().unwrap();
        let size = format!("size={kib}k");
        let mounted = run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs"], disk.path());
        mounted.then_some(Self { dir: disk })
    }

    fn enlarge(&self, kib: u32) {
        let size = format!("remount,size={kib}k");
        assert!(run("mount", &["-o", &size], self.dir.path()));
    }

    fn forbid_writing(&self) {
        assert!(run("mount", &["-o", "remount,ro"], self.dir.path()));
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", &[], self.dir.path());
    }
}

/// Whether the command is there and succeeds.
fn run(command: &str, args: &[&str], path: &Path) -> bool {
    Command::new(command)
        .args(args)
        .arg(path)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Past the capture of the test harness; a closed stderr is no reason to fail.
fn skip() {
    let _ = std::io::stderr().write_all(b"skipped: a tmpfs cannot be mounted here\n");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_that_names_it() {
    // A file system, and not permissions: those do not bind root.
    let Some(disk) = SmallDisk::mount(256) else {
        return skip();
    };
    let dir = tempfile::tempdir().unwrap();
    write_sharded(dir.path(), &[vec![NewTensor::noise("a.weight", &[4, 4])]]);
    let source = Opened::new(dir.path());
    let plan = source.plan(&to(Target::F16));
    std::fs::create_dir(disk.out()).unwrap();
    disk.forbid_writing();
    for out in [disk.out(), disk.dir.path().join("another")] {
        let error = source
            .convert(&plan, &out, &ConvertOptions::default())
            .unwrap_err();
        assert_eq!(error.kind(), FailureKind::Io);
        let ConvertError::Write { path, action, .. } = &error else {
            panic!("{error}");
        };
        assert!(path.starts_with(&out) && *action == "create", "{error}");
    }
}

#[test]
fn full_disk_names_the_file_and_resumes_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(256) else {
        return skip();
    };
    let dir = tempfile::tempdir().unwrap();
    let shards: Vec<_> = ["a", "b", "c"]
        .map(|module| vec![NewTensor::noise(&format!("{module}.weight"), &[256, 256])])
        .into();
    write_sharded(dir.path(), &shards);
    let source = Opened::new(dir.path());
    let plan = source.plan_with(&to(Target::F16), 1 << 17).unwrap();
    let reference = tempfile::tempdir().unwrap();
    source
        .convert(&plan, reference.path(), &ConvertOptions::default())
        .unwrap();

    let out = disk.out();
    let error = source
        .convert(&plan, &out, &ConvertOptions::default())
        .unwrap_err();
    assert_eq!(error.kind(), FailureKind::Io);
    let ConvertError::Write { path, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(
        path.file_name().unwrap(),
        ".model-00002-of-00003.safetensors.partial"
    );
    let text = error.to_string();
    assert!(text.contains("model-00002-of-00003.safetensors"), "{text}");
    assert!(
        text.contains("free some space and run again with --resume"),
        "{text}"
    );
    let left: Vec<_> = names(&out)
        .into_iter()
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert_eq!(
        left,
        [
            "blockscale-journal.jsonl",
            "model-00001-of-00003.safetensors"
        ]
    );

    disk.enlarge(4096);
    let resume = ConvertOptions {
        existing: Existing::Resume,
        ..ConvertOptions::default()
    };
    source.convert(&plan, &out, &resume).unwrap();
    assert_same(reference.path(), &out);
}
