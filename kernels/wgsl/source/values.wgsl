// Numbers of a weight.
fn source(row: u32, col: u32) -> u32 {
    return value_a(row, col);
}
