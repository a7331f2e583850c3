// Largest magnitudes, and the steps of encoding that serve any format, shape and scheme.
#include "encode.cuh"

namespace encode {

// Raises what `at` points to; most threads find nothing to do.
static __device__ __forceinline__ void raise(u32 *at, u32 bits) {
  if (bits > *static_cast<volatile u32 *>(at)) atomicMax(at, bits);
}

// Bits of the largest finite magnitude in sixteen bytes.
template <typename T>
static __device__ __forceinline__ u32 vector_amax(T, const Words<4> &w) {
  Eight<T> eight = {w};
  u32 bits = eight.amax_or_special();
  return bits < INFINITY_BITS ? bits : finite_amax(eight);
}

static __device__ __forceinline__ u32 vector_amax(f32, const Words<4> &w) {
  u32 max = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) max = max_u32(max, finite_magnitude(from_bits(w.word[k])));
  return max;
}

template <typename T>
static __device__ __forceinline__ void amax(u64 matrices, u64 elements, const T *values, u32 *amax_bits) {
  constexpr u64 AT_ONCE = 16 / sizeof(T);
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    const T *from = values + matrix * elements;
    // Up to the first element on 16 bytes, whole vectors, and the rest.
    u64 before = min_u64(elements, (16 - reinterpret_cast<u64>(from) % 16) % 16 / sizeof(T));
    u64 vectors = (elements - before) / AT_ONCE, after = before + vectors * AT_ONCE;
    u32 max = 0;
    constexpr int IN_FLIGHT = 4;
    u64 done = vectors / (THREADS * IN_FLIGHT) * (THREADS * IN_FLIGHT);
    for (u64 i = (u64)blockIdx.x * (THREADS * IN_FLIGHT) + threadIdx.x; i < done; i += (u64)gridDim.x * (THREADS * IN_FLIGHT)) {
      Words<4> w[IN_FLIGHT];
#pragma unroll
      for (int k = 0; k < IN_FLIGHT; k++) w[k] = load<4>(from + before + (i + k * THREADS) * AT_ONCE);
#pragma unroll
      for (int k = 0; k < IN_FLIGHT; k++) max = max_u32(max, vector_amax(T(), w[k]));
    }
    for (u64 i = done + first_item(); i < vectors; i += item_stride()) {
      max = max_u32(max, vector_amax(T(), load<4>(from + before + i * AT_ONCE)));
    }
    for (u64 i = first_item(); i < before; i += item_stride()) max = max_u32(max, finite_magnitude(to_f32(from[i])));
    for (u64 i = after + first_item(); i < elements; i += item_stride()) max = max_u32(max, finite_magnitude(to_f32(from[i])));
    max = __reduce_max_sync(~0u, max);
    if (threadIdx.x % 32 == 0) raise(amax_bits + matrix, max);
  }
}

template <typename T>
static __device__ __forceinline__ void amax_blocks(const FormatDesc &format, u64 matrices, u64 rows, u64 cols, const T *values,
                                                   u32 *amax_bits) {
  u64 across = scale_cols(format, cols), in_row = div_ceil(cols, 64), of_matrix = scale_count(format, rows, cols);
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 item = first_item(); item < rows * in_row; item += item_stride()) {
      u64 row = item / in_row, col = item % in_row * 64, end = min_u64(cols, col + 64);
      while (col < end) {
        u64 block = col / format.block_cols, last = min_u64(end, (block + 1) * format.block_cols);
        u32 max = 0;
        for (; col < last; col++) max = max_u32(max, finite_magnitude(to_f32(values[(matrix * rows + row) * cols + col])));
        raise(amax_bits + matrix * of_matrix + row / format.block_rows * across + block, max);
      }
    }
  }
}

