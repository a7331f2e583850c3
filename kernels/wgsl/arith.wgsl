// Arithmetic on f32 numbers as their bits.
//
// WGSL says neither which way an f32 result is rounded, nor that subnormals, NaN and the order of
// operations survive. So no kernel has a float in it: all of them work on integers, and their
// results are the same bits on every adapter, those of the scalar functions of crate `blockscale`.

const SIGN: u32 = 0x80000000u;
const MAGNITUDE: u32 = 0x7fffffffu;
const INFINITY: u32 = 0x7f800000u;
const NAN: u32 = 0x7fc00000u;

// significand x 2^exponent.
struct Number {
    significand: u32,
    exponent: i32,
}

fn is_nan(bits: u32) -> bool {
    return (bits & MAGNITUDE) > INFINITY;
}

fn is_infinite(bits: u32) -> bool {
    return (bits & MAGNITUDE) == INFINITY;
}

fn is_finite(bits: u32) -> bool {
    return (bits & MAGNITUDE) < INFINITY;
}

// The magnitude of a finite number; its significand has 24 bits at most. Takes magnitudes of
// `rounded_wide` as well.
fn unpack(bits: u32) -> Number {
    let field = (bits & MAGNITUDE) >> 23u;
    let fraction = bits & 0x7fffffu;
    if (field == 0u) {
        return Number(fraction, -149);
    }
    return Number(fraction | 0x800000u, i32(field) - 150);
}

// The bits of significand x 2^exponent, rounded to nearest, ties to even. The significand is below
// 2^28, the value below 2^129: exponent field 255 holds 2^128 here, not infinity.
fn rounded_wide(significand: u32, exponent: i32) -> u32 {
    if (significand == 0u) {
        return 0u;
    }
    // Exponents of the highest bit, and of the last place of the result.
    let top = exponent + 31 - i32(countLeadingZeros(significand));
    let place = max(top - 23, -149);
    // The implicit bit of `kept` is what the exponent field lacks; a carry goes there too.
    let base = u32(place + 149) << 23u;
    let dropped = place - exponent;
    if (dropped <= 0) {
        return base + (significand << u32(-dropped));
    }
    if (dropped > 30) {
        return base;
    }
    let kept = significand >> u32(dropped);
    let rest = significand & ((1u << u32(dropped)) - 1u);
    let half = 1u << u32(dropped - 1);
    if (rest > half || (rest == half && (kept & 1u) == 1u)) {
        return base + kept + 1u;
    }
    return base + kept;
}

// As above, with infinity for what f32 does not hold.
fn rounded(sign: u32, significand: u32, exponent: i32) -> u32 {
    if (significand == 0u) {
        return sign;
    }
    let top = exponent + 31 - i32(countLeadingZeros(significand));
    if (top > 127) {
        return sign | INFINITY;
    }
    return sign | rounded_wide(significand, exponent);
}

// element x scale, rounded once. The element has at most four significant bits and is no subnormal.
fn multiply(element: u32, scale: u32) -> u32 {
    let sign = (element ^ scale) & SIGN;
    if (is_nan(element) || is_nan(scale)) {
        return sign | NAN;
    }
    let has_zero = (element & MAGNITUDE) == 0u || (scale & MAGNITUDE) == 0u;
    if (is_infinite(element) || is_infinite(scale)) {
        return select(sign | INFINITY, NAN, has_zero);
    }
    if (has_zero) {
        return sign;
    }
    let a = unpack(element);
    let b = unpack(scale);
    return rounded(sign, (a.significand >> 20u) * b.significand, a.exponent + 20 + b.exponent);
}

struct Difference {
    sign: u32,
    magnitude: Number,
}

// x - y of finite numbers, before it is rounded: the significand has three more bits, the last of
// which stands for all that is below.
fn difference(x: u32, y: u32) -> Difference {
    let negated = y ^ SIGN;
    // The larger magnitude first.
    let swap = (x & MAGNITUDE) < (negated & MAGNITUDE);
    let large = select(x, negated, swap);
    let small = select(negated, x, swap);
    let a = unpack(large);
    let b = unpack(small);
    let gap = u32(a.exponent - b.exponent);
    let wide = b.significand << 3u;
    var shifted = select(0u, 1u, wide != 0u);
    if (gap < 27u) {
        let lost = wide & ((1u << gap) - 1u);
        shifted = (wide >> gap) | select(0u, 1u, lost != 0u);
    }
    var significand = a.significand << 3u;
    if (((large ^ small) & SIGN) == 0u) {
        significand += shifted;
    } else {
        significand -= shifted;
    }
    // A zero is negative only as -0 minus +0.
    let sign = select(large & SIGN, large & small & SIGN, significand == 0u);
    return Difference(sign, Number(significand, a.exponent - 3));
}

// x - y, rounded once.
fn subtract(x: u32, y: u32) -> u32 {
    if (is_nan(x) || is_nan(y)) {
        return NAN;
    }
    if (is_infinite(x)) {
        return select(x, NAN, x == y);
    }
    if (is_infinite(y)) {
        return y ^ SIGN;
    }
    let exact = difference(x, y);
    return rounded(exact.sign, exact.magnitude.significand, exact.magnitude.exponent);
}

// Numbers as integers in the same order, the two zeros equal. NaN has no place in it.
fn order(bits: u32) -> u32 {
    if ((bits & MAGNITUDE) == 0u) {
        return SIGN;
    }
    return select(bits | SIGN, ~bits, (bits & SIGN) != 0u);
}

// An IEEE half as f32.
fn widen_half(half: u32) -> u32 {
    let sign = (half & 0x8000u) << 16u;
    let field = (half >> 10u) & 0x1fu;
    let fraction = half & 0x3ffu;
    if (field == 0u) {
        return rounded(sign, fraction, -24);
    }
    if (field == 31u) {
        return sign | INFINITY | (fraction << 13u);
    }
    return sign | ((field + 112u) << 23u) | (fraction << 13u);
}
