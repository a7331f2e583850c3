// Numbers to scales and codes, in one pass over the numbers.
//
// Each fast kernel keeps a block's numbers in registers between its largest magnitude and its codes. Blocks that hold an infinity or
// NaN, or whose scale is so small or large that a shortcut could be wrong, go through the definition, element by element.
#include "encode.cuh"

namespace encode {

// Eight codes of four bits by the definition; a scale of zero gives zeros.
static __device__ __noinline__ u32 slow_e2m1(f32 a, f32 b, f32 c, f32 d, f32 scale) {
  if (scale == 0.0f) return 0;
  return round_to(E2M1, quotient(a, scale)) | round_to(E2M1, quotient(b, scale)) << 4 |
         round_to(E2M1, quotient(c, scale)) << 8 | round_to(E2M1, quotient(d, scale)) << 12;
}

static __device__ __noinline__ u32 slow_e4m3(f32 a, f32 b, f32 c, f32 d, f32 scale) {
  if (scale == 0.0f) return 0;
  return round_to(E4M3FN, quotient(a, scale)) | round_to(E4M3FN, quotient(b, scale)) << 8 |
         round_to(E4M3FN, quotient(c, scale)) << 16 | round_to(E4M3FN, quotient(d, scale)) << 24;
}

// Eight E2M1 codes of finite numbers, `by` dividing quickly and no quotient reaching 7.
template <typename T>
static __device__ __forceinline__ u32 fast_e2m1(const Eight<T> &eight, const Reciprocal &by) {
  f32 v[8];
#if defined(BLOCKSCALE_HAS_FP4)
  eight.values(v);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = divided(v[i], by);
  return e2m1_codes(v);
#else
  eight.magnitudes(v);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = divided(v[i], by);
  return e2m1_magnitudes(v) | eight.signs();
#endif
}

template <typename T>
static __device__ __forceinline__ u32 power_e2m1(const Eight<T> &eight, f32 inverse) {
  f32 v[8];
#if defined(BLOCKSCALE_HAS_FP4)
  eight.values(v);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = v[i] * inverse;
  return e2m1_codes(v);
#else
  eight.magnitudes(v);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = v[i] * inverse;
  return e2m1_magnitudes(v) | eight.signs();
#endif
}

template <typename T>
static __device__ __forceinline__ u32 slow_e2m1(const Eight<T> &eight, f32 scale) {
  f32 v[8];
  eight.values(v);
  return slow_e2m1(v[0], v[1], v[2], v[3], scale) | slow_e2m1(v[4], v[5], v[6], v[7], scale) << 16;
}

template <typename T>
static __device__ __forceinline__ Words<2> slow_e4m3(const Eight<T> &eight, f32 scale) {
  f32 v[8];
  eight.values(v);
  return {slow_e4m3(v[0], v[1], v[2], v[3], scale), slow_e4m3(v[4], v[5], v[6], v[7], scale)};
}

template <typename T>
static __device__ __forceinline__ Words<2> power_e4m3(const Eight<T> &eight, f32 inverse) {
  f32 v[8];
  eight.values(v);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = v[i] * inverse;
  return {e4m3_codes(v[0], v[1], v[2], v[3]), e4m3_codes(v[4], v[5], v[6], v[7])};
}

template <typename T>
static __device__ __forceinline__ Words<2> fast_e4m3(const Eight<T> &eight, const Reciprocal &by) {
  f32 v[8];
  eight.values(v);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = divided(v[i], by);
  return {e4m3_codes(v[0], v[1], v[2], v[3]), e4m3_codes(v[4], v[5], v[6], v[7])};
}

// ---- NVFP4: a thread has whole blocks of sixteen ----

// Sixteen numbers as they lie in memory.
template <typename T>
struct Sixteen {
  Eight<T> half[2];
  static __device__ __forceinline__ Sixteen zero() { return {{Eight<T>::zero(), Eight<T>::zero()}}; }
  static __device__ __forceinline__ Sixteen load(const T *at) {
    if constexpr (sizeof(T) == 4) return {{Eight<T>::load(at), Eight<T>::load(at + 8)}};
    Words<8> raw = ::load<8>(at);
    Sixteen sixteen;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      sixteen.half[0].raw.word[i] = raw.word[i];
      sixteen.half[1].raw.word[i] = raw.word[4 + i];
    }
    return sixteen;
  }
};

