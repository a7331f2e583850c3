// How far two weights, the reference and the output, are apart in each piece.

struct Record {
    finite: u32,
    differing: u32,
    reference_nan: u32,
    reference_infinite: u32,
    output_nan: u32,
    output_infinite: u32,
    mismatched: u32,
    // Largest magnitudes of finite pairs; the error's is one of `rounded_wide`.
    reference_peak: u32,
    output_peak: u32,
    error_peak: u32,
    // Of finite pairs, in units of `scaled_product`.
    reference_square: vec2<u32>,
    output_square: vec2<u32>,
    error_square: vec2<u32>,
    dot: vec2<u32>,
}

fn one_if(condition: bool) -> u32 {
    return select(0u, 1u, condition);
}

fn add_special(record: Record, reference: u32, output: u32) -> Record {
    var next = record;
    next.reference_nan += one_if(is_nan(reference));
    next.reference_infinite += one_if(is_infinite(reference));
    next.output_nan += one_if(is_nan(output));
    next.output_infinite += one_if(is_infinite(output));
    let both_nan = is_nan(reference) && is_nan(output);
    let same = is_infinite(reference) && reference == output;
    next.mismatched += one_if(!both_nan && !same);
    return next;
}

// The sums in units of peaks that are not smaller.
fn raised(record: Record, reference: u32, output: u32, error: u32) -> Record {
    var next = record;
    next.reference_peak = max(record.reference_peak, reference);
    next.output_peak = max(record.output_peak, output);
    next.error_peak = max(record.error_peak, error);
    let of_reference = rise(record.reference_peak, next.reference_peak);
    let of_output = rise(record.output_peak, next.output_peak);
    let of_error = rise(record.error_peak, next.error_peak);
    next.reference_square = shift_wide(record.reference_square, 2u * of_reference);
    next.output_square = shift_wide(record.output_square, 2u * of_output);
    next.error_square = shift_wide(record.error_square, 2u * of_error);
    next.dot = shift_wide(record.dot, of_reference + of_output);
    return next;
}

fn add_pair(record: Record, x: u32, y: u32) -> Record {
    if (!is_finite(x) || !is_finite(y)) {
        return add_special(record, x, y);
    }
    let exact = difference(y, x).magnitude;
    let e = rounded_wide(exact.significand, exact.exponent);
    var next = raised(record, x & MAGNITUDE, y & MAGNITUDE, e);
    next.finite += 1u;
    next.differing += one_if(e != 0u);
    let x_peak = next.reference_peak;
    let y_peak = next.output_peak;
    let e_peak = next.error_peak;
    next.reference_square = add_wide(next.reference_square, scaled_product(x, x_peak, x, x_peak));
    next.output_square = add_wide(next.output_square, scaled_product(y, y_peak, y, y_peak));
    next.error_square = add_wide(next.error_square, scaled_product(e, e_peak, e, e_peak));
    next.dot = add_wide(next.dot, with_sign(scaled_product(x, x_peak, y, y_peak), x ^ y));
    return next;
}

fn merge(first: Record, second: Record) -> Record {
    let a = raised(first, second.reference_peak, second.output_peak, second.error_peak);
    let b = raised(second, first.reference_peak, first.output_peak, first.error_peak);
    return Record(
        a.finite + b.finite,
        a.differing + b.differing,
        a.reference_nan + b.reference_nan,
        a.reference_infinite + b.reference_infinite,
        a.output_nan + b.output_nan,
        a.output_infinite + b.output_infinite,
        a.mismatched + b.mismatched,
        a.reference_peak,
        a.output_peak,
        a.error_peak,
        add_wide(a.reference_square, b.reference_square),
        add_wide(a.output_square, b.output_square),
        add_wide(a.error_square, b.error_square),
        add_wide(a.dot, b.dot),
    );
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let piece = piece_of(group.y * groups.x + group.x, lane);
    var record: Record;
    for (var row = piece.first_row; row < piece.end_row; row += 1u) {
        for (var col = piece.first_col + lane % pieces.lanes; col < piece.end_col; col += pieces.lanes) {
            record = add_pair(record, value_a(row, col), value_b(row, col));
        }
    }
    write_merged(piece, record, lane);
}
