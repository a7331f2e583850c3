// DeepGEMM's orders of scales: F32 and packed UE8M0, column by column, and back.
#include "layout.cuh"

namespace layout {

static constexpr u32 COLUMN_ROWS = 128;

// Columns of a tile: whole rows where they are short.
static __device__ __forceinline__ u32 width_of(u64 cols, u64 first, u32 most) { return (u32)min_u64(most, cols - first); }

// Writes a column of shared memory, a multiple of four words, on 16 bytes where they are.
static __device__ __forceinline__ void store_column(const u32 *column, u32 *out, u32 count, u32 lane) {
  if (reinterpret_cast<u64>(out) % 16 == 0) {
    for (u32 i = lane * 4; i < count; i += 128) {
      store_words(out + i, Words<4>{column[i], column[i + 1], column[i + 2], column[i + 3]});
    }
    return;
  }
  for (u32 i = lane; i < count; i += 32) out[i] = column[i];
}

static __device__ __noinline__ u32 slow_packed(u32 a, u32 b, u32 c, u32 d, u64 index, u32 count, u64 *first_bad) {
  u32 word = 0;
  for (u32 k = 0; k < count; k++) {
    f32 scale = from_bits(k == 0 ? a : k == 1 ? b : k == 2 ? c : d);
    u32 code = e8m0_ceil(scale);
    if (e8m0_value(code) != scale) lower(first_bad, index + k);
    word |= code << (8 * k);
  }
  return word;
}

// Four scales of a row, as they are stored, and as the bytes of a word: their exponents, where they are powers of two.
struct FourOfF32 {
  Words<4> raw;
  __device__ __forceinline__ void load_aligned(const f32 *at) { raw = load<4>(at); }
  __device__ __forceinline__ void load_from(const f32 *in, u64 index, u32 count) {
#pragma unroll
    for (u32 k = 0; k < 4; k++) raw.word[k] = k < count ? bits_of(in[index + k]) : 0;
  }
  // The word, where all four are powers of two from 2^-126 up: their exponent fields.
  __device__ __forceinline__ bool quick(u32 &word) const {
    u32 fractions = 0, largest = 0;
    word = 0;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
      fractions |= raw.word[k] & ~(0xffu << 23);
      largest = max_u32(largest, raw.word[k] - (1u << 23));
      word |= raw.word[k] >> 23 << (8 * k);
    }
    return fractions == 0 && largest <= 253u << 23;
  }
  __device__ __forceinline__ u32 packed(u64 index, u32 count, u64 *first_bad) const {
    return slow_packed(raw.word[0], raw.word[1], raw.word[2], raw.word[3], index, count, first_bad);
  }
};

struct FourOfU8 {
  u32 word;
  __device__ __forceinline__ void load_aligned(const u8 *at) { word = load<1>(at).word[0]; }
  __device__ __forceinline__ void load_from(const u8 *in, u64 index, u32 count) {
    word = 0;
    for (u32 k = 0; k < count; k++) word |= (u32)in[index + k] << (8 * k);
  }
  __device__ __forceinline__ bool quick(u32 &packed) const {
    packed = word;
    return true;
  }
  __device__ __forceinline__ u32 packed(u64, u32, u64 *) const { return word; }
};

