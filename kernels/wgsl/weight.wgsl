// One part of a weight: rows and columns that lie in one buffer. All coordinates are those of the
// whole weight. The same text with `_b` and group 2 is a second weight.

struct Part {
    first_row: u32,
    first_col: u32,
    // Bytes from one row to the next.
    row_bytes: u32,
    // Bits from one code to the next, and those that count.
    stride: u32,
    code_mask: u32,
    // What the codes are: see below.
    kind: u32,
    // What one scale covers, and its logarithm where that is a power of two, else 32.
    block_rows: u32,
    block_cols: u32,
    block_rows_log2: u32,
    block_cols_log2: u32,
    first_scale_row: u32,
    first_scale_col: u32,
    // Scales in a row of the part.
    scale_cols: u32,
    // 0: scales are f32. 1: they are bytes, to be looked up.
    scale_codes: u32,
}

const BLOCKS: u32 = 0u;
const F32: u32 = 1u;
const BF16: u32 = 2u;

// The block of a row or column. A shift costs far less than a division.
fn block_of(index: u32, length: u32, log2: u32) -> u32 {
    if (log2 < 32u) {
        return index >> log2;
    }
    return index / length;
}

@group(1) @binding(0) var<uniform> part_a: Part;
@group(1) @binding(1) var<storage, read> codes_a: array<u32>;
@group(1) @binding(2) var<storage, read> scales_a: array<u32>;
// 256 elements by code, then 256 scales of both levels by code.
@group(1) @binding(3) var<storage, read> tables_a: array<u32>;

fn code_a(row: u32, col: u32) -> u32 {
    let bit = (col - part_a.first_col) * part_a.stride;
    let byte = (row - part_a.first_row) * part_a.row_bytes + (bit >> 3u);
    let word = byte >> 2u;
    let shift = ((byte & 3u) << 3u) + (bit & 7u);
    var code = codes_a[word] >> shift;
    if (shift + part_a.stride > 32u) {
        code |= codes_a[word + 1u] << (32u - shift);
    }
    return code & part_a.code_mask;
}

// Index of a scale in the part, by row and column of scales.
fn scale_index_a(row: u32, col: u32) -> u32 {
    return (row - part_a.first_scale_row) * part_a.scale_cols + (col - part_a.first_scale_col);
}

fn scale_code_a(row: u32, col: u32) -> u32 {
    let index = scale_index_a(row, col);
    return (scales_a[index >> 2u] >> ((index & 3u) << 3u)) & 0xffu;
}

fn scale_a(row: u32, col: u32) -> u32 {
    if (part_a.scale_codes == 0u) {
        return scales_a[scale_index_a(row, col)];
    }
    return tables_a[256u + scale_code_a(row, col)];
}

fn value_a(row: u32, col: u32) -> u32 {
    let code = code_a(row, col);
    switch (part_a.kind) {
        case BLOCKS: {
            let scale_row = block_of(row, part_a.block_rows, part_a.block_rows_log2);
            let scale_col = block_of(col, part_a.block_cols, part_a.block_cols_log2);
            return multiply(tables_a[code], scale_a(scale_row, scale_col));
        }
        case F32: {
            return code;
        }
        case BF16: {
            return code << 16u;
        }
        default: {
            return widen_half(code);
        }
    }
}
