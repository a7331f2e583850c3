// The number types that weights are decoded to and encoded from, and arithmetic on F32 that treats NaN as a CPU does.
#pragma once
#include "base.cuh"

struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};

// What a CPU makes of an operation that gives NaN: the first operand that is one, quiet and with its sign; else its own NaN, which
// is negative. A device knows one NaN only.
BLOCKSCALE_FN f32 nan_of(f32 a, f32 b) {
  if (is_nan(a)) return from_bits(bits_of(a) | 0x00400000);
  if (is_nan(b)) return from_bits(bits_of(b) | 0x00400000);
  return from_bits(0xffc00000);
}

BLOCKSCALE_FN f32 product(f32 a, f32 b) {
  f32 result = a * b;
  return is_nan(result) ? nan_of(a, b) : result;
}

BLOCKSCALE_FN f32 quotient(f32 a, f32 b) {
  f32 result = a / b;
  return is_nan(result) ? nan_of(a, b) : result;
}

BLOCKSCALE_FN u16 bf16_bits(f32 x) {
  u32 bits = bits_of(x);
  if (is_nan(x)) return (u16)(bits >> 16 | 0x40);
  return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// NaN becomes quiet, as conversions do it.
BLOCKSCALE_FN f32 bf16_value(u16 bits) {
  f32 x = from_bits((u32)bits << 16);
  return is_nan(x) ? from_bits(bits_of(x) | 0x00400000) : x;
}

BLOCKSCALE_FN u16 f16_bits(f32 x) {
  u32 bits = bits_of(x), sign = bits >> 16 & 0x8000, rest = bits & MAGNITUDE;
  if (rest > INFINITY_BITS) return (u16)(sign | 0x7e00 | (rest >> 13 & 0x3ff));
  if (rest >= 0x477ff000) return (u16)(sign | 0x7c00);  // from 65520 up
  // Adding a number whose last bit weighs the last bit of the result rounds to nearest even.
  u32 binade = max_u32(rest & ~FRACTION, 113u << 23);
  u32 shifter = binade + (13u << 23);
  u32 quanta = bits_of(from_bits(rest) + from_bits(shifter)) - shifter;
  return (u16)(sign | (quanta + ((binade - (113u << 23)) >> 13)));
}

BLOCKSCALE_FN f32 f16_value(u16 half) {
  u32 sign = (u32)(half & 0x8000) << 16, rest = (u32)(half & 0x7fff);
  if (rest >= 0x7c00) return from_bits(sign | INFINITY_BITS | (rest & 0x3ff) << 13 | (rest > 0x7c00 ? 0x00400000 : 0));
  f32 magnitude = from_bits(rest << 13) * 5.192296858534828e+33f;  // 2^112, exact
  return from_bits(sign | bits_of(magnitude));
}

BLOCKSCALE_FN f32 to_f32(f32 x) { return x; }
BLOCKSCALE_FN f32 to_f32(bf16 x) { return bf16_value(x.bits); }
BLOCKSCALE_FN f32 to_f32(f16 x) { return f16_value(x.bits); }

BLOCKSCALE_FN void store_real(f32 *out, f32 x) { *out = x; }
BLOCKSCALE_FN void store_real(bf16 *out, f32 x) { out->bits = bf16_bits(x); }
BLOCKSCALE_FN void store_real(f16 *out, f32 x) { out->bits = f16_bits(x); }
