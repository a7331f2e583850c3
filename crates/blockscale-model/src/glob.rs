//! Globs over names.
//!
//! Small on purpose: a browser loads this, and the general engines weigh more than all of the rest.

use std::ops::RangeInclusive;

/// Alternatives that one pattern may stand for: `{a,b}{c,d}` stands for four.
const MOST_ALTERNATIVES: usize = 1024;

/// Nested alternatives that are read.
const DEEPEST: usize = 16;

/// A glob: `*` is any characters, dots and slashes included, `?` one, `[a-c]` and `[!a-c]` one of a
/// class, `{a,b}` either; `\` takes away a character's meaning.
///
/// Held against the crate `globset` by a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob {
    alternatives: Vec<Vec<Token>>,
}

/// What a place in a name may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Char(char),
    AnyOne,
    AnyRun,
    Class {
        negated: bool,
        ranges: Vec<RangeInclusive<char>>,
    },
}

/// Why a text is no glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GlobError {
    #[error("`[` without its `]`")]
    OpenClass,
    #[error("the range `{0}-{1}` runs backwards")]
    Backwards(char, char),
    #[error("`{{` without its `}}`")]
    OpenAlternatives,
    #[error("`}}` without its `{{`")]
    StrayBrace,
    #[error("nothing behind the last `\\`")]
    DanglingEscape,
    #[error("it stands for more than {MOST_ALTERNATIVES} alternatives, or nests too deeply")]
    TooMany,
}

impl Glob {
    pub(crate) fn new(text: &str) -> Result<Self, GlobError> {
        let mut parser = Parser {
            rest: text.chars().peekable(),
        };
        let alternatives = parser.sequence(0)?;
        match parser.rest.peek() {
            None => Ok(Self { alternatives }),
            // Only a brace ends a sequence early, and there is none to close.
            Some(_) => Err(GlobError::StrayBrace),
        }
    }

    /// Whether it matches the whole of `name`.
    pub(crate) fn is_match(&self, name: &str) -> bool {
        self.alternatives
            .iter()
            .any(|tokens| matches_all(tokens, name))
    }
}

struct Parser<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
}

impl Parser<'_> {
    /// What comes before the end of the text, or, inside alternatives, before `,` or `}`.
    fn sequence(&mut self, depth: usize) -> Result<Vec<Vec<Token>>, GlobError> {
        let mut found = vec![Vec::new()];
        while let Some(&next) = self.rest.peek() {
            if next == '}' || (next == ',' && depth > 0) {
                break;
            }
            self.rest.next();
            let token = match next {
                '{' => {
                    found = joined(&found, &self.alternatives(depth + 1)?)?;
                    continue;
                }
                '*' => Token::AnyRun,
                '?' => Token::AnyOne,
                '[' => self.class()?,
                '\\' => Token::Char(self.rest.next().ok_or(GlobError::DanglingEscape)?),
                plain => Token::Char(plain),
            };
            found
                .iter_mut()
                .for_each(|tokens| tokens.push(token.clone()));
        }
        Ok(found)
    }

    /// Behind `{`, up to and with its `}`.
    fn alternatives(&mut self, depth: usize) -> Result<Vec<Vec<Token>>, GlobError> {
        if depth > DEEPEST {
            return Err(GlobError::TooMany);
        }
        let mut found = Vec::new();
        loop {
            found.extend(self.sequence(depth)?);
            if found.len() > MOST_ALTERNATIVES {
                return Err(GlobError::TooMany);
            }
            match self.rest.next() {
                Some(',') => {}
                Some(_) => return Ok(found),
                None => return Err(GlobError::OpenAlternatives),
            }
        }
    }

    /// Behind `[`, up to and with its `]`; one that comes first is a member.
    fn class(&mut self) -> Result<Token, GlobError> {
        let negated = self.rest.next_if(|c| matches!(c, '!' | '^')).is_some();
        let mut ranges = Vec::new();
        loop {
            let first = self.rest.next().ok_or(GlobError::OpenClass)?;
            if first == ']' && !ranges.is_empty() {
                return Ok(Token::Class { negated, ranges });
            }
            ranges.push(self.range_from(first)?);
        }
    }

    /// `a-c`, or one character; `-` before the end of the class is itself.
    fn range_from(&mut self, first: char) -> Result<RangeInclusive<char>, GlobError> {
        let mut ahead = self.rest.clone();
        let last = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(last)) if last != ']' => last,
            _ => return Ok(first..=first),
        };
        if last < first {
            return Err(GlobError::Backwards(first, last));
        }
        self.rest = ahead;
        Ok(first..=last)
    }
}

