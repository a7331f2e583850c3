//! Metadata values.

use std::fmt;

use super::cursor::{Cursor, Stop};
use super::error::GgufError;
use crate::json::excerpt;

/// The longest array whose items are kept. A tokenizer's lists hold 100,000 and more.
pub const MAX_KEPT_ITEMS: u64 = 64;

/// How deep arrays may lie in arrays.
pub const MAX_ARRAY_DEPTH: usize = 4;

/// The type of a metadata value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// IEEE 754 binary32.
    F32,
    /// One byte, 0 or 1.
    Bool,
    /// UTF-8.
    String,
    /// Values of one type.
    Array,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// IEEE 754 binary64.
    F64,
}

impl ValueKind {
    /// Every kind, at the position of its id in the file.
    pub const ALL: [Self; 13] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::Bool,
        Self::String,
        Self::Array,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    /// The kind with that id in the file.
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(id).ok()?).copied()
    }

    /// Bytes of a value: all of them where the type fixes that, else those of an empty one.
    fn min_bytes(self) -> u64 {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::String => 8,
            Self::Array => 12,
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A metadata value.
///
/// `Display` shows it on one line: text in quotes and cut to a readable length, an array whose
/// items are not kept as their number and kind.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "a variant holds what its kind says")]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(String),
    /// Values of one type.
    Array {
        /// Type of the items.
        kind: ValueKind,
        /// How many there are.
        len: u64,
        /// The items; `None` if they are more than [`MAX_KEPT_ITEMS`] or arrays themselves. Such
        /// items are skipped, so neither UTF-8 nor the values of `Bool` are checked in them.
        items: Option<Vec<Value>>,
    },
    U64(u64),
    I64(i64),
    F64(f64),
}

impl Value {
    /// The type of the value.
    pub fn kind(&self) -> ValueKind {
        match self {
            Self::U8(_) => ValueKind::U8,
            Self::I8(_) => ValueKind::I8,
            Self::U16(_) => ValueKind::U16,
            Self::I16(_) => ValueKind::I16,
            Self::U32(_) => ValueKind::U32,
            Self::I32(_) => ValueKind::I32,
            Self::F32(_) => ValueKind::F32,
            Self::Bool(_) => ValueKind::Bool,
            Self::String(_) => ValueKind::String,
            Self::Array { .. } => ValueKind::Array,
            Self::U64(_) => ValueKind::U64,
            Self::I64(_) => ValueKind::I64,
            Self::F64(_) => ValueKind::F64,
        }
    }

    /// The text, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U8(value) => value.fmt(f),
            Self::I8(value) => value.fmt(f),
            Self::U16(value) => value.fmt(f),
            Self::I16(value) => value.fmt(f),
            Self::U32(value) => value.fmt(f),
            Self::I32(value) => value.fmt(f),
            Self::F32(value) => value.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::String(text) => write!(f, "{:?}", excerpt(text)),
            Self::Array {
                items: Some(items), ..
            } => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
            Self::Array {
                kind,
                len,
                items: None,
            } => write!(f, "[{len} x {kind}]"),
            Self::U64(value) => value.fmt(f),
            Self::I64(value) => value.fmt(f),
            Self::F64(value) => value.fmt(f),
        }
    }
}

/// The value under `key`: its kind, then its bytes.
pub(super) fn read_value(cursor: &mut Cursor<'_>, key: &str) -> Result<Value, Stop> {
    let kind = read_kind(cursor, key)?;
    read_as(cursor, key, kind)
}

fn read_kind(cursor: &mut Cursor<'_>, key: &str) -> Result<ValueKind, Stop> {
    let id = cursor.u32()?;
    let kind = ValueKind::from_id(id).ok_or_else(|| GgufError::UnknownValueKind {
        key: key.to_owned(),
        id,
    })?;
    Ok(kind)
}

fn read_as(cursor: &mut Cursor<'_>, key: &str, kind: ValueKind) -> Result<Value, Stop> {
    Ok(match kind {
        ValueKind::U8 => Value::U8(u8::from_le_bytes(cursor.array()?)),
        ValueKind::I8 => Value::I8(i8::from_le_bytes(cursor.array()?)),
        ValueKind::U16 => Value::U16(u16::from_le_bytes(cursor.array()?)),
        ValueKind::I16 => Value::I16(i16::from_le_bytes(cursor.array()?)),
        ValueKind::U32 => Value::U32(u32::from_le_bytes(cursor.array()?)),
        ValueKind::I32 => Value::I32(i32::from_le_bytes(cursor.array()?)),
        ValueKind::F32 => Value::F32(f32::from_le_bytes(cursor.array()?)),
        ValueKind::Bool => Value::Bool(read_bool(cursor, key)?),
        ValueKind::String => Value::String(cursor.text()?.to_owned()),
        ValueKind::Array => read_array(cursor, key)?,
        ValueKind::U64 => Value::U64(u64::from_le_bytes(cursor.array()?)),
        ValueKind::I64 => Value::I64(i64::from_le_bytes(cursor.array()?)),
        ValueKind::F64 => Value::F64(f64::from_le_bytes(cursor.array()?)),
    })
}

fn read_bool(cursor: &mut Cursor<'_>, key: &str) -> Result<bool, Stop> {
    match cursor.array()? {
        [0] => Ok(false),
        [1] => Ok(true),
        [found] => Err(Stop::Fault(GgufError::BadBool {
            key: key.to_owned(),
            found,
        })),
    }
}

fn read_array(cursor: &mut Cursor<'_>, key: &str) -> Result<Value, Stop> {
    let kind = read_kind(cursor, key)?;
    let len = cursor.u64()?;
    let items = if len > MAX_KEPT_ITEMS || kind == ValueKind::Array {
        skip_items(cursor, key, kind, len, 1)?;
        None
    } else {
        cursor.expect(len, kind.min_bytes())?;
        let items: Result<_, Stop> = (0..len).map(|_| read_as(cursor, key, kind)).collect();
        Some(items?)
    };
    Ok(Value::Array { kind, len, items })
}

/// Passes over the items of an array that lies in `depth - 1` others.
fn skip_items(
    cursor: &mut Cursor<'_>,
    key: &str,
    kind: ValueKind,
    len: u64,
    depth: usize,
) -> Result<(), Stop> {
    cursor.expect(len, kind.min_bytes())?;
    match kind {
        ValueKind::String => {
            for _ in 0..len {
                let bytes = cursor.u64()?;
                cursor.take(bytes)?;
            }
        }
        ValueKind::Array if depth == MAX_ARRAY_DEPTH => {
            return Err(Stop::Fault(GgufError::NestedTooDeep {
                key: key.to_owned(),
                limit: MAX_ARRAY_DEPTH,
            }));
        }
        ValueKind::Array => {
            for _ in 0..len {
                let kind = read_kind(cursor, key)?;
                let len = cursor.u64()?;
                skip_items(cursor, key, kind, len, depth + 1)?;
            }
        }
        _ => {
            cursor.take(len.saturating_mul(kind.min_bytes()))?;
        }
    }
    Ok(())
}
