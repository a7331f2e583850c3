// Codes of a weight.
fn source(row: u32, col: u32) -> u32 {
    return code_a(row, col);
}
