// Codes to numbers.
//
// A thread has pieces of 8 codes (16 where the chip stores 32 bytes at once), a constant distance apart, so that each access of a
// warp covers consecutive bytes and several are in flight. What decides the speed beside memory is the number of instructions: what
// is whole goes without a test of bounds, and only under scales that are not finite the definition is gone through, element by element.
#include "arith/generic.cuh"
#include "device.cuh"

namespace decode {

#if defined(BLOCKSCALE_HAS_WIDE)
constexpr int PIECE = 16;
#else
constexpr int PIECE = 8;
#endif

struct OfE2m1 {
  static constexpr u32 ELEMENT = E2M1;
  static constexpr int BITS = 4;
  static __device__ __forceinline__ bool has_nan(const u32 *) { return false; }
  static constexpr u32 NAN_OFFSET = 0;
  static __device__ __forceinline__ void values(const u32 *codes, f32 (&out)[8]) { e2m1_values(codes[0], out); }
};

struct OfE4m3 {
  static constexpr u32 ELEMENT = E4M3FN;
  static constexpr int BITS = 8;
  static __device__ __forceinline__ bool has_nan(const u32 *codes) { return e4m3_has_nan(codes[0]) | e4m3_has_nan(codes[1]); }
  static constexpr u32 NAN_OFFSET = 0x01010101;
  static __device__ __forceinline__ void values(const u32 *codes, f32 (&out)[8]) {
    e4m3_values(codes[0], out);
    e4m3_values(codes[1], out + 4);
  }
};

struct OfE5m2 {
  static constexpr u32 ELEMENT = E5M2;
  static constexpr int BITS = 8;
  static __device__ __forceinline__ bool has_nan(const u32 *codes) { return e5m2_has_nan(codes[0]) | e5m2_has_nan(codes[1]); }
  static constexpr u32 NAN_OFFSET = 0x03030303;
  static __device__ __forceinline__ void values(const u32 *codes, f32 (&out)[8]) {
    e5m2_values(codes[0], out);
    e5m2_values(codes[1], out + 4);
  }
};

static __device__ __forceinline__ u32 quiet_nan(bf16) { return 0x7fc0; }
static __device__ __forceinline__ u32 quiet_nan(f16) { return 0x7e00; }

template <typename T>
static __device__ __forceinline__ void to_words(T, const f32 (&v)[8], u32 *words) {
#pragma unroll
  for (int i = 0; i < 4; i++) words[i] = round_pair(T(), v[2 * i], v[2 * i + 1]);
}

static __device__ __forceinline__ void to_words(f32, const f32 (&v)[8], u32 *words) {
#pragma unroll
  for (int i = 0; i < 8; i++) words[i] = bits_of(v[i]);
}

// A permutation of bytes where a select nibble with its top bit set fills the byte with the sign of the one it picks.
static __device__ __forceinline__ u32 permute_signs(u32 low, u32 high, u32 select) {
  u32 result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(select));
  return result;
}

// A device drops the sign of NaN: puts it back. NAN_OFFSET brings the magnitudes of NaN, and no others, to 0x80 or more.
template <typename Code, typename T>
static __device__ __forceinline__ void restore_nan(T, const u32 *codes, u32 *words) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    u32 of_four = codes[i / 2], nans = (of_four & 0x7f7f7f7f) + Code::NAN_OFFSET;
    u32 mask = permute_signs(nans, 0, i % 2 == 0 ? 0x9988 : 0xbbaa);
    u32 signs = permute_signs(of_four, 0, i % 2 == 0 ? 0x1404 : 0x3424) & 0x80008000;
    words[i] = (words[i] & ~mask) | ((signs | quiet_nan(T()) * 0x10001) & mask);
  }
}

template <typename Code>
static __device__ __forceinline__ void restore_nan(f32, const u32 *codes, u32 *words) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    u32 code = codes[i / 4] >> (i % 4 * 8);
    if ((code & 0x7f) + (Code::NAN_OFFSET & 0xff) >= 0x80) words[i] = NAN_BITS | (code & 0x80) << 24;
  }
}

// The definition, with the NaN that it has.
template <typename Code, typename Scale, typename T>
static __device__ __noinline__ void by_element(u32 codes, Scale scale, u32 stored, T *out) {
  f32 exact = scale.exact(stored);
  for (int i = 0; i < 32 / Code::BITS; i++) {
    store_real(out + i, product(widen(Code::ELEMENT, codes >> (i * Code::BITS)), exact));
  }
}

struct ToGlobal {
  template <int N>
  static __device__ __forceinline__ void words(void *at, const u32 *words) {
    store_array<N>(at, words);
  }
};