/// Every beginning with every end.
fn joined(starts: &[Vec<Token>], ends: &[Vec<Token>]) -> Result<Vec<Vec<Token>>, GlobError> {
    if starts.len() * ends.len() > MOST_ALTERNATIVES {
        return Err(GlobError::TooMany);
    }
    let pairs = starts
        .iter()
        .flat_map(|start| ends.iter().map(move |end| [start.as_slice(), end].concat()));
    Ok(pairs.collect())
}

impl Token {
    fn takes(&self, found: char) -> bool {
        match self {
            Self::Char(char) => *char == found,
            Self::AnyOne | Self::AnyRun => true,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|range| range.contains(&found)) != *negated
            }
        }
    }
}

/// Only the last `*` seen has to give way, so that no name takes more steps than its length times
/// that of the pattern.
fn matches_all(tokens: &[Token], name: &str) -> bool {
    let (mut tokens, mut rest) = (tokens, name.chars());
    let mut last_run = None;
    loop {
        match tokens.split_first() {
            Some((Token::AnyRun, behind)) => {
                last_run = Some((behind, rest.clone()));
                tokens = behind;
                continue;
            }
            Some((token, behind)) => {
                let mut ahead = rest.clone();
                if ahead.next().is_some_and(|found| token.takes(found)) {
                    (tokens, rest) = (behind, ahead);
                    continue;
                }
            }
            None if rest.as_str().is_empty() => return true,
            None => {}
        }
        // Does not fit here: the last run takes one more.
        let Some((behind, at)) = &mut last_run else {
            return false;
        };
        if at.next().is_none() {
            return false;
        }
        (tokens, rest) = (behind, at.clone());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(glob: &str, name: &str) -> bool {
        Glob::new(glob).unwrap().is_match(name)
    }

    #[test]
    fn a_star_takes_dots_and_nothing_at_all() {
        assert!(matches("a*b", "a.x.y.b") && matches("a*b", "ab") && matches("*", ""));
        assert!(!matches("a*b", "a.b.c"));
        assert!(matches("*.w*.weight", "w.w.w1.weight.w.weight"));
    }

    #[test]
    fn alternatives_nest_and_may_be_empty() {
        let glob = "x{,.a{1,2}}.y";
        for name in ["x.y", "x.a1.y", "x.a2.y"] {
            assert!(matches(glob, name), "{name}");
        }
        assert!(!matches(glob, "x.a.y"));
    }

    #[test]
    fn classes_have_ranges_and_opposites() {
        assert!(matches("[a-c-]", "-") && matches("[]a]", "]") && matches("[!a-c]", "d"));
        assert!(!matches("[^a-c]", "b") && !matches("[a]", ""));
    }

    #[test]
    fn a_backslash_makes_a_character_plain() {
        assert!(matches(r"a\*\{", "a*{") && !matches(r"a\*", "ab"));
    }

    #[test]
    fn what_is_no_glob_says_why() {
        for (text, why) in [
            ("[a", GlobError::OpenClass),
            ("[c-a]", GlobError::Backwards('c', 'a')),
            ("{a", GlobError::OpenAlternatives),
            ("a}", GlobError::StrayBrace),
            ("a\\", GlobError::DanglingEscape),
            (&"{a,b}".repeat(11), GlobError::TooMany),
            (&"{".repeat(100_000), GlobError::TooMany),
        ] {
            assert_eq!(Glob::new(text), Err(why));
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let (glob, name) = (format!("{}b", "a*".repeat(200)), "a".repeat(2000));
        assert!(!matches(&glob, &name) && matches(&glob, &(name + "b")));
    }

    proptest! {
        /// Names of tensors and patterns made of the same few characters, so that many match.
        #[test]
        fn it_agrees_with_globset(
            glob in r"([ab.*?]|\[[!]?[ab][-ab]{0,2}\]|\{[ab*]{1,2}(,[ab?]{1,3}){0,2}\}|\\[*ab]){0,6}",
            names in prop::collection::vec("[ab.*-]{0,7}", 40),
        ) {
            // Two stars in a row are one; beside a slash they would be something else.
            let theirs = globset::GlobBuilder::new(&glob).empty_alternates(true).build();
            prop_assert_eq!(Glob::new(&glob).is_ok(), theirs.is_ok());
            if let (Ok(ours), Ok(theirs)) = (Glob::new(&glob), theirs) {
                let theirs = theirs.compile_matcher();
                for name in &names {
                    prop_assert_eq!(ours.is_match(name), theirs.is_match(name), "{} {}", glob, name);
                }
            }
        }

        #[test]
        fn any_text_is_a_glob_or_says_why(text in r"[ab*?{}\[\],\\!^-]{0,24}", name in "[ab]{0,9}") {
            if let Ok(glob) = Glob::new(&text) {
                glob.is_match(&name);
            }
        }
    }
}