// What the blocks of a tensor have in common: the scale of the tensor, and what a block's largest magnitude is divided by.
struct Level {
  TwoLevels levels;
  Reciprocal range;
};

static __device__ __forceinline__ Level level_of(u32 global_kind, f32 global) {
  return {two_levels(global_kind, global), reciprocal_of(global_kind == GLOBAL_MULTIPLIER ? 6.0f * global : 6.0f)};
}

static __device__ __noinline__ f32 slow_quotient(f32 a, f32 b) { return a / b; }

static __device__ __forceinline__ u32 nvfp4_scale(const Level &level, f32 amax) {
  f32 by = level.range.by;
  f32 over_max = divides_quickly(by, amax) && amax >= F32_MIN_NORMAL * 1048576.0f ? divided(amax, level.range) : slow_quotient(amax, by);
  if (level.levels.global_kind == GLOBAL_DIVISOR) over_max = level.levels.global * over_max;
  // Rounded into the positive numbers of the type; a block of zeros has the scale 1.
  u32 code = e4m3_code(min_f32(max_f32(over_max, 0.001953125f), 448.0f));
  return amax == 0.0f ? 0x38 : code;
}

// Both levels as one, by the definition.
static __device__ __noinline__ f32 slow_scale(u32 global_kind, u32 code, f32 global) {
  return combine(global_kind, widen(E4M3FN, code), global);
}

template <typename T>
static __device__ __forceinline__ void nvfp4_block(const Sixteen<T> &block, const Level &level, u8 *codes, u8 *stored) {
  u32 bits = max_u32(block.half[0].amax_or_special(), block.half[1].amax_or_special());
  bool special = bits >= INFINITY_BITS;
  if (special) bits = max_u32(finite_amax(block.half[0]), finite_amax(block.half[1]));
  f32 amax = from_bits(bits);
  u32 code = nvfp4_scale(level, amax);
  f32 scale = level.levels.quick(e4m3_value(code));
  Words<2> found;
  if (!special && divides_quickly(scale, amax) && amax <= scale * 6.75f) {
    Reciprocal by = reciprocal_of(scale);
    found = {fast_e2m1(block.half[0], by), fast_e2m1(block.half[1], by)};
  } else {
    scale = slow_scale(level.levels.global_kind, code, level.levels.global);
    found = {slow_e2m1(block.half[0], scale), slow_e2m1(block.half[1], scale)};
  }
  *stored = (u8)code;
  store_words(codes, found);
}

template <typename T>
static __device__ __forceinline__ void nvfp4(u64 matrices, u64 rows, u64 cols, u32 global_kind, const T *values,
                                             const f32 *global, u64 global_stride, u8 *codes, u8 *scales) {
  constexpr int IN_FLIGHT = sizeof(T) == 4 ? 2 : 4, CHUNK = THREADS * IN_FLIGHT;
  u64 blocks = rows * cols / 16, whole = blocks / CHUNK;
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    Level level = level_of(global_kind, global_of(global_kind, global, global_stride, matrix));
    const T *from = values + matrix * blocks * 16;
    u8 *to = codes + matrix * blocks * 8, *scale_to = scales + matrix * blocks;
    for (u64 chunk = blockIdx.x; chunk < whole; chunk += gridDim.x) {
      u64 at = chunk * CHUNK + threadIdx.x;
      Sixteen<T> loaded[IN_FLIGHT];
#pragma unroll
      for (int i = 0; i < IN_FLIGHT; i++) loaded[i] = Sixteen<T>::load(from + at * 16 + i * (THREADS * 16));
#pragma unroll
      for (int i = 0; i < IN_FLIGHT; i++) {
        nvfp4_block(loaded[i], level, to + at * 8 + i * (THREADS * 8), scale_to + at + i * THREADS);
      }
    }
    if (whole % gridDim.x != blockIdx.x) continue;
    for (u64 at = whole * CHUNK + threadIdx.x; at < blocks; at += THREADS) {
      nvfp4_block(Sixteen<T>::load(from + at * 16), level, to + at * 8, scale_to + at);
    }
  }
}

