// Several codes at a time, for the kernels that must keep up with memory. Everything here has a definition in element.cuh; the
// test of the host arithmetic holds one to the other.
#pragma once
#include "scheme.cuh"

// ---- pairs of 16-bit numbers ----

// Two finite or infinite numbers, rounded, in one word.
BLOCKSCALE_FN u32 round_pair(bf16, f32 first, f32 second) {
#if defined(__CUDA_ARCH__)
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(pair) : "f"(first), "f"(second));
  return pair;
#else
  return bf16_bits(first) | (u32)bf16_bits(second) << 16;
#endif
}

BLOCKSCALE_FN u32 round_pair(f16, f32 first, f32 second) {
#if defined(__CUDA_ARCH__)
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(pair) : "f"(first), "f"(second));
  return pair;
#else
  return f16_bits(first) | (u32)f16_bits(second) << 16;
#endif
}

BLOCKSCALE_FN void widen_pair(bf16, u32 pair, f32 &first, f32 &second) {
  first = from_bits(pair << 16);
  second = from_bits(pair & 0xffff0000);
}

BLOCKSCALE_FN void widen_pair(f16, u32 pair, f32 &first, f32 &second) {
#if defined(__CUDA_ARCH__)
  asm("{ .reg .f16 a, b;\n"
      "mov.b32 {a, b}, %2;\n"
      "cvt.f32.f16 %0, a;\n"
      "cvt.f32.f16 %1, b; }"
      : "=f"(first), "=f"(second)
      : "r"(pair));
#else
  first = f16_value((u16)pair);
  second = f16_value((u16)(pair >> 16));
#endif
}

// ---- exact quotients by a number that divides many ----

// A divisor whose quotients may be had by multiplication: see `divided`.
struct Reciprocal {
  f32 by, inverse;
};

BLOCKSCALE_FN Reciprocal reciprocal_of(f32 by) { return {by, 1.0f / by}; }

// Whether `divided` is right for all finite x with |x| <= amax: nothing overflows on the way, and what underflows is far below
// half of the smallest element.
BLOCKSCALE_FN bool divides_quickly(f32 by, f32 amax) {
  return by >= 8.271806125530277e-25f /* 2^-80 */ && by <= 1.2676506002282294e+30f /* 2^100 */ && amax <= by * 1048576.0f;
}

// x / by, rounded once, wherever that decides a code: x times the rounded reciprocal, corrected by its remainder, which a fused
// operation gives exactly. (Markstein's division without its test of the last bit.) The signs are such that -0 stays -0. It is the
// rounded quotient itself where x is a value of E4M3, and where `by` is 6 or 448: all significands were gone through.
BLOCKSCALE_FN f32 divided(f32 x, const Reciprocal &by) {
  f32 near = x * by.inverse;
  f32 excess = fused(by.by, near, -x);
  return fused(-excess, by.inverse, near);
}

// The scale of a block of NVFP4 under the scale of its tensor, both levels as one. `quick` is right wherever it is finite; where it is
// not, `exact` is what the definition says.
struct TwoLevels {
  u32 global_kind;
  f32 global;
  Reciprocal divisor;
  BLOCKSCALE_FN_MEMBER f32 quick(f32 stored) const {
    return global_kind == GLOBAL_DIVISOR ? divided(stored, divisor) : stored * global;
  }
};

BLOCKSCALE_FN TwoLevels two_levels(u32 global_kind, f32 global) {
  Reciprocal divisor = {1.0f, 1.0f};
  if (global_kind == GLOBAL_DIVISOR) {
    divisor = divides_quickly(global, 0.0f) ? reciprocal_of(global) : Reciprocal{global, from_bits(NAN_BITS)};
  }
  return {global_kind, global_kind == GLOBAL_NONE ? 1.0f : global, divisor};
}

// ---- powers of two as scales ----

