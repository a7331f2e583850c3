//! Commands in the documents are understood by the command line.

use blockscale_cli::parses;

use crate::page::{Line, lines, pages};

/// Words of a line of shell, up to a comment or a redirection.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#' | '>' | '|') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The arguments that the tool is given by a command, the program's name first; `None` for other
/// programs, and for the chores of `cargo xtask`.
fn arguments(command: &[String]) -> Option<Vec<&str>> {
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    match command[..] {
        // A picture of the crates.
        ["blockscale", "<-", ..] => None,
        ["blockscale", ..] => Some(command),
        ["cargo", "xtask", "test", ref flags @ ..] => {
            assert!(flags.iter().all(|flag| *flag == "--fast"), "{command:?}");
            None
        }
        ["cargo", "xtask", "kernels", ref flags @ ..] => {
            assert!(flags.iter().all(|flag| *flag == "--check"), "{command:?}");
            None
        }
        ["cargo", "xtask", "web", ref flags @ ..] => {
            assert!(flags.iter().all(|flag| *flag == "--serve"), "{command:?}");
            None
        }
        ["cargo", "xtask", "fuzz" | "stress" | "deny" | "wasm", ..] => None,
        ["cargo", "xtask"] | ["cargo", "xtask", "help" | "convert"] => None,
        ["cargo", "xtask", ref rest @ ..] => Some([&["blockscale"], rest].concat()),
        ["cargo", "run", ref options @ ..] if options.contains(&"blockscale-cli") => {
            let at = options.iter().position(|option| *option == "--")?;
            Some([&["blockscale"], &options[at + 1..]].concat())
        }
        _ => None,
    }
}

#[test]
fn commands_in_code_blocks_are_understood() {
    let mut understood = 0;
    for page in pages() {
        for line in lines(&page.text) {
            let Line::Code(code) = line else { continue };
            let command = words(code.strip_prefix("$ ").unwrap_or(code));
            let Some(arguments) = arguments(&command) else {
                continue;
            };
            if let Err(misuse) = parses(&arguments) {
                panic!("{}: `{code}`\n{misuse}", page.path.display());
            }
            understood += 1;
        }
    }
    assert!(understood >= 6, "{understood}");
}

#[test]
fn words_are_those_of_a_shell() {
    let line = "a --b 'c d' e.x  # f";
    assert_eq!(words(line), ["a", "--b", "c d", "e.x"]);
    assert_eq!(words("a b > c"), ["a", "b"]);
}

#[test]
fn a_command_that_does_not_exist_is_noticed() {
    for wrong in [
        &["blockscale", "transmogrify"][..],
        &["blockscale", "convert", "a", "b", "--to", "fp3"],
        &["blockscale", "convert", "a"],
    ] {
        assert!(parses(wrong).is_err(), "{wrong:?}");
    }
    assert_eq!(parses(["blockscale", "--help"]), Ok(()));
}
