//! What can be said after `cargo xtask`.

use std::ffi::OsString;
use std::str::FromStr;

use blockscale_fuzz::named;
use thiserror::Error;

use crate::commands::fuzz;
use crate::kernels;
use crate::web;

/// Seconds of `fuzz` for each target, unless said otherwise: an hour in all.
const FUZZ_SECONDS: u64 = 190;

/// Places at which `stress` interferes, unless said otherwise.
const STRESS_POINTS: u32 = 300;

/// The exit code of a command line that can't be understood, the same as the tool's.
pub(crate) const USAGE_EXIT_CODE: u8 = 2;

/// The text of `cargo xtask help`.
pub(crate) const HELP: &str = "\
Chores of the project, and the tool itself, built with optimisation.

Usage: cargo xtask <COMMAND>

  convert  The main job. With nothing after it: writes a sample checkpoint under target/sample,
           converts it, verifies it, and shows what a second recipe would do.
             cargo xtask convert
             cargo xtask convert DeepSeek-V4-Pro-NVFP4 converted --recipe deepseek-v4
  inspect  Tensors, formats and sizes of a checkpoint.
             cargo xtask inspect target/sample/deepseek-v4-nvfp4
  verify   Decodes two checkpoints independently and compares the numbers.
             cargo xtask verify target/sample/deepseek-v4-nvfp4 target/sample/deepseek-v4
  sample   Writes a small checkpoint with the names and formats of DeepSeek-V4-Pro.
             cargo xtask sample target/sample/three-layers --layers 3
  bench    Operations of the processor beside a plain copy, with every instruction set it has; with
           --files, whole conversions beside a copy of files. --record keeps the table.
             cargo xtask bench --files target/bench --gib 4 --record
  test     Everything that continuous integration runs: formatting, clippy, docs, the core on a
           target without std, dependencies, the viewer's page, all tests. --fast leaves out all but
           formatting, clippy and tests.
             cargo xtask test --fast
  fuzz     Feeds hostile input to everything that reads bytes from elsewhere, with libFuzzer and the
           address sanitizer: --seconds for each target, or for the one named.
             cargo xtask fuzz --seconds 60 header
  stress   Kills conversions and makes system calls fail, at --points places each, and resumes.
             cargo xtask stress --points 300
  deny     Holds every dependency against deny.toml, with cargo-deny where that is installed.
             cargo xtask deny
  kernels  Compiles the CUDA kernels into the image that blockscale-cuda carries, with a compiler from
           PyPI where there is none of that version. --check only sees whether the image is of
           these sources, as the tests do.
             cargo xtask kernels
  wasm     Builds the package for browsers under target/web/pkg, with and without 128-bit vectors,
           and prints its sizes. Installs what it needs under target/tools.
             cargo xtask wasm
  web      Builds the viewer's page, and the package for browsers if that changed; `blockscale view`
           has the page once it is built after this. --serve also serves it on this machine.
             cargo xtask web --serve
  help     This text.
             cargo xtask help

Every other word goes to the tool as it stands, and so does help on one of its commands:
             cargo xtask help convert
";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Print [`HELP`].
    Help,
    /// Check the workspace.
    Test(Scope),
    /// Feed hostile input to everything that reads bytes.
    Fuzz(fuzz::Options),
    /// Interfere with conversions at so many places.
    Stress(u32),
    /// Check the dependencies.
    Deny,
    /// Compile the CUDA kernels, or check their image.
    Kernels(kernels::Mode),
    /// Build the package for browsers.
    Wasm,
    /// Build the viewer's page, and perhaps serve it.
    Web(web::Mode),
    /// Convert the sample checkpoint.
    Demo,
    /// Run the tool with these arguments, the program's name first.
    Tool(Vec<OsString>),
}

/// How much of the workspace's checks to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All that continuous integration runs.
    Full,
    /// Formatting, clippy and tests.
    Fast,
}

/// An argument that a command of this crate doesn't know.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`cargo xtask {command}` takes only `{takes}`, not `{}`", found.display())]
pub(crate) struct UnknownArgument {
    command: &'static str,
    takes: &'static str,
    found: OsString,
}

/// Commands of this crate that take arguments, or none, of their own.
const OWN: [&str; 7] = ["test", "kernels", "wasm", "web", "fuzz", "stress", "deny"];

