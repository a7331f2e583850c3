// Marlin's orders of codes and scales, and back.
#include "layout.cuh"

namespace layout {

// What a block of threads moves: 64 rows of 256 codes, 16 of Marlin's tiles.
static constexpr u32 MARLIN_BYTES = 128;
static constexpr u32 MARLIN_PITCH = MARLIN_BYTES + 8;

// The low nibbles of four bytes, then the high ones.
static __device__ __forceinline__ u32 gather_nibbles(u32 bytes) {
  u32 low = bytes & 0x0f0f0f0f, high = bytes >> 4 & 0x0f0f0f0f;
  low |= low >> 4;
  high |= high >> 4;
  return permute_bytes(low, high, 0x6420);
}

static __device__ __forceinline__ void marlin_tile(u64 rows, u64 row_bytes, u64 padded_rows, u64 padded_cols, u64 first_row,
                                                   u64 first_byte, const u8 *in, u8 *out, u8 *tile) {
  bool aligned = rows_aligned(in, row_bytes);
#pragma unroll
  for (u32 i = 0; i < 2; i++) {
    u32 index = threadIdx.x + i * THREADS;
    u64 row = first_row + index / 8, byte = first_byte + index % 8 * 16;
    Words<4> w = {0, 0, 0, 0};
    if (row < rows && byte < row_bytes) {
      const u8 *from = in + row * row_bytes + byte;
      if (aligned) {
        w = load<4>(from);
      } else {
#pragma unroll
        for (u32 k = 0; k < 16; k++) {
          if (byte + k < row_bytes) w.word[k / 4] |= (u32)from[k] << (k % 4 * 8);
        }
      }
    }
    uint2 *to = reinterpret_cast<uint2 *>(tile + index / 8 * MARLIN_PITCH + index % 8 * 16);
    to[0] = make_uint2(w.word[0], w.word[1]);
    to[1] = make_uint2(w.word[2], w.word[3]);
  }
  __syncthreads();
  u32 thread = threadIdx.x % 32, byte = thread % 4, select = byte | (byte + 4) << 4;
#pragma unroll
  for (u32 i = 0; i < 2; i++) {
    u32 of_tile = threadIdx.x / 32 + i * 8;
    u64 col_tile = first_byte / 8 + of_tile;
    if (col_tile * 16 >= padded_cols) continue;
    Words<4> w;
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
      u32 row = 16 * j + thread / 4;
      uint2 upper = *reinterpret_cast<const uint2 *>(tile + row * MARLIN_PITCH + of_tile * 8);
      uint2 lower = *reinterpret_cast<const uint2 *>(tile + (row + 8) * MARLIN_PITCH + of_tile * 8);
      u32 first = permute_bytes(upper.x, upper.y, select), second = permute_bytes(lower.x, lower.y, select);
      w.word[j] = gather_nibbles(permute_bytes(first, second, 0x5410));
    }
    store_words(out + col_tile * padded_rows * 8 + first_row * 8 + thread * 16, w);
  }
}

}  // namespace layout

BLOCKSCALE_KERNEL repack_marlin_codes(u64 matrices, u64 rows, u64 row_bytes, u64 padded_rows, u64 padded_cols, const u8 *in,
                                      u8 *out) {
  using namespace layout;
  __shared__ __align__(16) u8 tile[64 * MARLIN_PITCH];
  for_each_tile(matrices, padded_rows / 64, div_ceil(padded_cols, 2 * MARLIN_BYTES), [&](u64 matrix, u64 down, u64 right) {
    marlin_tile(rows, row_bytes, padded_rows, padded_cols, down * 64, right * MARLIN_BYTES, in + matrix * rows * row_bytes,
                out + matrix * padded_rows * padded_cols / 2, tile);
  });
}

BLOCKSCALE_KERNEL unpack_marlin_codes(u64 matrices, u64 rows, u64 row_bytes, u64 padded_rows, u64 padded_cols, const u8 *in,
                                      u8 *out) {
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    const u8 *from = in + matrix * padded_rows * padded_cols / 2;
    for (u64 item = first_item(); item < rows * row_bytes; item += item_stride()) {
      u64 row = item / row_bytes, byte = item % row_bytes;
      u32 found = 0;
      for (u32 half = 0; half < 2; half++) {
        u64 nibble = marlin_row_offset(row) + marlin_col_offset(padded_rows, 2 * byte + half);
        found |= (from[nibble / 2] >> (nibble % 2 * 4) & 0xf) << (4 * half);
      }
      out[matrix * rows * row_bytes + item] = (u8)found;
    }
  }
}

BLOCKSCALE_KERNEL permute_marlin_scales(u64 matrices, u64 rows, u64 cols, u64 padded_rows, u64 padded_cols, u32 coding,
                                        const u8 *in, u8 *out, u64 *first_bad) {
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 item = first_item(); item < padded_rows * padded_cols; item += item_stride()) {
      u64 col = item / padded_rows, row = marlin_scale_source(item % padded_rows);
      u32 stored = 0;
      if (row < rows && col < cols) {
        u64 index = (matrix * rows + row) * cols + col;
        stored = coding == 0 ? in[index] : s0e5m3_of_e4m3(in[index]);
        if (stored > 255) layout::lower(first_bad, index);
      }
      out[matrix * padded_rows * padded_cols + item] = (u8)stored;
    }
  }
}

BLOCKSCALE_KERNEL unpermute_marlin_scales(u64 matrices, u64 rows, u64 cols, u64 padded_rows, u64 padded_cols, u32 coding,
                                          const u8 *in, u8 *out, u64 *) {
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 item = first_item(); item < rows * cols; item += item_stride()) {
      u64 row = item / cols, col = item % cols;
      u32 stored = in[matrix * padded_rows * padded_cols + col * padded_rows + marlin_scale_place(row)];
      out[matrix * rows * cols + item] = (u8)(coding == 0 ? stored : e4m3_of_s0e5m3(stored));
    }
  }
}
