// Whether the adapter's own floats keep subnormals. Not used for any result.

@group(0) @binding(1) var<storage, read> factors: array<f32>;
@group(0) @binding(2) var<storage, read_write> products: array<u32>;

@compute @workgroup_size(1)
fn main() {
    // A product that is subnormal, and a subnormal that is a factor.
    products[0] = bitcast<u32>(factors[0] * factors[1]);
    products[1] = bitcast<u32>(factors[2] * factors[3]);
}
