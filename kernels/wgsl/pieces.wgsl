// A rectangle cut into pieces, for kernels that write one record a piece.
//
// 1, 2, 4 ... or 64 lanes of a workgroup share a piece: each takes every 2nd, 4th ... column, and at
// most 256 numbers in all. The host chooses how many by the width of the pieces.

struct Pieces {
    // Numbers of pieces below and beside each other.
    rows: u32,
    cols: u32,
    // Lanes that share a piece.
    lanes: u32,
    // All bits, or all but the sign.
    mask: u32,
}

@group(0) @binding(0) var<uniform> pieces: Pieces;
// Where the pieces start and end: `rows + 1` rows, then `cols + 1` columns.
@group(0) @binding(1) var<storage, read> edges: array<u32>;
@group(0) @binding(2) var<storage, read_write> records: array<Record>;

struct Piece {
    index: u32,
    first_row: u32,
    end_row: u32,
    first_col: u32,
    end_col: u32,
}

// A piece that there is not is empty.
fn piece_of(group: u32, lane: u32) -> Piece {
    let index = group * (64u / pieces.lanes) + lane / pieces.lanes;
    if (index >= pieces.rows * pieces.cols) {
        return Piece(index, 0u, 0u, 0u, 0u);
    }
    let row = index / pieces.cols;
    let col = pieces.rows + 1u + index % pieces.cols;
    return Piece(index, edges[row], edges[row + 1u], edges[col], edges[col + 1u]);
}

var<workgroup> shared_records: array<Record, 64>;

// Brings the records of a piece's lanes together by `merge`, and writes the result.
fn write_merged(piece: Piece, record: Record, lane: u32) {
    let rank = lane % pieces.lanes;
    shared_records[lane] = record;
    workgroupBarrier();
    for (var step = pieces.lanes / 2u; step > 0u; step /= 2u) {
        if (rank < step) {
            shared_records[lane] = merge(shared_records[lane], shared_records[lane + step]);
        }
        workgroupBarrier();
    }
    if (rank == 0u && piece.first_row < piece.end_row) {
        records[piece.index] = shared_records[lane];
    }
}