template <typename Four, typename S>
static __device__ __forceinline__ void pack_words(u64 matrices, u64 rows, u64 cols, u64 rows_per_scale, u32 order, const S *in,
                                                  u32 *out, u64 *first_bad) {
  constexpr u32 WORDS = 32, PITCH = COLUMN_ROWS + 1;
  __shared__ u32 tile[WORDS * PITCH];
  u64 words = div_ceil(cols, 4), padded = padded_words(rows), source_rows = div_ceil(rows, rows_per_scale);
  bool aligned = cols % 4 == 0 && reinterpret_cast<u64>(in) % 16 == 0;
  for_each_tile(matrices, div_ceil(padded, COLUMN_ROWS), div_ceil(words, WORDS), [&](u64 matrix, u64 down, u64 right) {
    u64 first_row = down * COLUMN_ROWS, first_word = right * WORDS;
    u32 width = width_of(words, first_word, WORDS), height = (u32)min_u64(COLUMN_ROWS, padded - first_row);
    // Threads of a row: a power of two, so that no thread divides. Eight words are in flight.
    constexpr u32 IN_FLIGHT = 8;
    u32 shift = width <= 8 ? 3 : width <= 16 ? 4 : 5, word = threadIdx.x & ((1u << shift) - 1), apart = THREADS >> shift;
    u32 count = (u32)min_u64(4, cols - (first_word + word) * 4);
    bool in_line = aligned && order == ORDER_STAYS && rows_per_scale == 1 && first_row + COLUMN_ROWS <= rows;
    for (u32 first = threadIdx.x >> shift; first < height && word < width; first += IN_FLIGHT * apart) {
      bool done = in_line;
      if (in_line) {
        Four four[IN_FLIGHT];
        const S *from = in + (matrix * rows + first_row + first) * cols + (first_word + word) * 4;
#pragma unroll
        for (u32 i = 0; i < IN_FLIGHT; i++) {
          if (first + i * apart < COLUMN_ROWS) four[i].load_aligned(from + i * apart * cols);
        }
#pragma unroll
        for (u32 i = 0; i < IN_FLIGHT; i++) {
          u32 row = first + i * apart;
          if (row < COLUMN_ROWS) done &= four[i].quick(tile[word * PITCH + row]);
        }
      }
      if (done) continue;
      for (u32 row = first; row < min_u32(COLUMN_ROWS, first + IN_FLIGHT * apart); row += apart) {
        u64 place = first_row + row;
        u32 packed = 0;
        if (place < rows) {
          u64 source = row_source(order, rows, place) / rows_per_scale;
          u64 index = (matrix * source_rows + source) * cols + (first_word + word) * 4;
          Four four;
          four.load_from(in, index, count);
          packed = four.packed(index, count, first_bad);
        }
        tile[word * PITCH + row] = packed;
      }
    }
    __syncthreads();
    for (u32 word = threadIdx.x / 32; word < width; word += THREADS / 32) {
      u32 *to = out + (matrix * words + first_word + word) * padded + first_row;
      store_column(tile + word * PITCH, to, height, threadIdx.x % 32);
    }
  });
}

template <typename S>
static __device__ __forceinline__ S of_exponent(u32 code);
template <>
__device__ __forceinline__ f32 of_exponent<f32>(u32 code) {
  return e8m0_value(code);
}
template <>
__device__ __forceinline__ u8 of_exponent<u8>(u32 code) {
  return (u8)code;
}

template <typename S>
static __device__ __forceinline__ void unpack_words(u64 matrices, u64 rows, u64 cols, u64 rows_per_scale, u32 order,
                                                    const u32 *in, S *out, u64 *first_bad) {
  u64 words = div_ceil(cols, 4), padded = padded_words(rows), out_rows = div_ceil(rows, rows_per_scale);
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 item = first_item(); item < rows * words; item += item_stride()) {
      u64 word, row;
      split(item, rows, word, row);
      const u32 *column = in + (matrix * words + word) * padded;
      u32 packed = column[row_place(order, rows, row)];
      u64 first = row / rows_per_scale * rows_per_scale;
      u32 expected = row == first ? packed : column[row_place(order, rows, first)];
      for (u32 k = 0; k < 4 && word * 4 + k < cols; k++) {
        u64 col = word * 4 + k;
        u32 code = packed >> (8 * k) & 0xff;
        if (row == first) out[(matrix * out_rows + row / rows_per_scale) * cols + col] = of_exponent<S>(code);
        if (code != (expected >> (8 * k) & 0xff)) lower(first_bad, (matrix * rows + row) * cols + col);
      }
    }
  }
}

}  // namespace layout

