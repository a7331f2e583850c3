// Scales of blocks and tensors from their largest magnitudes, as crates/blockscale/src/encode defines them.
#pragma once
#include "element.cuh"
#include "real.cuh"

struct FormatDesc {
  u32 element, packing, scale, global_kind;
  u64 block_rows, block_cols;
  u64 reserved;
};

enum Rule : u32 {
  RULE_AMAX,
  RULE_AMAX_RECIPROCAL,
  RULE_AMAX_MIN_1E4,
  RULE_FLOOR,
  RULE_CEIL,
  RULE_RCEIL,
  RULE_RCEIL_MIN_1E4,
  RULE_EVEN,
  RULE_EVEN_AT,
  RULE_NEAREST,
  RULE_FOUR_OVER_SIX,
  RULE_MSE_SEARCH
};
enum GlobalRule : u32 { GLOBAL_DIVIDE, GLOBAL_RECIPROCAL };
enum ScaleOrder : u32 { PRODUCT_FIRST, QUOTIENT_FIRST };
enum ZeroScale : u32 { ZERO_OF_ZEROS, ZERO_OF_UNDERFLOW, ZERO_OF_ROUNDED, ZERO_SMALLEST, ZERO_KEPT, ZERO_INVERSE_OF_GLOBAL };
enum Intermediate : u32 { INTERMEDIATE_F32, INTERMEDIATE_SCALES, INTERMEDIATE_QUOTIENTS };
enum Weight : u32 { WEIGHT_F32, WEIGHT_BF16, WEIGHT_F16 };
enum Quotient : u32 { DIVIDE, RECIPROCAL, RECIPROCAL_BY_LEVEL, DIVIDE_NORMAL, RECIPROCAL_NORMAL };

struct SchemeDesc {
  u32 rule, rule_argument, global_rule, order;
  f32 min_scale;
  u32 zero;
  f32 zero_scale;
  u32 quotient, ties, overflow, zero_sign, nan, nan_code;
  u8 intermediate, weight, unused[2];
};

BLOCKSCALE_FN u32 scale_bytes(u32 kind) { return kind <= SCALE_E8M0 ? 1 : kind == SCALE_F32 ? 4 : 2; }

// One stored scale; scales need not be aligned.
BLOCKSCALE_FN f32 load_scale(u32 kind, const u8 *at) {
  switch (kind) {
    case SCALE_E4M3: return widen(E4M3FN, at[0]);
    case SCALE_E8M0: return e8m0_value(at[0]);
    case SCALE_F32: return from_bits(at[0] | (u32)at[1] << 8 | (u32)at[2] << 16 | (u32)at[3] << 24);
    case SCALE_BF16: return bf16_value((u16)(at[0] | at[1] << 8));
    default: return f16_value((u16)(at[0] | at[1] << 8));
  }
}

// Stores a scale that its type holds.
BLOCKSCALE_FN void store_scale(u32 kind, f32 scale, u8 *at) {
  u32 bits;
  switch (kind) {
    case SCALE_E4M3: bits = round_to(E4M3FN, scale); break;
    case SCALE_E8M0: bits = e8m0_ceil(scale); break;
    case SCALE_F32: bits = bits_of(scale); break;
    case SCALE_BF16: bits = bf16_bits(scale); break;
    default: bits = f16_bits(scale);
  }
  for (u32 i = 0; i < scale_bytes(kind); i++) at[i] = (u8)(bits >> (8 * i));
}

BLOCKSCALE_FN f32 round_scale_to(u32 kind, f32 scale) {
  switch (kind) {
    case SCALE_E4M3: return widen(E4M3FN, round_to(E4M3FN, scale));
    case SCALE_E8M0: return e8m0_value(e8m0_ceil(scale));
    case SCALE_F32: return scale;
    case SCALE_BF16: return bf16_value(bf16_bits(scale));
    default: return f16_value(f16_bits(scale));
  }
}

BLOCKSCALE_FN f32 smallest_scale(u32 kind) {
  switch (kind) {
    case SCALE_E4M3: return 0.001953125f;             // 2^-9
    case SCALE_E8M0: return from_bits(0x00400000);    // 2^-127
    case SCALE_F32: return from_bits(1);
    case SCALE_BF16: return from_bits(0x00010000);
    default: return from_bits(103u << 23);            // 2^-24
  }
}

BLOCKSCALE_FN f32 largest_scale(u32 kind) {
  switch (kind) {
    case SCALE_E4M3: return 448.0f;
    case SCALE_E8M0: return from_bits(254u << 23);
    case SCALE_F32: return F32_MAX;
    case SCALE_BF16: return from_bits(0x7f7f0000);
    default: return 65504.0f;
  }
}