#if defined(BLOCKSCALE_HAS_BULK)
struct ToShared {
  template <int N>
  static __device__ __forceinline__ void words(void *at, const u32 *words) {
#pragma unroll
    for (int i = 0; i < N / 4; i++) {
      static_cast<uint4 *>(at)[i] = make_uint4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
    }
  }
};
#endif

// One piece under a finite scale. `Store` takes its words.
template <typename Code, typename Store, typename T>
static __device__ __forceinline__ void piece(const u32 *codes, f32 scale, T *out) {
  constexpr int EIGHT = 2 * sizeof(T), OF_EIGHT = Code::BITS / 4;
  u32 words[PIECE / 8 * EIGHT];
#pragma unroll
  for (int i = 0; i < PIECE / 8; i++) {
    f32 values[8];
    Code::values(codes + i * OF_EIGHT, values);
#pragma unroll
    for (int k = 0; k < 8; k++) values[k] = values[k] * scale;
    to_words(T(), values, words + i * EIGHT);
    if (Code::has_nan(codes + i * OF_EIGHT)) restore_nan<Code>(T(), codes + i * OF_EIGHT, words + i * EIGHT);
  }
  Store::template words<PIECE / 8 * EIGHT>(out, words);
}

// Several pieces, `apart` numbers apart, each under its scale: `quick[i]`, which is that of `stored[i]` but for the sort of NaN.
template <typename Code, typename Store, int PIECES, typename Scale, typename T>
static __device__ __forceinline__ void pieces(const Words<PIECE * Code::BITS / 32> (&loaded)[PIECES], const f32 (&quick)[PIECES],
                                              const Scale &scale, const u32 (&stored)[PIECES], T *out, u64 apart) {
  constexpr int WORDS = PIECE * Code::BITS / 32;
  bool finite = true;
#pragma unroll
  for (int i = 0; i < PIECES; i++) finite &= magnitude_of(quick[i]) <= F32_MAX;
  if (finite) {
#pragma unroll
    for (int i = 0; i < PIECES; i++) piece<Code, Store>(loaded[i].word, quick[i], out + i * apart);
  } else {
#pragma unroll
    for (int i = 0; i < PIECES * WORDS; i++) {
      T *to = out + i / WORDS * apart + i % WORDS * (PIECE / WORDS);
      by_element<Code>(loaded[i / WORDS].word[i % WORDS], scale, stored[i / WORDS], to);
    }
  }
}

// The scale of a block of NVFP4.
struct Nvfp4Scale {
  TwoLevels levels;
  __device__ __forceinline__ f32 quick(u32 stored) const { return levels.quick(e4m3_value(stored)); }
  __device__ __forceinline__ f32 exact(u32 stored) const {
    return combine(levels.global_kind, widen(E4M3FN, stored), levels.global);
  }
};

struct MxScale {
  __device__ __forceinline__ f32 quick(u32 stored) const {
    // 0 and 255 alone are not exponents.
    return stored - 1 < 254 ? from_bits(stored << 23) : e8m0_value(stored);
  }
  __device__ __forceinline__ f32 exact(u32 stored) const { return e8m0_value(stored); }
};

// A scale that is an F32 already, by its bits.
struct F32Scale {
  __device__ __forceinline__ f32 quick(u32 stored) const { return from_bits(stored); }
  __device__ __forceinline__ f32 exact(u32 stored) const { return from_bits(stored); }
};

// 4-bit codes under scales of `BLOCK` columns: one run of pieces, one of scales. Nearly all bytes are written; where there is a
// copy engine, a warp has consecutive pieces and hands their numbers to it.
template <typename Code, int BLOCK, typename Scale, typename T>
static __device__ __forceinline__ void run(u64 elements, const u8 *codes, const u8 *scales, Scale scale, T *out) {
  constexpr int IN_FLIGHT = 4, BYTES = PIECE * Code::BITS / 8, CHUNK = THREADS * IN_FLIGHT;
  u64 count = elements / PIECE, whole = count / CHUNK;
#if defined(BLOCKSCALE_HAS_BULK)
  constexpr int APART = 32, OF_WARP = 32 * IN_FLIGHT * PIECE;
  __shared__ __align__(128) T staged[CHUNK * PIECE];
  T *of_warp = staged + threadIdx.x / 32 * OF_WARP;
  u32 lane = threadIdx.x % 32, in_chunk = threadIdx.x / 32 * (32 * IN_FLIGHT) + lane;
#else
  constexpr int APART = THREADS;
  u32 in_chunk = threadIdx.x;
#endif
  for (u64 chunk = blockIdx.x; chunk < whole; chunk += gridDim.x) {
    u64 at = chunk * CHUNK + in_chunk;
    const u8 *from = codes + at * BYTES, *scale_at = scales + at * PIECE / BLOCK;
    T *to = out + at * PIECE;
    Words<BYTES / 4> loaded[IN_FLIGHT];
    u32 stored[IN_FLIGHT];
    f32 quick[IN_FLIGHT];
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; i++) loaded[i] = load<BYTES / 4>(from + i * APART * BYTES);
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; i++) stored[i] = __ldg(scale_at + i * APART * PIECE / BLOCK);
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; i++) quick[i] = scale.quick(stored[i]);
#if defined(BLOCKSCALE_HAS_BULK)
    if (lane == 0) wait_until_read();
    __syncwarp();
    pieces<Code, ToShared>(loaded, quick, scale, stored, of_warp + lane * PIECE, APART * PIECE);
    publish_shared();
    __syncwarp();
    if (lane == 0) store_bulk(to, of_warp, OF_WARP * sizeof(T));
