// How many of a rectangle's numbers fall between which edges, or how often each code occurs.
//
// A workgroup counts its share in its own memory and adds what it found to the whole.

struct Histogram {
    first_row: u32,
    first_col: u32,
    cols: u32,
    count: u32,
    // Numbers that one workgroup looks at.
    share: u32,
    // All bits, or all but the sign.
    mask: u32,
    // Number of edges; 0 where the numbers are codes and each has a bin of its own.
    edges: u32,
    bins: u32,
}

const MOST_BINS: u32 = 2048u;

@group(0) @binding(0) var<uniform> histogram: Histogram;
// Edges in the order of `order`.
@group(0) @binding(1) var<storage, read> edges: array<u32>;
@group(0) @binding(2) var<storage, read_write> bins: array<atomic<u32>>;

var<workgroup> share: array<atomic<u32>, MOST_BINS>;

// Bin i lies between edges i - 1 and i, the lower one included; NaN comes last.
fn bin_between_edges(bits: u32) -> u32 {
    if (is_nan(bits)) {
        return histogram.edges + 1u;
    }
    let number = order(bits & histogram.mask);
    var low = 0u;
    var high = histogram.edges;
    while (low < high) {
        let middle = (low + high) / 2u;
        if (edges[middle] <= number) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let start = (group.y * groups.x + group.x) * histogram.share;
    let end = min(start + histogram.share, histogram.count);
    for (var index = start + lane; index < end; index += 64u) {
        let row = index / histogram.cols;
        let col = index - row * histogram.cols;
        let number = source(histogram.first_row + row, histogram.first_col + col);
        var bin = number;
        if (histogram.edges != 0u) {
            bin = bin_between_edges(number);
        }
        atomicAdd(&share[min(bin, histogram.bins - 1u)], 1u);
    }
    workgroupBarrier();
    for (var bin = lane; bin < histogram.bins; bin += 64u) {
        let found = atomicLoad(&share[bin]);
        if (found != 0u) {
            atomicAdd(&bins[bin], found);
        }
    }
}