// The scales of both levels as one: what an element is multiplied by.
BLOCKSCALE_FN f32 combine(u32 global_kind, f32 scale, f32 global) {
  if (global_kind == GLOBAL_NONE) return scale;
  return global_kind == GLOBAL_MULTIPLIER ? product(scale, global) : quotient(scale, global);
}

// 2^floor(log2 x), one more where `up` says so, times 2^-emax, kept within UE8M0.
BLOCKSCALE_FN f32 power_below(u32 element, u32 bits, bool up) {
  i32 emax = (i32)(bits_of(max_finite(element)) >> 23) - 127;
  i32 code = (i32)(bits >> 23) + up - emax;
  return e8m0_value((u32)(code < 0 ? 0 : code > 254 ? 254 : code));
}

BLOCKSCALE_FN f32 power_nearest(f32 x) {
  u32 exponent = bits_of(x) >> 23;
  if (exponent == 0) return e8m0_value(x > F32_MIN_NORMAL / 1.41421356237309504880f);
  bool up = (bits_of(x) & FRACTION) > 0x3504f3;  // above the square root of 2
  return e8m0_value(min_u32(exponent + up, 254));
}

BLOCKSCALE_FN f32 raise_amax(u32 rule, f32 amax) {
  return rule == RULE_AMAX_MIN_1E4 || rule == RULE_RCEIL_MIN_1E4 ? max_f32(amax, 1e-4f) : amax;
}

// What `amax / max` is by the rule, given that and `amax` under the tensor's scale.
BLOCKSCALE_FN f32 apply_rule(const SchemeDesc &scheme, u32 element, f32 over_max, f32 amax) {
  u32 bits = bits_of(amax);
  u32 even_bits = scheme.rule == RULE_EVEN ? minifloat(element).mantissa_bits : scheme.rule_argument;
  switch (scheme.rule) {
    case RULE_AMAX_RECIPROCAL: return amax * (1.0f / max_finite(element));
    case RULE_RCEIL:
    case RULE_RCEIL_MIN_1E4: return e8m0_value(e8m0_ceil(over_max));
    case RULE_FLOOR: return power_below(element, bits, false);
    case RULE_CEIL: return power_below(element, bits, (bits & FRACTION) != 0);
    case RULE_EVEN:
    case RULE_EVEN_AT: return power_below(element, bits + (1u << (22 - min_u32(even_bits, 22))), false);
    case RULE_NEAREST: return power_nearest(over_max);
    default: return over_max;
  }
}

// A number in the type of the weight.
BLOCKSCALE_FN f32 round_to_weight(const SchemeDesc &scheme, f32 x) {
  if (scheme.weight == WEIGHT_BF16) return bf16_value(bf16_bits(x));
  return scheme.weight == WEIGHT_F16 ? f16_value(f16_bits(x)) : x;
}

// An intermediate result of a scale.
BLOCKSCALE_FN f32 rounded(const SchemeDesc &scheme, f32 x) {
  return scheme.intermediate == INTERMEDIATE_F32 ? x : round_to_weight(scheme, x);
}

BLOCKSCALE_FN f32 unrounded_scale(const FormatDesc &format, const SchemeDesc &scheme, f32 amax, f32 global) {
  amax = raise_amax(scheme.rule, amax);
  if (amax == 0.0f) return apply_rule(scheme, format.element, 0.0f, 0.0f);
  f32 max = max_finite(format.element);
  f32 of_max = rounded(scheme, amax / max), over_max, relative;
  if (format.global_kind == GLOBAL_NONE) {
    over_max = of_max;
    relative = amax;
  } else if (format.global_kind == GLOBAL_DIVISOR) {
    over_max = global * of_max;
    relative = global * amax;
  } else {
    over_max = scheme.order == PRODUCT_FIRST ? amax / (max * global) : of_max / global;
    relative = amax / global;
  }
  return apply_rule(scheme, format.element, over_max, min_f32(relative, F32_MAX));
}

// Rounds to the scale type, into its positive finite numbers.
BLOCKSCALE_FN f32 round_scale(const FormatDesc &format, const SchemeDesc &scheme, f32 amax, f32 global, f32 scale) {
  f32 smallest = smallest_scale(format.scale), largest = largest_scale(format.scale);
  f32 floor = max_f32(smallest, scheme.min_scale);
  if (format.scale == SCALE_E8M0) return round_scale_to(SCALE_E8M0, min_f32(max_f32(scale, floor), F32_MAX));
  if (scheme.zero == ZERO_OF_ZEROS && raise_amax(scheme.rule, amax) == 0.0f) {
    return round_scale_to(format.scale, scheme.zero_scale);
  }
  if (scheme.zero == ZERO_OF_UNDERFLOW && scale == 0.0f) return round_scale_to(format.scale, scheme.zero_scale);
  if (scheme.zero == ZERO_INVERSE_OF_GLOBAL && amax / max_finite(format.element) == 0.0f) {
    f32 inverse = format.global_kind == GLOBAL_NONE ? 1.0f : format.global_kind == GLOBAL_DIVISOR ? global : 1.0f / global;
    return round_scale_to(format.scale, inverse < smallest ? smallest : inverse > largest ? largest : inverse);
  }
  if (scheme.zero == ZERO_OF_ROUNDED || scheme.zero == ZERO_KEPT) {
    f32 stored = round_scale_to(format.scale, min_f32(scale, largest));
    return stored == 0.0f && scheme.zero == ZERO_OF_ROUNDED ? scheme.zero_scale : stored;
  }
  return round_scale_to(format.scale, min_f32(max_f32(scale, floor), largest));
}

