// Element and scale types: widening and rounding, as crates/blockscale/src/element defines them.
#pragma once
#include "base.cuh"

enum ElementKind : u32 { E2M1, E2M3, E3M2, E4M3FN, E4M3FNUZ, E5M2 };
enum PackingKind : u32 { DENSE, BYTES };
enum ScaleKind : u32 { SCALE_E4M3, SCALE_E8M0, SCALE_F32, SCALE_BF16, SCALE_F16 };
enum GlobalKind : u32 { GLOBAL_NONE, GLOBAL_MULTIPLIER, GLOBAL_DIVISOR };
enum Ties : u32 { TIES_EVEN, TIES_TOWARD_ZERO, TIES_AWAY };
enum Overflow : u32 { OVERFLOW_SATURATE, OVERFLOW_SPECIAL };
enum ZeroSign : u32 { ZERO_KEEP, ZERO_DROP, ZERO_DROP_ROUNDED, ZERO_NEGATIVE };
enum NanCode : u32 { NAN_OF_TYPE, NAN_FIXED, NAN_SIGNED, NAN_OPPOSITE, NAN_PAYLOAD };

// A sign bit above a magnitude of exponent and fraction.
struct Minifloat {
  u32 mantissa_bits, bias, max_code, sign;
  u32 special;  // magnitude code of infinity, or of NaN where there is none; 0 where there is neither
};

BLOCKSCALE_FN Minifloat minifloat(u32 element) {
  switch (element) {
    case E2M1: return {1, 1, 0x7, 0x8, 0};
    case E2M3: return {3, 1, 0x1f, 0x20, 0};
    case E3M2: return {2, 3, 0x1f, 0x20, 0};
    case E4M3FN: return {3, 7, 0x7e, 0x80, 0x7f};
    case E4M3FNUZ: return {3, 8, 0x7f, 0x80, 0};
    default: return {2, 15, 0x7b, 0x80, 0x7c};
  }
}

BLOCKSCALE_FN u32 element_bits(u32 element) { return element == E2M1 ? 4 : element <= E3M2 ? 6 : 8; }

BLOCKSCALE_FN f32 widen_magnitude(const Minifloat &type, u32 magnitude) {
  if (magnitude >> type.mantissa_bits == 0) {
    return (f32)magnitude * from_bits((128 - type.bias - type.mantissa_bits) << 23);
  }
  return from_bits((magnitude << (23 - type.mantissa_bits)) + ((127 - type.bias) << 23));
}

BLOCKSCALE_FN f32 max_finite(u32 element) {
  Minifloat type = minifloat(element);
  return widen_magnitude(type, type.max_code);
}

// The exact value of a code, of which the low bits count.
BLOCKSCALE_FN f32 widen(u32 element, u32 code) {
  Minifloat type = minifloat(element);
  u32 magnitude = code & (type.sign - 1);
  u32 sign = code & type.sign ? 0x80000000 : 0;
  if (element == E4M3FN && magnitude == 0x7f) return from_bits(sign | NAN_BITS);
  if (element == E4M3FNUZ && (code & 0xff) == 0x80) return from_bits(NAN_BITS);
  if (element == E5M2 && magnitude == 0x7c) return from_bits(sign | INFINITY_BITS);
  if (element == E5M2 && magnitude > 0x7c) return from_bits(sign | NAN_BITS);
  return from_bits(sign | bits_of(widen_magnitude(type, magnitude)));
}

// The magnitude code nearest to |x|, ties to the even code, saturating. Adding a number whose last bit weighs a quantum rounds;
// the bits of the sum count quanta on top of the codes of lower binades.
BLOCKSCALE_FN u32 round_magnitude(const Minifloat &type, f32 x) {
  u32 dropped = 23 - type.mantissa_bits;
  u32 largest = bits_of(widen_magnitude(type, type.max_code));
  u32 min_normal = (128 - type.bias) << 23;
  u32 bits = min_u32(bits_of(x) & MAGNITUDE, largest);
  u32 binade = max_u32(bits & ~FRACTION, min_normal);
  u32 shifter = binade + (dropped << 23);
  u32 quanta = bits_of(from_bits(bits) + from_bits(shifter)) - shifter;
  return quanta + ((binade - min_normal) >> dropped);
}