#else
    pieces<Code, ToGlobal>(loaded, quick, scale, stored, to, APART * PIECE);
#endif
  }
#if defined(BLOCKSCALE_HAS_BULK)
  if (lane == 0) wait_until_read();
#endif
  if (whole % gridDim.x != blockIdx.x) return;
  for (u64 at = whole * CHUNK + threadIdx.x; at < count; at += THREADS) {
    Words<BYTES / 4> loaded[1] = {load<BYTES / 4>(codes + at * BYTES)};
    u32 stored[1] = {__ldg(scales + at * PIECE / BLOCK)};
    f32 quick[1] = {scale.quick(stored[0])};
    pieces<Code, ToGlobal>(loaded, quick, scale, stored, out + at * PIECE, 0);
  }
}

template <typename T>
static __device__ __forceinline__ void nvfp4(u64 matrices, u64 rows, u64 cols, u32 global_kind, const u8 *codes,
                                             const u8 *scales, const f32 *global, u64 global_stride, T *out) {
  u64 elements = rows * cols;
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    Nvfp4Scale scale = {two_levels(global_kind, global_of(global_kind, global, global_stride, matrix))};
    run<OfE2m1, 16>(elements, codes + matrix * (elements / 2), scales + matrix * (elements / 16), scale, out + matrix * elements);
  }
}

// 8-bit codes: a block of threads has 16 rows of 1024 columns, a thread one piece of every other row. Rows are far apart, which
// memory likes better than one run. `stored_at(row, col)` is the scale of a piece, asked for once where 16 rows have the same.
template <typename Code, bool SAME_SCALE, typename Scale, typename T, typename StoredAt>
static __device__ __forceinline__ void by_rows(u64 rows, u64 cols, const u8 *codes, Scale scale, T *out, StoredAt stored_at) {
  constexpr int ACROSS = 1024 / PIECE, ROWS_AT_ONCE = THREADS / ACROSS, PIECES = 16 / ROWS_AT_ONCE, WORDS = PIECE / 4;
  u64 right = div_ceil(cols, 1024), down = div_ceil(rows, 16);
  for (u64 tile = blockIdx.x; tile < down * right; tile += gridDim.x) {
    u64 row, col;
    split(tile, right, row, col);
    row = row * 16 + threadIdx.x / ACROSS;
    col = col * 1024 + threadIdx.x % ACROSS * PIECE;
    if (col >= cols || row >= rows) continue;
    u64 at = row * cols + col, step = ROWS_AT_ONCE * cols;
    if (row + (PIECES - 1) * ROWS_AT_ONCE < rows) {
      Words<WORDS> loaded[PIECES];
      u32 stored[PIECES];
      f32 quick[PIECES];
#pragma unroll
      for (int i = 0; i < PIECES; i++) loaded[i] = load<WORDS>(codes + at + i * step);
#pragma unroll
      for (int i = 0; i < PIECES; i++) stored[i] = SAME_SCALE && i > 0 ? stored[0] : stored_at(row + i * ROWS_AT_ONCE, col);
#pragma unroll
      for (int i = 0; i < PIECES; i++) quick[i] = scale.quick(stored[i]);
      pieces<Code, ToGlobal>(loaded, quick, scale, stored, out + at, step);
      continue;
    }
    for (; row < rows; row += ROWS_AT_ONCE, at += step) {
      Words<WORDS> loaded[1] = {load<WORDS>(codes + at)};
      u32 stored[1] = {stored_at(row, col)};
      f32 quick[1] = {scale.quick(stored[0])};
      pieces<Code, ToGlobal>(loaded, quick, scale, stored, out + at, 0);
    }
  }
}

template <typename Code, typename T>
static __device__ __forceinline__ void mx(u64 matrices, u64 rows, u64 cols, const u8 *codes, const u8 *scales, T *out) {
  u64 elements = rows * cols;
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    const u8 *from = codes + matrix * (elements / 8 * Code::BITS), *scale_at = scales + matrix * (elements / 32);
    if constexpr (Code::BITS == 4) {
      run<Code, 32>(elements, from, scale_at, MxScale(), out + matrix * elements);
    } else {
      auto stored_at = [=](u64 row, u64 col) { return (u32)__ldg(scale_at + (row * cols + col) / 32); };
      by_rows<Code, false>(rows, cols, from, MxScale(), out + matrix * elements, stored_at);
    }
  }
}