// The code of the smallest power of two that is not below amax / 6 or amax / 448, that quotient being rounded to F32: the largest
// magnitudes end in a fraction of a half, or three quarters, so that a carry into the exponent decides.
BLOCKSCALE_FN u32 rceil_code(u32 element, f32 amax) {
  u32 bits = bits_of(amax);
  if (bits < 20u << 23) return e8m0_ceil(max_f32(amax / max_finite(element), e8m0_value(0)));
  return element == E2M1 ? ((bits + 0x3fffff) >> 23) - 2 : ((bits + 0x1fffff) >> 23) - 8;
}

// What multiplies to divide by the power of two of a code that `rceil_code` gives: none of them is 254.
BLOCKSCALE_FN f32 rceil_inverse(u32 code) { return from_bits((254 - code) << 23); }

// ---- E2M1 ----

// The code of a non-negative quotient below 7, on top of 0x4b7ffffa. A sum just below 2^24 is rounded to whole ones, one above it to
// twos: `upper` does so to quotients below 4 and above, `lower` to halves below 3. The code is the smaller.
BLOCKSCALE_FN u32 e2m1_sum(f32 q) {
  f32 lower = fused(q, 2.0f, 16777210.0f);
  f32 upper = q + 16777212.0f;
  return bits_of(min_f32(lower, upper));
}

// Eight codes from eight such quotients, the first in the low nibble.
BLOCKSCALE_FN u32 e2m1_magnitudes(const f32 (&q)[8]) {
  u32 packed = 0u - 0x4b7ffffau * 0x11111111u;
  u32 place = 1;
#pragma unroll
  for (int i = 0; i < 8; i++, place <<= 4) packed += e2m1_sum(q[i]) * place;
  return packed;
}

// Sign bits of eight 16-bit numbers, two a word, in the places of E2M1's.
BLOCKSCALE_FN u32 e2m1_signs(u32 w0, u32 w1, u32 w2, u32 w3) {
  u32 low = permute_bytes(w0, w1, 0x7531), high = permute_bytes(w2, w3, 0x7531);
  u32 even = permute_bytes(low, high, 0x6420), odd = permute_bytes(low, high, 0x7531);
  return (even >> 4 & 0x08080808) | (odd & 0x80808080);
}

// Eight codes from eight quotients with signs, of any size, by the instruction of the chip where it has one.
BLOCKSCALE_FN u32 e2m1_codes(const f32 (&q)[8]) {
#if defined(BLOCKSCALE_HAS_FP4)
  u32 packed;
  asm("{ .reg .b8 a, b, c, d;\n"
      "cvt.rn.satfinite.e2m1x2.f32 a, %2, %1;\n"
      "cvt.rn.satfinite.e2m1x2.f32 b, %4, %3;\n"
      "cvt.rn.satfinite.e2m1x2.f32 c, %6, %5;\n"
      "cvt.rn.satfinite.e2m1x2.f32 d, %8, %7;\n"
      "mov.b32 %0, {a, b, c, d}; }"
      : "=r"(packed)
      : "f"(q[0]), "f"(q[1]), "f"(q[2]), "f"(q[3]), "f"(q[4]), "f"(q[5]), "f"(q[6]), "f"(q[7]));
  return packed;
#else
  u32 packed = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) packed |= round_to(E2M1, q[i]) << (4 * i);
  return packed;
#endif
}

