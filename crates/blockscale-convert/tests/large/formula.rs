//! The large matrix, number by number, apart from the code that is tested.

use blockscale::bf16;

/// Rows and columns.
pub(crate) const SIDE: usize = 12_288;
const BLOCK: usize = 128;
/// Blocks along each side.
pub(crate) const BLOCKS: usize = SIDE / BLOCK;

/// The codes of a row; 127, which is NaN, is not among them.
pub(crate) fn codes(row: usize) -> impl Iterator<Item = u8> {
    (0..SIDE).map(move |col| ((31 * row + 7 * col) % 127) as u8)
}

/// Another scale for each block, none of them larger than 2.
pub(crate) fn scale(block_row: usize, block_col: usize) -> f32 {
    (BLOCKS * block_row + block_col + 1) as f32 / 16_384.0
}

/// E4M3 of a number that is neither negative nor NaN.
fn e4m3(code: u8) -> f32 {
    let (exponent, fraction) = (i32::from(code >> 3), f32::from(code & 7));
    match exponent {
        0 => fraction / 512.0,
        _ => (8.0 + fraction) * 2_f32.powi(exponent - 10),
    }
}

/// A row as little-endian BF16. Four bits of code times fourteen of scale are exact in F32, so that
/// rounding to BF16 is the only one.
pub(crate) fn bf16_row(row: usize) -> Vec<u8> {
    let values: [f32; 127] = std::array::from_fn(|code| e4m3(code as u8));
    let of = |(col, code): (usize, u8)| {
        let value = values[usize::from(code)] * scale(row / BLOCK, col / BLOCK);
        bf16::from_f32(value).to_le_bytes()
    };
    codes(row).enumerate().flat_map(of).collect()
}

#[test]
fn numbers_of_the_formula_are_those_of_the_type() {
    let spot_checks = [(0x00, 0.0), (0x01, 2_f32.powi(-9)), (0x08, 2_f32.powi(-6))];
    for (code, value) in spot_checks.into_iter().chain([(0x38, 1.0), (0x7e, 448.0)]) {
        assert_eq!(e4m3(code), value, "{code:#04x}");
    }
}