BLOCKSCALE_FN f32 block_scale(const FormatDesc &format, const SchemeDesc &scheme, f32 amax, f32 global) {
  return round_scale(format, scheme, amax, global, unrounded_scale(format, scheme, amax, global));
}

// The scale of a tensor, as a checkpoint stores it.
BLOCKSCALE_FN f32 global_scale(const FormatDesc &format, const SchemeDesc &scheme, f32 amax) {
  if (amax == 0.0f || format.global_kind == GLOBAL_NONE) return 1.0f;
  f32 room = format.scale != SCALE_E4M3 ? 1.0f : scheme.rule == RULE_FOUR_OVER_SIX ? 256.0f : 448.0f;
  f32 range = max_finite(format.element) * room;
  if (format.global_kind == GLOBAL_MULTIPLIER) {
    f32 global = scheme.global_rule == GLOBAL_DIVIDE ? amax / range : rounded(scheme, amax * (1.0f / range));
    return max_f32(global, from_bits(1));
  }
  if (scheme.global_rule == GLOBAL_DIVIDE) return min_f32(range / amax, F32_MAX);
  f32 global = rounded(scheme, range * rounded(scheme, 1.0f / max_f32(amax, F32_MIN_NORMAL)));
  return is_finite(global) ? global : 1.0f;
}

// What a number of a block is divided or multiplied by.
struct Divisor {
  enum { ZERO, ZERO_KEPT_DIVIDES, BY, TIMES } kind;
  f32 by;
};

BLOCKSCALE_FN Divisor divisor_of(const FormatDesc &format, const SchemeDesc &scheme, f32 scale, f32 global) {
  f32 effective = combine(format.global_kind, scale, global);
  if (effective == 0.0f) return {scheme.zero == ZERO_KEPT ? Divisor::ZERO_KEPT_DIVIDES : Divisor::ZERO, 0.0f};
  bool subnormal = effective < F32_MIN_NORMAL;
  switch (scheme.quotient) {
    case DIVIDE: return {Divisor::BY, effective};
    case DIVIDE_NORMAL: return {Divisor::BY, subnormal ? F32_MIN_NORMAL : effective};
    case RECIPROCAL: return {Divisor::TIMES, quotient(1.0f, effective)};
    case RECIPROCAL_NORMAL: return {Divisor::TIMES, subnormal ? 1.0f : quotient(1.0f, effective)};
    default:
      if (format.global_kind == GLOBAL_NONE) return {Divisor::TIMES, quotient(1.0f, scale)};
      if (format.global_kind == GLOBAL_DIVISOR) return {Divisor::TIMES, quotient(global, scale)};
      return {Divisor::TIMES, quotient(quotient(1.0f, global), scale)};
  }
}

BLOCKSCALE_FN bool is_default(const SchemeDesc &scheme) {
  return scheme.ties == TIES_EVEN && scheme.overflow == OVERFLOW_SATURATE && scheme.zero_sign == ZERO_KEEP &&
         scheme.nan == NAN_OF_TYPE;
}

BLOCKSCALE_FN u32 encode_one(const FormatDesc &format, const SchemeDesc &scheme, const Divisor &divisor, f32 x) {
  if (divisor.kind == Divisor::ZERO) return 0;
  f32 q;
  if (divisor.kind == Divisor::BY) {
    q = quotient(x, divisor.by);
  } else if (divisor.kind == Divisor::TIMES) {
    q = product(x, divisor.by);
  } else {
    q = x == 0.0f ? from_bits(0xffc00000) : is_nan(x) ? x : from_bits((bits_of(x) & ~MAGNITUDE) | INFINITY_BITS);
  }
  if (scheme.intermediate == INTERMEDIATE_QUOTIENTS) q = round_to_weight(scheme, q);
  if (is_default(scheme)) return round_to(format.element, q);
  return round_to_with(format.element, q, {scheme.ties, scheme.overflow, scheme.zero_sign, scheme.nan, scheme.nan_code});
}
