//! What a terminal gets: the bar and the colours. `script` lends one.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::process::{Finished, blockscale, run, sample, skip};

const LLAMA: &str = "../../tests/data/checkpoints/modelopt-nvfp4-llama";

/// Runs `command` with a terminal as its stdout and stderr; the screen is in `stdout`.
fn on_terminal(command: &Command) -> Option<Finished> {
    if Command::new("script").arg("--version").output().is_err() {
        skip("`script`, which lends a terminal, is not installed");
        return None;
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut script = Command::new("script");
    script
        .args([
            "--quiet",
            "--return",
            "--command",
            &words.join(" "),
            "/dev/null",
        ])
        .env("SHELL", "/bin/sh")
        .env("TERM", "xterm")
        .env_remove("NO_COLOR");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    Some(run(&mut script))
}

#[test]
fn the_bar_shows_bytes_rate_and_time_left() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(dir.path(), 4);
    let output = dir.path().join("out");
    let mut convert = blockscale();
    convert.arg("convert").args([&source, &output]);
    let mut verify = blockscale();
    verify.arg("verify").args([&source, &output]);
    for (command, verb) in [(convert, "converting ["), (verify, "verifying [")] {
        let Some(screen) = on_terminal(&command) else {
            return;
        };
        let screen = screen.ok().stdout;
        assert!(screen.contains(verb), "{screen:?}");
        for part in ["MiB/s ", "s left", " MiB "] {
            assert!(screen.contains(part), "{part:?} in {screen:?}");
        }
    }
}

#[test]
fn colours_are_for_terminals_and_obey_no_color() {
    let mut plain = blockscale();
    plain.args(["inspect", LLAMA]).env("NO_COLOR", "1");
    let mut coloured = blockscale();
    coloured.args(["inspect", LLAMA]);
    let (Some(plain), Some(coloured)) = (on_terminal(&plain), on_terminal(&coloured)) else {
        return;
    };
    let (plain, coloured) = (plain.ok().stdout, coloured.ok().stdout);
    assert!(coloured.contains("\x1b[1m"), "{coloured:?}");
    assert!(!plain.contains('\x1b'), "{plain:?}");
    assert!(plain.contains("model.norm.weight"), "{plain:?}");
}
