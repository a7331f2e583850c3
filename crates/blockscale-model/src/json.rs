//! JSON objects as they stand in the file: in order, with names that occur twice still there.
//!
//! A map type would keep the last of two members of one name, and so choose silently.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::limits::MAX_TENSORS;

/// The members of one object, in file order.
pub(crate) struct Members<V> {
    /// Names and values, at most [`MAX_TENSORS`] of them.
    pub(crate) list: Vec<(String, V)>,
    /// Whether there are more, which were passed over.
    pub(crate) too_many: bool,
}

impl<V> Members<V> {
    /// The first name that occurs more than once.
    pub(crate) fn repeated(&self) -> Option<&str> {
        let mut seen = HashSet::with_capacity(self.list.len());
        self.list
            .iter()
            .map(|(name, _)| name.as_str())
            .find(|name| !seen.insert(*name))
    }

    /// The value of the first member of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        self.list
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Members<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

struct InOrder<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for InOrder<V> {
    type Value = Members<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while list.len() < MAX_TENSORS {
            match map.next_entry()? {
                Some(member) => list.push(member),
                None => {
                    let too_many = false;
                    return Ok(Members { list, too_many });
                }
            }
        }
        let mut too_many = false;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            too_many = true;
        }
        Ok(Members { list, too_many })
    }
}

/// Text of a file for an error message: cut to a length that fits on a line.
pub(crate) fn excerpt(text: &str) -> String {
    const LIMIT: usize = 60;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