BLOCKSCALE_KERNEL pack_deepgemm_f32(u64 matrices, u64 rows, u64 cols, const f32 *in, f32 *out) {
  using namespace layout;
  // Columns of shared memory begin on 16 bytes, so that four rows of one are stored at once.
  constexpr u32 ROWS = COLUMN_ROWS, COLS = 64, PITCH = ROWS + 4, QUADS = ROWS / 4 * (COLS / 4);
  __shared__ __align__(16) u32 tile[COLS * PITCH];
  u64 padded = padded_words(rows);
  bool aligned = cols % 4 == 0 && reinterpret_cast<u64>(in) % 16 == 0;
  for_each_tile(matrices, div_ceil(padded, ROWS), div_ceil(cols, COLS), [&](u64 matrix, u64 down, u64 right) {
    u64 first_row = down * ROWS, first_col = right * COLS;
    u32 width = width_of(cols, first_col, COLS), height = (u32)min_u64(ROWS, padded - first_row);
    const f32 *from = in + (matrix * rows + first_row) * cols + first_col;
    if (aligned && first_row + ROWS <= rows) {
      // A thread has squares of four rows by four columns, and turns each in registers.
#pragma unroll
      for (u32 square = threadIdx.x; square < QUADS; square += THREADS) {
        u32 col = square % (COLS / 4) * 4, row = square / (COLS / 4) * 4;
        if (col >= width) continue;
        Words<4> line[4];
#pragma unroll
        for (u32 i = 0; i < 4; i++) line[i] = load<4>(from + (row + i) * cols + col);
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
          *reinterpret_cast<uint4 *>(tile + (col + i) * PITCH + row) =
              make_uint4(line[0].word[i], line[1].word[i], line[2].word[i], line[3].word[i]);
        }
      }
    } else {
#pragma unroll 4
      for (u32 i = threadIdx.x; i < ROWS * COLS; i += THREADS) {
        u32 row = i / COLS, col = i % COLS;
        tile[col * PITCH + row] = first_row + row < rows && col < width ? bits_of(from[row * cols + col]) : 0;
      }
    }
    __syncthreads();
    for (u32 col = threadIdx.x / 32; col < width; col += THREADS / 32) {
      u32 *to = reinterpret_cast<u32 *>(out) + (matrix * cols + first_col + col) * padded + first_row;
      store_column(tile + col * PITCH, to, height, threadIdx.x % 32);
    }
  });
}

BLOCKSCALE_KERNEL unpack_deepgemm_f32(u64 matrices, u64 rows, u64 cols, const f32 *in, f32 *out) {
  using namespace layout;
  constexpr u32 COLS = 64, PITCH = COLUMN_ROWS + 1;
  __shared__ u32 tile[COLS * PITCH];
  u64 padded = padded_words(rows);
  for_each_tile(matrices, div_ceil(rows, COLUMN_ROWS), div_ceil(cols, COLS), [&](u64 matrix, u64 down, u64 right) {
    u64 first_row = down * COLUMN_ROWS, first_col = right * COLS;
    u32 width = width_of(cols, first_col, COLS), height = (u32)min_u64(COLUMN_ROWS, rows - first_row);
    for (u32 col = threadIdx.x / 32; col < width; col += THREADS / 32) {
      const f32 *from = in + (matrix * cols + first_col + col) * padded + first_row;
      for (u32 i = threadIdx.x % 32; i < height; i += 32) tile[col * PITCH + i] = bits_of(from[i]);
    }
    __syncthreads();
#pragma unroll 4
    for (u32 i = threadIdx.x; i < height * width; i += THREADS) {
      u64 row = first_row + i / width, col = first_col + i % width;
      out[(matrix * rows + row) * cols + col] = from_bits(tile[i % width * PITCH + i / width]);
    }
  });
}

BLOCKSCALE_KERNEL pack_deepgemm_ue8m0_from_f32(u64 matrices, u64 rows, u64 cols, u64 rows_per_scale, u32 order, const f32 *in,
                                               u32 *out, u64 *first_bad) {
  layout::pack_words<layout::FourOfF32>(matrices, rows, cols, rows_per_scale, order, in, out, first_bad);
}

BLOCKSCALE_KERNEL pack_deepgemm_ue8m0_from_ue8m0(u64 matrices, u64 rows, u64 cols, u64 rows_per_scale, u32 order, const u8 *in,
                                                 u32 *out) {
  layout::pack_words<layout::FourOfU8>(matrices, rows, cols, rows_per_scale, order, in, out, nullptr);
}

BLOCKSCALE_KERNEL unpack_deepgemm_ue8m0_to_f32(u64 matrices, u64 rows, u64 cols, u64 rows_per_scale, u32 order, const u32 *in,
                                               f32 *out, u64 *first_bad) {
  layout::unpack_words(matrices, rows, cols, rows_per_scale, order, in, out, first_bad);
}

BLOCKSCALE_KERNEL unpack_deepgemm_ue8m0_to_ue8m0(u64 matrices, u64 rows, u64 cols, u64 rows_per_scale, u32 order, const u32 *in,
                                                 u8 *out, u64 *first_bad) {
  layout::unpack_words(matrices, rows, cols, rows_per_scale, order, in, out, first_bad);
}
