//! Which level is in use, and that it can be chosen.

use std::string::ToString;

use crate::arch::{Level, LevelUnavailable};

#[test]
fn names_are_read_back() {
    for level in Level::ALL {
        assert_eq!(Level::from_name(level.name()), Some(level));
        assert_eq!(level.to_string(), level.name());
    }
}

#[test]
fn the_definition_comes_first_and_is_always_there() {
    assert_eq!(Level::available().next(), Some(Level::Scalar));
    assert_eq!(Level::available().last(), Some(Level::detected()));
}

#[test]
fn a_level_of_another_machine_is_refused() {
    let before = Level::in_use();
    for level in Level::ALL.into_iter().filter(|level| !level.is_available()) {
        let error = level.use_everywhere().unwrap_err();
        assert_eq!(error, LevelUnavailable { level });
        assert!(error.to_string().contains(level.name()));
        assert_eq!(Level::in_use(), before);
    }
}