// The values of eight codes.
BLOCKSCALE_FN void e2m1_values(u32 codes, f32 (&values)[8]) {
#if defined(BLOCKSCALE_HAS_FP4)
  u32 pairs[4];
  asm("{ .reg .b8 a, b, c, d;\n"
      "mov.b32 {a, b, c, d}, %4;\n"
      "cvt.rn.f16x2.e2m1x2 %0, a;\n"
      "cvt.rn.f16x2.e2m1x2 %1, b;\n"
      "cvt.rn.f16x2.e2m1x2 %2, c;\n"
      "cvt.rn.f16x2.e2m1x2 %3, d; }"
      : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
      : "r"(codes));
#pragma unroll
  for (int i = 0; i < 4; i++) {
    asm("{ .reg .f16 a, b;\n"
        "mov.b32 {a, b}, %2;\n"
        "cvt.f32.f16 %0, a;\n"
        "cvt.f32.f16 %1, b; }"
        : "=f"(values[2 * i]), "=f"(values[2 * i + 1])
        : "r"(pairs[i]));
  }
#else
  // The upper half of an F32 holds any value of the type. A byte permutation looks up four codes at once, one byte of the half
  // at a time; the sign comes from the code's own bit.
  u32 select = codes & 0x77777777, shifted = codes << 4;
#pragma unroll
  for (int i = 0; i < 2; i++, select >>= 16) {
    u32 signs = permute_bytes(shifted, codes, i == 0 ? 0x5140 : 0x7362) & 0x80808080;
    u32 upper = permute_bytes(0x3f3f3f00, 0x40404040, select) | signs;
    u32 lower = permute_bytes(0xc0800000, 0xc0804000, select);
    u32 first = permute_bytes(lower, upper, 0x5140), second = permute_bytes(lower, upper, 0x7362);
    values[4 * i] = from_bits(first << 16);
    values[4 * i + 1] = from_bits(first & 0xffff0000);
    values[4 * i + 2] = from_bits(second << 16);
    values[4 * i + 3] = from_bits(second & 0xffff0000);
  }
#endif
}

// The value of a magnitude code, as bits: those from 2 on lie a fixed step apart.
BLOCKSCALE_FN f32 e2m1_magnitude(u32 code) { return from_bits(code < 2 ? code * 0x3f000000 : 0x3f000000 + (code << 22)); }

// The larger of two pairs of unsigned halves.
BLOCKSCALE_FN u32 max_halves(u32 a, u32 b) {
#if defined(__CUDA_ARCH__)
  return __vmaxu2(a, b);
#else
  return max_u32(a & 0xffff, b & 0xffff) | max_u32(a >> 16, b >> 16) << 16;
#endif
}

// The largest magnitude code among the sixteen of two words: the halves of a word compare by their top nibbles, so each nibble
// takes its turn there.
BLOCKSCALE_FN u32 e2m1_largest(u32 w0, u32 w1) {
  w0 &= 0x77777777;
  w1 &= 0x77777777;
  u32 largest = max_halves(w0, w1);
#pragma unroll
  for (int shift = 4; shift < 16; shift += 4) largest = max_halves(largest, max_halves(w0 << shift, w1 << shift));
  return max_u32(largest >> 28, largest >> 12 & 7);
}

// ---- E4M3 and E5M2 ----

// Whether one of four codes is not a number.
BLOCKSCALE_FN bool e4m3_has_nan(u32 codes) { return (((codes & 0x7f7f7f7f) + 0x01010101) & 0x80808080) != 0; }
BLOCKSCALE_FN bool e5m2_has_nan(u32 codes) { return (((codes & 0x7f7f7f7f) + 0x03030303) & 0x80808080) != 0; }

// The value of a code, some NaN for NaN.
BLOCKSCALE_FN f32 e4m3_value(u32 code) {
#if defined(BLOCKSCALE_HAS_FP8)
  f32 value;
  asm("{ .reg .b32 p; .reg .f16 a, b;\n"
      "cvt.rn.f16x2.e4m3x2 p, %1;\n"
      "mov.b32 {a, b}, p;\n"
      "cvt.f32.f16 %0, a; }"
      : "=f"(value)
      : "h"((u16)code));
  return value;
#else
  return widen(E4M3FN, code);
#endif
}