// The code nearest to `x` by the definition of the type.
BLOCKSCALE_FN u32 round_to(u32 element, f32 x) {
  Minifloat type = minifloat(element);
  u32 sign = bits_of(x) >> 31 ? type.sign : 0;
  if (is_nan(x)) {
    switch (element) {
      case E4M3FN: return 0x7f;
      case E4M3FNUZ: return 0x80;
      case E5M2: return 0x7f | sign;
      default: return type.max_code;
    }
  }
  u32 magnitude = round_magnitude(type, x);
  if (element == E4M3FNUZ && magnitude == 0) return 0;
  return magnitude | sign;
}

// Where a library differs from the definition.
struct Policy {
  u32 ties, overflow, zero_sign, nan, nan_code;
};

BLOCKSCALE_FN u32 round_magnitude_with(const Minifloat &type, f32 x, u32 ties) {
  u32 nearest = round_magnitude(type, x);
  f32 magnitude = magnitude_of(x);
  u32 below = widen_magnitude(type, nearest) > magnitude ? nearest - 1 : nearest;
  if (below == type.max_code) return nearest;
  f32 middle = (widen_magnitude(type, below) + widen_magnitude(type, below + 1)) / 2.0f;
  if (middle != magnitude) return nearest;
  return ties == TIES_EVEN ? nearest : ties == TIES_TOWARD_ZERO ? below : below + 1;
}

// The low bits of the code of |x|, rounded as if codes never ended and every exponent were that of a normal number.
BLOCKSCALE_FN u32 rounded_bits(const Minifloat &type, f32 x) {
  u32 dropped = 23 - type.mantissa_bits, bits = bits_of(x) & MAGNITUDE;
  u32 rebiased = bits - ((127 - type.bias) << 23);
  return ((rebiased + (1u << (dropped - 1)) - 1 + (bits >> dropped & 1)) >> dropped) & 0xff;
}

BLOCKSCALE_FN bool overflows(const Minifloat &type, f32 x, u32 ties) {
  f32 bound = (widen_magnitude(type, type.max_code) + widen_magnitude(type, type.max_code + 1)) / 2.0f;
  f32 magnitude = magnitude_of(x);
  if (magnitude != bound) return magnitude > bound;
  return ties == TIES_EVEN ? type.max_code % 2 == 1 : ties == TIES_AWAY;
}

BLOCKSCALE_FN u32 round_to_with(u32 element, f32 x, const Policy &policy) {
  Minifloat type = minifloat(element);
  u32 sign = bits_of(x) >> 31 ? type.sign : 0;
  if (element == E4M3FNUZ) {
    if (is_nan(x) || (policy.overflow == OVERFLOW_SPECIAL && overflows(type, x, policy.ties))) return 0x80;
    u32 magnitude = round_magnitude_with(type, x, policy.ties);
    return magnitude == 0 ? 0 : magnitude | sign;
  }
  if (is_nan(x)) {
    u32 below_sign = policy.nan_code & (type.sign - 1);
    switch (policy.nan) {
      case NAN_FIXED: return policy.nan_code & (type.sign | (type.sign - 1));
      case NAN_SIGNED: return below_sign | sign;
      case NAN_OPPOSITE: return below_sign | (sign ^ type.sign);
      case NAN_PAYLOAD: return (rounded_bits(type, x) & (type.sign - 1)) | sign;
      default: return round_to(element, x);
    }
  }
  bool special = policy.overflow == OVERFLOW_SPECIAL && type.special != 0 && overflows(type, x, policy.ties);
  u32 magnitude = special ? type.special : round_magnitude_with(type, x, policy.ties);
  if (policy.zero_sign == ZERO_DROP && x == 0.0f) return 0;
  if (policy.zero_sign == ZERO_DROP_ROUNDED && magnitude == 0) return 0;
  if (policy.zero_sign == ZERO_NEGATIVE && x == 0.0f) return type.sign;
  return magnitude | sign;
}

BLOCKSCALE_FN f32 e8m0_value(u32 code) {
  return from_bits(code == 0 ? 0x00400000 : code == 255 ? NAN_BITS : code << 23);
}

// The smallest power of two that is not below `x`.
BLOCKSCALE_FN u32 e8m0_ceil(f32 x) {
  if (!is_finite(x)) return 255;
  if (x <= 0.0f) return 0;
  u32 exponent = bits_of(x) >> 23, fraction = bits_of(x) & FRACTION;
  bool above = exponent == 0 ? fraction > 0x00400000 : fraction != 0;
  return exponent + (above && exponent < 254);
}
