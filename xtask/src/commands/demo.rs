//! `cargo xtask convert` with nothing after it: a first conversion with nothing to prepare.

use std::process::ExitCode;

/// Each step's purpose, and the tool's arguments that do it.
const STEPS: [(&str, &[&str]); 4] = [
    (
        "A small checkpoint with the names and formats of DeepSeek-V4-Pro in NVFP4",
        &["sample", "target/sample/deepseek-v4-nvfp4"],
    ),
    (
        "Converted to the layout that vLLM loads as it is",
        &[
            "convert",
            "target/sample/deepseek-v4-nvfp4",
            "target/sample/deepseek-v4",
            "--recipe",
            "deepseek-v4",
            "--overwrite",
        ],
    ),
    (
        "Both decoded again, independently, and compared",
        &[
            "verify",
            "target/sample/deepseek-v4-nvfp4",
            "target/sample/deepseek-v4",
        ],
    ),
    (
        "What the recipe with BF16 attention would do",
        &[
            "convert",
            "target/sample/deepseek-v4-nvfp4",
            "--recipe",
            "deepseek-v4-bf16",
            "--dry-run",
        ],
    ),
];

/// Runs the steps through `tool`, which is given the arguments of a process, its name first.
///
/// Returns the exit code of the first step that fails.
pub(crate) fn run(mut tool: impl FnMut(Vec<&str>) -> ExitCode) -> ExitCode {
    for (number, (purpose, args)) in STEPS.into_iter().enumerate() {
        if number > 0 {
            println!();
        }
        let command: Vec<&str> = std::iter::once("blockscale")
            .chain(args.iter().copied())
            .collect();
        println!("{purpose}:\n$ {}", command.join(" "));
        let code = tool(command);
        if code != ExitCode::SUCCESS {
            return code;
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_with(codes: &[u8]) -> (ExitCode, Vec<String>) {
        let mut commands = Vec::new();
        let code = run(|args| {
            commands.push(args[..2].join(" "));
            ExitCode::from(codes[commands.len() - 1])
        });
        (code, commands)
    }

    #[test]
    fn the_sample_is_written_before_it_is_converted_and_verified() {
        let (code, commands) = run_with(&[0, 0, 0, 0]);
        assert_eq!(code, ExitCode::SUCCESS);
        assert_eq!(
            commands,
            [
                "blockscale sample",
                "blockscale convert",
                "blockscale verify",
                "blockscale convert"
            ]
        );
    }

    #[test]
    fn the_first_failure_ends_it_with_its_exit_code() {
        let (code, commands) = run_with(&[0, 4]);
        assert_eq!(code, ExitCode::from(4));
        assert_eq!(commands.len(), 2);
    }
}