// ---- MX: two threads have a block of thirty-two ----

// Both are in or out together: there are two sixteens to a block.
template <u32 ELEMENT, bool WHOLE, typename T>
static __device__ __forceinline__ void mx_chunk(u64 at, u64 sixteens, const T *values, u8 *codes, u8 *scales) {
  constexpr int IN_FLIGHT = sizeof(T) == 4 ? 2 : 4, BYTES = ELEMENT == E2M1 ? 8 : 16;
  const T *from = values + at * 16;
  u8 *to = codes + at * BYTES, *scale_to = scales + at / 2;
  Sixteen<T> loaded[IN_FLIGHT];
#pragma unroll
  for (int i = 0; i < IN_FLIGHT; i++) {
    loaded[i] = WHOLE || at + i * THREADS < sixteens ? Sixteen<T>::load(from + i * (THREADS * 16)) : Sixteen<T>::zero();
  }
#pragma unroll
  for (int i = 0; i < IN_FLIGHT; i++) {
    const Sixteen<T> &mine = loaded[i];
    u32 bits = max_u32(mine.half[0].amax_or_special(), mine.half[1].amax_or_special());
    bool special = bits >= INFINITY_BITS;
    if (special) bits = max_u32(finite_amax(mine.half[0]), finite_amax(mine.half[1]));
    bits = max_u32(bits, __shfl_xor_sync(~0u, bits, 1));
    if (!WHOLE && at + i * THREADS >= sixteens) continue;
    u32 code = rceil_code(ELEMENT, from_bits(bits));
    f32 inverse = rceil_inverse(code);
    u8 *here = to + i * (THREADS * BYTES);
    if constexpr (ELEMENT == E2M1) {
      if (special) {
        store_words(here, Words<2>{slow_e2m1(mine.half[0], e8m0_value(code)), slow_e2m1(mine.half[1], e8m0_value(code))});
      } else {
        store_words(here, Words<2>{power_e2m1(mine.half[0], inverse), power_e2m1(mine.half[1], inverse)});
      }
    } else {
      Words<2> first = power_e4m3(mine.half[0], inverse), second = power_e4m3(mine.half[1], inverse);
      store_words(here, Words<4>{first.word[0], first.word[1], second.word[0], second.word[1]});
    }
    if (threadIdx.x % 2 == 0) scale_to[i * (THREADS / 2)] = (u8)code;
  }
}

template <u32 ELEMENT, typename T>
static __device__ __forceinline__ void mx(u64 matrices, u64 rows, u64 cols, const T *values, u8 *codes, u8 *scales) {
  constexpr u64 CHUNK = THREADS * (sizeof(T) == 4 ? 2 : 4);
  u64 sixteens = matrices * rows * cols / 16;  // of the whole stack: nothing depends on the matrix
  u64 step = (u64)gridDim.x * gridDim.y * CHUNK, start = ((u64)blockIdx.y * gridDim.x + blockIdx.x) * CHUNK;
  for (; start + CHUNK <= sixteens; start += step) {
    mx_chunk<ELEMENT, true>(start + threadIdx.x, sixteens, values, codes, scales);
  }
  if (start < sixteens) mx_chunk<ELEMENT, false>(start + threadIdx.x, sixteens, values, codes, scales);
}

// ---- FP8 in blocks of 128 x 128: a block of threads has one ----

