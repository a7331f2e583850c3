//! Codes moved within a row: nibbles and signs.

use blockscale::format::{Block, Format, Packing};

use super::{Interpretation, NibbleOrder, SignForm};

/// Which way a change of codes goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From what the interpretation says to what every reader expects.
    Restore,
    /// Back: a damage.
    Damage,
}

/// Bytes that one scale covers in a row, where nibble orders mean something: four bits a code, two
/// in a byte, whole bytes in a block.
pub(super) fn nibble_block(format: &Format) -> Option<usize> {
    let cols = match format.block {
        Block::Grid { cols, .. } => cols,
        _ => return None,
    };
    let four_bits = format.element.bits() == 4 && format.packing == Packing::Dense;
    (four_bits && cols > 2 && cols.is_multiple_of(2)).then_some(cols / 2)
}

/// Code of a column of a row, in the low bits.
pub(super) fn code_at(format: &Format, row: &[u8], col: usize) -> u8 {
    let width = match format.packing {
        Packing::Dense => format.element.bits(),
        Packing::Bytes => 8,
    };
    let bit = col * width;
    let byte = |at: usize| row.get(at).copied().unwrap_or(0);
    let window = u16::from_le_bytes([byte(bit / 8), byte(bit / 8 + 1)]);
    (window >> (bit % 8)) as u8 & (u8::MAX >> (8 - format.element.bits()))
}

impl Interpretation {
    /// Codes of whole rows that are meant as `self`, as every reader expects them, in place: nibbles
    /// and signs, which stay within a row. `row_bytes` is the length of one.
    pub fn restore_in_rows(&self, format: &Format, row_bytes: usize, codes: &mut [u8]) {
        change(self, format, row_bytes, codes, Way::Restore);
    }

    /// The inverse of [`restore_in_rows`](Self::restore_in_rows): right codes as a writer of this
    /// interpretation would have left them.
    pub fn damage_in_rows(&self, format: &Format, row_bytes: usize, codes: &mut [u8]) {
        change(self, format, row_bytes, codes, Way::Damage);
    }
}

/// Changes the codes of whole rows in place. `row_bytes` is the length of one.
pub(super) fn change(
    interpretation: &Interpretation,
    format: &Format,
    row_bytes: usize,
    codes: &mut [u8],
    way: Way,
) {
    if row_bytes == 0 {
        return;
    }
    let sign = || interpretation.sign == SignForm::TwosComplement;
    // Each is its own inverse but for halves; together they go in opposite orders.
    if way == Way::Damage && sign() {
        turn_signs(format, codes);
    }
    match (interpretation.nibbles, nibble_block(format)) {
        (NibbleOrder::Swapped, Some(_)) => {
            for byte in codes.iter_mut() {
                *byte = byte.rotate_left(4);
            }
        }
        (NibbleOrder::Halves, Some(block)) => {
            for row in codes.chunks_mut(row_bytes) {
                for block in row.chunks_mut(block) {
                    match way {
                        Way::Restore => join_halves(block),
                        Way::Damage => split_halves(block),
                    }
                }
            }
        }
        _ => {}
    }
    if way == Way::Restore && sign() {
        turn_signs(format, codes);
    }
}

/// Two's complement to sign and magnitude, or back: with `h` the code of the sign bit alone, a code
/// `n` above it changes places with `3 h - n`.
fn turn_signs(format: &Format, codes: &mut [u8]) {
    let turn = |n: u8, half: u16| match u16::from(n) {
        n if n > half => (3 * half - n) as u8,
        n => n as u8,
    };
    match format.element.bits() {
        4 if format.packing == Packing::Dense => {
            for byte in codes {
                *byte = turn(*byte & 0xf, 8) | turn(*byte >> 4, 8) << 4;
            }
        }
        8 => {
            for byte in codes {
                *byte = turn(*byte, 128);
            }
        }
        _ => {}
    }
}

/// First half of the codes in low nibbles, to even columns in low nibbles.
fn join_halves(block: &mut [u8]) {
    let stored = block.to_vec();
    let count = stored.len();
    let code = |index: usize| match index < count {
        true => stored[index] & 0xf,
        false => stored[index - count] >> 4,
    };
    for (j, byte) in block.iter_mut().enumerate() {
        *byte = code(2 * j) | code(2 * j + 1) << 4;
    }
}

/// The inverse of [`join_halves`].
fn split_halves(block: &mut [u8]) {
    let stored = block.to_vec();
    let code = |index: usize| stored[index / 2] >> (index % 2 * 4) & 0xf;
    let count = stored.len();
    for (j, byte) in block.iter_mut().enumerate() {
        *byte = code(j) | code(j + count) << 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(interpretation: Interpretation, format: &Format, codes: &[u8], way: Way) -> Vec<u8> {
        let mut codes = codes.to_vec();
        let row = codes.len();
        change(&interpretation, format, row, &mut codes, way);
        codes
    }

    #[test]
    fn halves_put_the_first_column_beside_the_middle_one() {
        let halves = Interpretation {
            nibbles: NibbleOrder::Halves,
            ..Interpretation::AS_STORED
        };
        let codes = [0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe];
        let split = changed(halves, &Format::NVFP4, &codes, Way::Damage);
        assert_eq!(split, [0x80, 0x91, 0xa2, 0xb3, 0xc4, 0xd5, 0xe6, 0xf7]);
        assert_eq!(changed(halves, &Format::NVFP4, &split, Way::Restore), codes);
    }

    #[test]
    fn minus_three_codes_below_zero_is_thirteen_in_twos_complement() {
        let twos = Interpretation {
            sign: SignForm::TwosComplement,
            ..Interpretation::AS_STORED
        };
        // -1.5 is code 11 = 8 | 3, and 16 - 3 in two's complement.
        assert_eq!(changed(twos, &Format::NVFP4, &[0x3b], Way::Damage), [0x3d]);
        assert_eq!(
            changed(twos, &Format::FP8_BLOCK, &[0x81], Way::Damage),
            [0xff]
        );
    }

    #[test]
    fn every_byte_comes_back_from_every_order_and_sign() {
        let all: Vec<u8> = (0..=255).collect();
        for format in [Format::NVFP4, Format::MXFP4, Format::MXFP8_E4M3] {
            for nibbles in [
                NibbleOrder::Pairs,
                NibbleOrder::Swapped,
                NibbleOrder::Halves,
            ] {
                for sign in [SignForm::Magnitude, SignForm::TwosComplement] {
                    let reading = Interpretation {
                        nibbles,
                        sign,
                        ..Interpretation::AS_STORED
                    };
                    let damaged = changed(reading, &format, &all, Way::Damage);
                    let back = changed(reading, &format, &damaged, Way::Restore);
                    assert_eq!(back, all, "{format} {reading}");
                }
            }
        }
    }
}
