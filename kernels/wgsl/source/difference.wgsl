// Numbers of the first weight less those of the second.
fn source(row: u32, col: u32) -> u32 {
    return subtract(value_a(row, col), value_b(row, col));
}
