// Bytes of the scales of a weight; row and column count scales.
fn source(row: u32, col: u32) -> u32 {
    return scale_code_a(row, col);
}
