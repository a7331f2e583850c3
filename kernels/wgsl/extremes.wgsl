// Extremes, sum and special numbers of each piece.

struct Record {
    // Of all but NaN, in the order of `order`; `largest < smallest` where there is none.
    largest: u32,
    smallest: u32,
    // Largest magnitude of the finite numbers.
    peak: u32,
    finite: u32,
    infinite: u32,
    nan: u32,
    // Of the finite numbers, in units of `scaled`.
    sum: vec2<u32>,
}

fn add_number(record: Record, bits: u32) -> Record {
    var next = record;
    if (is_nan(bits)) {
        next.nan += 1u;
        return next;
    }
    next.largest = max(next.largest, order(bits));
    next.smallest = min(next.smallest, order(bits));
    if (is_infinite(bits)) {
        next.infinite += 1u;
        return next;
    }
    next.finite += 1u;
    next.peak = max(next.peak, bits & MAGNITUDE);
    let before = shift_wide(record.sum, rise(record.peak, next.peak));
    next.sum = add_wide(before, with_sign(scaled(bits, next.peak), bits));
    return next;
}

fn merge(a: Record, b: Record) -> Record {
    let peak = max(a.peak, b.peak);
    return Record(
        max(a.largest, b.largest),
        min(a.smallest, b.smallest),
        peak,
        a.finite + b.finite,
        a.infinite + b.infinite,
        a.nan + b.nan,
        add_wide(shift_wide(a.sum, rise(a.peak, peak)), shift_wide(b.sum, rise(b.peak, peak))),
    );
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let piece = piece_of(group.y * groups.x + group.x, lane);
    var record = Record(0u, 0xffffffffu, 0u, 0u, 0u, 0u, vec2(0u, 0u));
    for (var row = piece.first_row; row < piece.end_row; row += 1u) {
        for (var col = piece.first_col + lane % pieces.lanes; col < piece.end_col; col += pieces.lanes) {
            record = add_number(record, source(row, col) & pieces.mask);
        }
    }
    write_merged(piece, record, lane);
}
