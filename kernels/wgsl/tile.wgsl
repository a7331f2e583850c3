// The numbers of a rectangle, row by row. Reads a code and a scale, writes four bytes a number.

struct Tile {
    first_row: u32,
    first_col: u32,
    cols: u32,
    count: u32,
}

@group(0) @binding(0) var<uniform> tile: Tile;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = (group.y * groups.x + group.x) * 64u + lane;
    if (index < tile.count) {
        let row = index / tile.cols;
        out[index] = source(tile.first_row + row, tile.first_col + (index - row * tile.cols));
    }
}
