// Sums of many numbers in 64 bits, as (low, high), in two's complement: integers in units that
// follow from the largest number so far. When a larger one comes, the sum is brought to its units;
// what is cut off is far below what matters.

fn add_wide(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn with_sign(a: vec2<u32>, sign: u32) -> vec2<u32> {
    if ((sign & SIGN) != 0u) {
        return add_wide(~a, vec2(1u, 0u));
    }
    return a;
}

// a / 2^places, rounded down.
fn shift_wide(a: vec2<u32>, places: u32) -> vec2<u32> {
    if (places == 0u) {
        return a;
    }
    if (places < 32u) {
        return vec2((a.x >> places) | (a.y << (32u - places)), u32(i32(a.y) >> places));
    }
    return vec2(u32(i32(a.y) >> min(places - 32u, 31u)), u32(i32(a.y) >> 31u));
}

// a x b, of 24 bits each.
fn multiply_wide(a: u32, b: u32) -> vec2<u32> {
    let a_low = a & 0xfffu;
    let b_low = b & 0xfffu;
    let a_high = a >> 12u;
    let b_high = b >> 12u;
    let middle = a_low * b_high + a_high * b_low;
    let high = a_high * b_high;
    let sum = add_wide(vec2(a_low * b_low, 0u), vec2(middle << 12u, middle >> 20u));
    return add_wide(sum, vec2(high << 24u, high >> 8u));
}

// By how much the exponent rises from one magnitude to another that is not smaller.
fn rise(low: u32, high: u32) -> u32 {
    return u32(unpack(high).exponent - unpack(low).exponent);
}

// |number| in units of 2^(exponent of the peak - 24). The peak has 48 bits then, and 2^14 numbers
// that are not larger add up to less than 2^62.
fn scaled(number: u32, peak: u32) -> vec2<u32> {
    let significand = unpack(number).significand;
    return shift_wide(vec2(significand << 24u, significand >> 8u), rise(number, peak));
}

// |a x b| in units of 2^(sum of the exponents of their peaks), of 48 bits at most.
fn scaled_product(a: u32, a_peak: u32, b: u32, b_peak: u32) -> vec2<u32> {
    let product = multiply_wide(unpack(a).significand, unpack(b).significand);
    return shift_wide(product, rise(a, a_peak) + rise(b, b_peak));
}