/// Reads the arguments that follow `cargo xtask`.
///
/// # Errors
/// [`UnknownArgument`] for the commands of this crate. The tool checks the arguments of its own.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Task, UnknownArgument> {
    let args: Vec<OsString> = args.into_iter().collect();
    match args.as_slice() {
        [] => Ok(Task::Help),
        [word] if word == "help" || word == "--help" || word == "-h" => Ok(Task::Help),
        [word] if word == "convert" => Ok(Task::Demo),
        [word, flags @ ..] if word == "test" => parse_test(flags),
        [word, flags @ ..] if word == "kernels" => parse_kernels(flags),
        [word, flags @ ..] if word == "wasm" => parse_bare("wasm", flags, Task::Wasm),
        [word, flags @ ..] if word == "web" => parse_web(flags),
        [word, flags @ ..] if word == "deny" => parse_bare("deny", flags, Task::Deny),
        [word, flags @ ..] if word == "fuzz" => parse_fuzz(flags),
        [word, flags @ ..] if word == "stress" => parse_stress(flags),
        [word, of] if word == "help" && OWN.iter().any(|own| of == own) => Ok(Task::Help),
        _ => Ok(Task::Tool(
            std::iter::once("blockscale".into()).chain(args).collect(),
        )),
    }
}

fn parse_test(flags: &[OsString]) -> Result<Task, UnknownArgument> {
    let mut scope = Scope::Full;
    for flag in flags {
        if flag == "--help" || flag == "-h" {
            return Ok(Task::Help);
        }
        if flag != "--fast" {
            return Err(UnknownArgument {
                command: "test",
                takes: "--fast",
                found: flag.clone(),
            });
        }
        scope = Scope::Fast;
    }
    Ok(Task::Test(scope))
}

fn parse_kernels(flags: &[OsString]) -> Result<Task, UnknownArgument> {
    let mut mode = kernels::Mode::Build;
    for flag in flags {
        if flag == "--help" || flag == "-h" {
            return Ok(Task::Help);
        }
        if flag != "--check" {
            return Err(UnknownArgument {
                command: "kernels",
                takes: "--check",
                found: flag.clone(),
            });
        }
        mode = kernels::Mode::Check;
    }
    Ok(Task::Kernels(mode))
}

fn parse_web(flags: &[OsString]) -> Result<Task, UnknownArgument> {
    let mut mode = web::Mode::Build;
    for flag in flags {
        if flag == "--help" || flag == "-h" {
            return Ok(Task::Help);
        }
        if flag != "--serve" {
            return Err(UnknownArgument {
                command: "web",
                takes: "--serve",
                found: flag.clone(),
            });
        }
        mode = web::Mode::Serve;
    }
    Ok(Task::Web(mode))
}

fn parse_bare(
    command: &'static str,
    flags: &[OsString],
    task: Task,
) -> Result<Task, UnknownArgument> {
    match flags.first() {
        None => Ok(task),
        Some(flag) if flag == "--help" || flag == "-h" => Ok(Task::Help),
        Some(flag) => Err(UnknownArgument {
            command,
            takes: "--help",
            found: flag.clone(),
        }),
    }
}

fn parse_fuzz(mut flags: &[OsString]) -> Result<Task, UnknownArgument> {
    let mut options = fuzz::Options {
        target: None,
        seconds: FUZZ_SECONDS,
    };
    while let [flag, rest @ ..] = flags {
        flags = rest;
        let known = flag.to_str().and_then(named);
        match (flag.to_str(), rest) {
            (Some("--help" | "-h"), _) => return Ok(Task::Help),
            (Some("--seconds"), [number, rest @ ..]) if parsed::<u64>(number).is_some() => {
                options.seconds = parsed(number).unwrap_or(FUZZ_SECONDS);
                flags = rest;
            }
            _ if known.is_some() => options.target = known,
            _ => {
                return Err(UnknownArgument {
                    command: "fuzz",
                    takes: "--seconds NUMBER and the name of a target, as header",
                    found: flag.clone(),
                });
            }
        }
    }
    Ok(Task::Fuzz(options))
}

fn parse_stress(flags: &[OsString]) -> Result<Task, UnknownArgument> {
    match flags {
        [] => Ok(Task::Stress(STRESS_POINTS)),
        [flag, ..] if flag == "--help" || flag == "-h" => Ok(Task::Help),
        [flag, number] if flag == "--points" && parsed::<u32>(number).is_some() => {
            Ok(Task::Stress(parsed(number).unwrap_or(STRESS_POINTS)))
        }
        [flag, ..] => Err(UnknownArgument {
            command: "stress",
            takes: "--points NUMBER",
            found: flag.clone(),
        }),
    }
}