// The values of four codes, none of them NaN.
BLOCKSCALE_FN void e4m3_values(u32 codes, f32 *values) {
#if defined(BLOCKSCALE_HAS_FP8)
  asm("{ .reg .b16 low, high; .reg .b32 p, q; .reg .f16 a, b, c, d;\n"
      "mov.b32 {low, high}, %4;\n"
      "cvt.rn.f16x2.e4m3x2 p, low;\n"
      "cvt.rn.f16x2.e4m3x2 q, high;\n"
      "mov.b32 {a, b}, p;\n"
      "mov.b32 {c, d}, q;\n"
      "cvt.f32.f16 %0, a;\n"
      "cvt.f32.f16 %1, b;\n"
      "cvt.f32.f16 %2, c;\n"
      "cvt.f32.f16 %3, d; }"
      : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
      : "r"(codes));
#else
#pragma unroll
  for (int i = 0; i < 4; i++) {
    u32 code = codes >> (8 * i);
    f32 magnitude = from_bits((code & 0x7f) << 20) * 1.329227995784916e+36f;  // 2^120: the exponent biases' difference
    values[i] = from_bits(bits_of(magnitude) | (code & 0x80) << 24);
  }
#endif
}

// The same; infinities count as values. A code is the upper byte of a half.
BLOCKSCALE_FN void e5m2_values(u32 codes, f32 *values) {
  widen_pair(f16(), permute_bytes(codes, 0, 0x1404), values[0], values[1]);
  widen_pair(f16(), permute_bytes(codes, 0, 0x3424), values[2], values[3]);
}

// The code of a quotient of any kind.
BLOCKSCALE_FN u32 e4m3_code(f32 q) {
#if defined(BLOCKSCALE_HAS_FP8)
  u16 code;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(code) : "f"(0.0f), "f"(q));
  return code;
#else
  return round_to(E4M3FN, q);
#endif
}

// Four codes from four quotients of any kind.
BLOCKSCALE_FN u32 e4m3_codes(f32 q0, f32 q1, f32 q2, f32 q3) {
#if defined(BLOCKSCALE_HAS_FP8)
  u32 codes;
  asm("{ .reg .b16 low, high;\n"
      "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
      "mov.b32 %0, {low, high}; }"
      : "=r"(codes)
      : "f"(q0), "f"(q1), "f"(q2), "f"(q3));
  return codes;
#else
  return round_to(E4M3FN, q0) | round_to(E4M3FN, q1) << 8 | round_to(E4M3FN, q2) << 16 | round_to(E4M3FN, q3) << 24;
#endif
}

// ---- E2M1 codes under one scale as E4M3 codes under another ----

// The E4M3 codes of the eight magnitudes of E2M1, each times `scale`, rounded, then times the power of two `inverse`. Only a product
// with 1.5, 3 or 6 is rounded at all, so the others follow from two.
struct E4m3OfE2m1 {
  u32 low, high;
};

// Whether `e4m3_of_e2m1` may be used: no product is infinite.
BLOCKSCALE_FN bool scales_finitely(f32 scale) { return magnitude_of(scale) <= 5.6e37f; }

BLOCKSCALE_FN E4m3OfE2m1 e4m3_of_e2m1(f32 scale, f32 inverse) {
  f32 one = scale * inverse, one_half = 1.5f * scale * inverse;
  return {e4m3_codes(0.0f * scale, 0.5f * one, one, one_half),
          e4m3_codes(2.0f * one, 2.0f * one_half, 4.0f * one, 4.0f * one_half)};
}

// Eight E2M1 codes looked up there: a byte permutation takes three bits of a nibble as its index.
BLOCKSCALE_FN void recode_e2m1(const E4m3OfE2m1 &table, u32 codes, u32 &first, u32 &second) {
  u32 select = codes & 0x77777777, shifted = codes << 4;
  first = permute_bytes(table.low, table.high, select) ^ (permute_bytes(shifted, codes, 0x5140) & 0x80808080);
  second = permute_bytes(table.low, table.high, select >> 16) ^ (permute_bytes(shifted, codes, 0x7362) & 0x80808080);
}