template <u32 SCALE, typename T>
static __device__ __forceinline__ void fp8_tile(u64 rows, u64 cols, u64 first_row, u64 first_col, const T *values, u8 *codes,
                                                u8 *scale_at, u32 *of_warps) {
  constexpr int PASSES = 8;
  u64 col = first_col + threadIdx.x % 16 * 8;
  Eight<T> loaded[PASSES];
#pragma unroll
  for (int i = 0; i < PASSES; i++) {
    u64 row = first_row + threadIdx.x / 16 + i * 16;
    loaded[i] = row < rows && col < cols ? Eight<T>::load(values + row * cols + col) : Eight<T>::zero();
  }
  u32 bits = 0;
#pragma unroll
  for (int i = 0; i < PASSES; i++) bits = max_u32(bits, loaded[i].amax_or_special());
  bool special = bits >= INFINITY_BITS;
  if (special) {
    bits = 0;
#pragma unroll
    for (int i = 0; i < PASSES; i++) bits = max_u32(bits, finite_amax(loaded[i]));
  }
  bits = __reduce_max_sync(~0u, bits);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = bits;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < (int)THREADS / 32; i++) bits = max_u32(bits, of_warps[i]);

  f32 amax = from_bits(bits), scale, inverse;
  bool quick = true;
  if (SCALE == SCALE_E8M0) {
    u32 code = rceil_code(E4M3FN, max_f32(amax, 1e-4f));
    if (threadIdx.x == 0) *scale_at = (u8)code;
    scale = e8m0_value(code);
    inverse = rceil_inverse(code);
  } else {
    scale = amax == 0.0f ? 1.0f : max_f32(amax / 448.0f, from_bits(1));
    if (threadIdx.x == 0) *reinterpret_cast<f32 *>(scale_at) = scale;
    quick = !special && divides_quickly(scale, amax);
    inverse = 1.0f / scale;
  }
#pragma unroll
  for (int i = 0; i < PASSES; i++) {
    u64 row = first_row + threadIdx.x / 16 + i * 16;
    if (row >= rows || col >= cols) continue;
    u8 *to = codes + row * cols + col;
    if (SCALE == SCALE_E8M0) {
      store_words(to, power_e4m3(loaded[i], inverse));
    } else if (quick) {
      store_words(to, fast_e4m3(loaded[i], Reciprocal{scale, inverse}));
    } else {
      store_words(to, slow_e4m3(loaded[i], scale));
    }
  }
}

template <u32 SCALE, typename T>
static __device__ __forceinline__ void fp8_block(u64 matrices, u64 rows, u64 cols, const T *values, u8 *codes, u8 *scales) {
  __shared__ u32 of_warps[2][THREADS / 32];
  u64 across = (cols + 127) / 128, tiles = (rows + 127) / 128 * across;
  u32 parity = 0;
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x, parity ^= 1) {
      u64 down, right;
      split(tile, across, down, right);
      u64 start = matrix * rows * cols;
      fp8_tile<SCALE>(rows, cols, down * 128, right * 128, values + start, codes + start,
                      scales + (matrix * tiles + tile) * scale_bytes(SCALE), of_warps[parity]);
    }
  }
}

}  // namespace encode

#define ENCODE_FROM(T)                                                                                                     \
  BLOCKSCALE_KERNEL encode_##T##_to_nvfp4(u64 matrices, u64 rows, u64 cols, u32 global_kind, const T *values,              \
                                          const f32 *global, u64 global_stride, u8 *codes, u8 *scales) {                   \
    encode::nvfp4(matrices, rows, cols, global_kind, values, global, global_stride, codes, scales);                        \
  }                                                                                                                        \
  BLOCKSCALE_KERNEL encode_##T##_to_mxfp4(u64 matrices, u64 rows, u64 cols, const T *values, u8 *codes, u8 *scales) {      \
    encode::mx<E2M1>(matrices, rows, cols, values, codes, scales);                                                         \
  }                                                                                                                        \
  BLOCKSCALE_KERNEL encode_##T##_to_mxfp8_e4m3(u64 matrices, u64 rows, u64 cols, const T *values, u8 *codes, u8 *scales) { \
    encode::mx<E4M3FN>(matrices, rows, cols, values, codes, scales);                                                       \
  }                                                                                                                        \
  BLOCKSCALE_KERNEL encode_##T##_to_fp8_block_f32(u64 matrices, u64 rows, u64 cols, const T *values, u8 *codes,            \
                                                  u8 *scales) {                                                            \
    encode::fp8_block<SCALE_F32>(matrices, rows, cols, values, codes, scales);                                             \
  }                                                                                                                        \
  BLOCKSCALE_KERNEL encode_##T##_to_fp8_block_ue8m0(u64 matrices, u64 rows, u64 cols, const T *values, u8 *codes,          \
                                                    u8 *scales) {                                                          \
    encode::fp8_block<SCALE_E8M0>(matrices, rows, cols, values, codes, scales);                                            \
  }

ENCODE_FROM(bf16)
ENCODE_FROM(f16)
ENCODE_FROM(f32)