template <u32 SCALE, typename T>
static __device__ __forceinline__ void fp8_block(u64 matrices, u64 rows, u64 cols, const u8 *codes, const u8 *scales,
                                                 T *out) {
  u64 across = div_ceil(cols, 128), of_matrix = div_ceil(rows, 128) * across;
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    u64 start = matrix * rows * cols;
    auto block_of = [=](u64 row, u64 col) { return matrix * of_matrix + row / 128 * across + col / 128; };
    if constexpr (SCALE == SCALE_F32) {
      auto stored_at = [=](u64 row, u64 col) { return __ldg(reinterpret_cast<const u32 *>(scales) + block_of(row, col)); };
      by_rows<OfE4m3, true>(rows, cols, codes + start, F32Scale(), out + start, stored_at);
    } else {
      auto stored_at = [=](u64 row, u64 col) { return (u32)__ldg(scales + block_of(row, col)); };
      by_rows<OfE4m3, true>(rows, cols, codes + start, MxScale(), out + start, stored_at);
    }
  }
}

template <typename T>
static __device__ __forceinline__ void any(const FormatDesc &format, u64 matrices, u64 rows, u64 cols, const u8 *codes,
                                           const u8 *scales, const f32 *global, u64 global_stride, T *out) {
  u64 code_bytes = rows * row_bytes(code_stride(format), cols);
  u64 scale_bytes_each = scale_count(format, rows, cols) * scale_bytes(format.scale);
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    f32 level = global_of(format.global_kind, global, global_stride, matrix);
    for (u64 item = first_item(); item < rows * div_ceil(cols, 8); item += item_stride()) {
      decode_eight(format, cols, codes + matrix * code_bytes, scales + matrix * scale_bytes_each, level,
                   out + matrix * rows * cols, item);
    }
  }
}

}  // namespace decode

#define DECODE_TO(T)                                                                                                      \
  BLOCKSCALE_KERNEL_OF(5) decode_nvfp4_to_##T(u64 matrices, u64 rows, u64 cols, u32 global_kind, const u8 *codes,               \
                                        const u8 *scales, const f32 *global, u64 global_stride, T *out) {                 \
    decode::nvfp4(matrices, rows, cols, global_kind, codes, scales, global, global_stride, out);                          \
  }                                                                                                                       \
  BLOCKSCALE_KERNEL_OF(5) decode_mxfp4_to_##T(u64 matrices, u64 rows, u64 cols, const u8 *codes, const u8 *scales, T *out) {    \
    decode::mx<decode::OfE2m1>(matrices, rows, cols, codes, scales, out);                                                 \
  }                                                                                                                       \
  BLOCKSCALE_KERNEL_OF(4) decode_mxfp8_e4m3_to_##T(u64 matrices, u64 rows, u64 cols, const u8 *codes, const u8 *scales,         \
                                             T *out) {                                                                    \
    decode::mx<decode::OfE4m3>(matrices, rows, cols, codes, scales, out);                                                 \
  }                                                                                                                       \
  BLOCKSCALE_KERNEL_OF(4) decode_mxfp8_e5m2_to_##T(u64 matrices, u64 rows, u64 cols, const u8 *codes, const u8 *scales,         \
                                             T *out) {                                                                    \
    decode::mx<decode::OfE5m2>(matrices, rows, cols, codes, scales, out);                                                 \
  }                                                                                                                       \
  BLOCKSCALE_KERNEL_OF(4) decode_fp8_block_f32_to_##T(u64 matrices, u64 rows, u64 cols, const u8 *codes, const u8 *scales,      \
                                                T *out) {                                                                 \
    decode::fp8_block<SCALE_F32>(matrices, rows, cols, codes, scales, out);                                               \
  }                                                                                                                       \
  BLOCKSCALE_KERNEL_OF(4) decode_fp8_block_ue8m0_to_##T(u64 matrices, u64 rows, u64 cols, const u8 *codes, const u8 *scales,    \
                                                  T *out) {                                                               \
    decode::fp8_block<SCALE_E8M0>(matrices, rows, cols, codes, scales, out);                                              \
  }                                                                                                                       \
  BLOCKSCALE_KERNEL decode_any_to_##T(FormatDesc format, u64 matrices, u64 rows, u64 cols, const u8 *codes,               \
                                      const u8 *scales, const f32 *global, u64 global_stride, T *out) {                   \
    decode::any(format, matrices, rows, cols, codes, scales, global, global_stride, out);                                 \
  }

DECODE_TO(bf16)
DECODE_TO(f16)
DECODE_TO(f32)