fn parsed<T: FromStr>(word: &OsString) -> Option<T> {
    word.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &[&str]) -> Result<Task, UnknownArgument> {
        parse(words.iter().map(OsString::from))
    }

    fn tool_words(words: &[&str]) -> Result<Task, UnknownArgument> {
        Ok(Task::Tool(words.iter().map(OsString::from).collect()))
    }

    #[test]
    fn nothing_and_the_usual_words_ask_for_help() {
        for words in [
            &[][..],
            &["help"],
            &["--help"],
            &["-h"],
            &["test", "--help"],
            &["help", "test"],
            &["help", "kernels"],
            &["kernels", "--help"],
            &["wasm", "--help"],
            &["help", "wasm"],
            &["help", "fuzz"],
            &["fuzz", "--help"],
            &["stress", "--help"],
            &["deny", "--help"],
        ] {
            assert_eq!(parse_words(words), Ok(Task::Help), "{words:?}");
        }
    }

    #[test]
    fn convert_alone_is_the_demo_and_with_arguments_the_tool() {
        assert_eq!(parse_words(&["convert"]), Ok(Task::Demo));
        assert_eq!(
            parse_words(&["convert", "src", "dst"]),
            tool_words(&["blockscale", "convert", "src", "dst"])
        );
        assert_eq!(
            parse_words(&["convert", "--help"]),
            tool_words(&["blockscale", "convert", "--help"])
        );
    }

    #[test]
    fn test_runs_everything_unless_fast() {
        assert_eq!(parse_words(&["test"]), Ok(Task::Test(Scope::Full)));
        assert_eq!(
            parse_words(&["test", "--fast"]),
            Ok(Task::Test(Scope::Fast))
        );
    }

    #[test]
    fn test_refuses_what_it_does_not_know() {
        let error = parse_words(&["test", "--fast", "--quick"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`cargo xtask test` takes only `--fast`, not `--quick`"
        );
    }

    #[test]
    fn kernels_are_compiled_unless_only_checked() {
        assert_eq!(
            parse_words(&["kernels"]),
            Ok(Task::Kernels(kernels::Mode::Build))
        );
        assert_eq!(
            parse_words(&["kernels", "--check"]),
            Ok(Task::Kernels(kernels::Mode::Check))
        );
        let error = parse_words(&["kernels", "--quick"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`cargo xtask kernels` takes only `--check`, not `--quick`"
        );
    }

    #[test]
    fn the_page_is_built_and_served_only_if_asked_for() {
        let built = |mode| Ok(Task::Web(mode));
        assert_eq!(parse_words(&["web"]), built(web::Mode::Build));
        assert_eq!(parse_words(&["web", "--serve"]), built(web::Mode::Serve));
        let error = parse_words(&["web", "--open"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`cargo xtask web` takes only `--serve`, not `--open`"
        );
    }

    #[test]
    fn wasm_takes_no_flags() {
        assert_eq!(parse_words(&["wasm"]), Ok(Task::Wasm));
        let error = parse_words(&["wasm", "--quick"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`cargo xtask wasm` takes only `--help`, not `--quick`"
        );
    }

    #[test]
    fn fuzz_takes_seconds_and_a_target() {
        let asked = |words: &[&str]| match parse_words(words) {
            Ok(Task::Fuzz(options)) => (options.target.map(|target| target.name), options.seconds),
            other => panic!("{other:?}"),
        };
        assert_eq!(asked(&["fuzz"]), (None, FUZZ_SECONDS));
        assert_eq!(
            asked(&["fuzz", "--seconds", "3", "gguf"]),
            (Some("gguf"), 3)
        );
        assert_eq!(
            asked(&["fuzz", "gguf", "--seconds", "3"]),
            (Some("gguf"), 3)
        );
        for words in [
            &["fuzz", "--seconds"][..],
            &["fuzz", "no-target"],
            &["fuzz", "--seconds", "x"],
        ] {
            assert!(parse_words(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn stress_takes_points_and_deny_nothing() {
        assert_eq!(parse_words(&["stress"]), Ok(Task::Stress(STRESS_POINTS)));
        assert_eq!(
            parse_words(&["stress", "--points", "20"]),
            Ok(Task::Stress(20))
        );
        assert!(parse_words(&["stress", "--points", "many"]).is_err());
        assert_eq!(parse_words(&["deny"]), Ok(Task::Deny));
        assert!(parse_words(&["deny", "all"]).is_err());
    }

    #[test]
    fn unknown_words_are_left_to_the_tool() {
        assert_eq!(
            parse_words(&["inspect", "model", "--json"]),
            tool_words(&["blockscale", "inspect", "model", "--json"])
        );
        assert_eq!(
            parse_words(&["help", "convert"]),
            tool_words(&["blockscale", "help", "convert"])
        );
        assert_eq!(
            parse_words(&["--version"]),
            tool_words(&["blockscale", "--version"])
        );
    }

    #[test]
    fn help_shows_a_real_example_of_each_command() {
        for command in [
            "convert", "inspect", "verify", "sample", "bench", "test", "fuzz", "stress", "deny",
            "kernels", "wasm", "web", "help",
        ] {
            assert!(
                HELP.contains(&format!("\n             cargo xtask {command}")),
                "{command}"
            );
        }
    }
}
