//! What can be said after `cargo xtask`.

use std::ffi::OsString;

use thiserror::Error;

use crate::kernels;

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
  test     Everything that continuous integration runs: formatting, clippy, docs, the core on a
           target without std, all tests. --fast leaves out the docs and that target.
             cargo xtask test --fast
  kernels  Compiles the CUDA kernels into the image that blockscale-cuda carries, with a compiler from
           PyPI where there is none of that version. --check only sees whether the image is of
           these sources, as the tests do.
             cargo xtask kernels
  wasm     Builds the package for browsers under target/web/pkg, with and without 128-bit vectors,
           and prints its sizes. Installs what it needs under target/tools.
             cargo xtask wasm
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
    /// Compile the CUDA kernels, or check their image.
    Kernels(kernels::Mode),
    /// Build the package for browsers.
    Wasm,
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
    /// Without the docs and without the target that has no std.
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
        [word, flags @ ..] if word == "wasm" => parse_wasm(flags),
        [word, of] if word == "help" && ["test", "kernels", "wasm"].iter().any(|w| of == w) => {
            Ok(Task::Help)
        }
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

fn parse_wasm(flags: &[OsString]) -> Result<Task, UnknownArgument> {
    match flags.first() {
        None => Ok(Task::Wasm),
        Some(flag) if flag == "--help" || flag == "-h" => Ok(Task::Help),
        Some(flag) => Err(UnknownArgument {
            command: "wasm",
            takes: "--help",
            found: flag.clone(),
        }),
    }
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
    fn wasm_takes_no_flags() {
        assert_eq!(parse_words(&["wasm"]), Ok(Task::Wasm));
        let error = parse_words(&["wasm", "--quick"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`cargo xtask wasm` takes only `--help`, not `--quick`"
        );
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
            "convert", "inspect", "verify", "sample", "test", "kernels", "wasm", "help",
        ] {
            assert!(
                HELP.contains(&format!("\n             cargo xtask {command}")),
                "{command}"
            );
        }
    }
}