template <typename T>
static __device__ __forceinline__ void by_search(const FormatDesc &format, const SchemeDesc &scheme, u64 matrices, u64 rows,
                                                 u64 cols, const T *values, const u32 *amax_bits, const f32 *global,
                                                 u64 global_stride, u8 *scales) {
  __shared__ f64 errors[THREADS / 32][34];
  u64 count = scale_count(format, rows, cols);
  u32 candidates = candidate_count(format, scheme), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  bool squared = scheme.rule == RULE_MSE_SEARCH || scheme.rule_argument == 1;
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    f32 level = global_of(format.global_kind, global, global_stride, matrix);
    for (u64 block = (u64)blockIdx.x * (THREADS / 32) + warp; block < count; block += (u64)gridDim.x * (THREADS / 32)) {
      f32 amax = from_bits(amax_bits[matrix * count + block]);
      for (u32 index = lane; index < candidates; index += 32) {
        f32 scale = candidate(format, scheme, amax, level, index);
        errors[warp][index] = block_error(format, scheme, squared, rows, cols, values + matrix * rows * cols, block, scale, level);
      }
      __syncwarp();
      if (lane == 0) {
        f32 best = from_bits(NAN_BITS);
        f64 smallest = __longlong_as_double(0x7ff0000000000000ll);
        for (u32 index = 0; index < candidates; index++) {
          if (is_nan(best) || errors[warp][index] < smallest) {
            best = candidate(format, scheme, amax, level, index);
            smallest = errors[warp][index];
          }
        }
        store_scale(format.scale, best, scales + (matrix * count + block) * scale_bytes(format.scale));
      }
      __syncwarp();
    }
  }
}

template <typename T>
static __device__ __forceinline__ void codes_any(const FormatDesc &format, const SchemeDesc &scheme, u64 matrices, u64 rows,
                                                 u64 cols, const T *values, const u8 *scales, const f32 *global,
                                                 u64 global_stride, u8 *codes) {
  u64 code_bytes = rows * row_bytes(code_stride(format), cols);
  u64 scale_bytes_each = scale_count(format, rows, cols) * scale_bytes(format.scale);
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    f32 level = global_of(format.global_kind, global, global_stride, matrix);
    for (u64 item = first_item(); item < rows * div_ceil(cols, 8); item += item_stride()) {
      encode_eight(format, scheme, cols, values + matrix * rows * cols, scales + matrix * scale_bytes_each, level,
                   codes + matrix * code_bytes, item);
    }
  }
}

}  // namespace encode

BLOCKSCALE_KERNEL global_from_amax(FormatDesc format, SchemeDesc scheme, u64 matrices, const u32 *amax_bits, f32 *global) {
  for (u64 matrix = first_item(); matrix < matrices; matrix += item_stride()) {
    global[matrix] = global_scale(format, scheme, from_bits(amax_bits[matrix]));
  }
}

BLOCKSCALE_KERNEL scales_from_amax_any(FormatDesc format, SchemeDesc scheme, u64 matrices, u64 rows, u64 cols,
                                       const u32 *amax_bits, const f32 *global, u64 global_stride, u8 *scales) {
  u64 count = scale_count(format, rows, cols);
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    f32 level = global_of(format.global_kind, global, global_stride, matrix);
    for (u64 block = first_item(); block < count; block += item_stride()) {
      f32 scale = block_scale(format, scheme, from_bits(amax_bits[matrix * count + block]), level);
      store_scale(format.scale, scale, scales + (matrix * count + block) * scale_bytes(format.scale));
    }
  }
}

#define ENCODE_ANY_FROM(T)                                                                                                 \
  BLOCKSCALE_KERNEL amax_##T(u64 matrices, u64 elements, const T *values, u32 *amax_bits) {                                \
    encode::amax(matrices, elements, values, amax_bits);                                                                   \
  }                                                                                                                        \
  BLOCKSCALE_KERNEL amax_blocks_any_##T(FormatDesc format, u64 matrices, u64 rows, u64 cols, const T *values,              \
                                        u32 *amax_bits) {                                                                  \
    encode::amax_blocks(format, matrices, rows, cols, values, amax_bits);                                                  \
  }                                                                                                                        \
  BLOCKSCALE_KERNEL scales_by_search_any_##T(FormatDesc format, SchemeDesc scheme, u64 matrices, u64 rows, u64 cols,       \
                                             const T *values, const u32 *amax_bits, const f32 *global, u64 global_stride,  \
                                             u8 *scales) {                                                                 \
    encode::by_search(format, scheme, matrices, rows, cols, values, amax_bits, global, global_stride, scales);             \
  }                                                                                                                        \
  BLOCKSCALE_KERNEL encode_codes_any_##T(FormatDesc format, SchemeDesc scheme, u64 matrices, u64 rows, u64 cols,           \
                                         const T *values, const u8 *scales, const f32 *global, u64 global_stride,          \
                                         u8 *codes) {                                                                      \
    encode::codes_any(format, scheme, matrices, rows, cols, values, scales, global, global_stride, codes);                 \
  }

ENCODE_ANY_FROM(bf16)
ENCODE_ANY_FROM(f16)
ENCODE_ANY_FROM(f32)
