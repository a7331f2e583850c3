// Scales in tiles of 128 or 8 rows by 4 columns, and back.
#include "layout.cuh"

namespace layout {

// What a block of threads moves: 32 tiles side by side, 128 rows of 128 bytes.
static constexpr u32 TILE_COLS = 128;
static constexpr u32 TILE_PITCH = TILE_COLS / 4 + 1;  // in words

static __device__ __forceinline__ void load_tile(u64 rows, u64 cols, u64 first_row, u64 first_col, u32 order, const u8 *in,
                                                 u32 *tile) {
  if (rows_aligned(in, cols)) {
    Words<4> loaded[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
      u64 place = first_row + threadIdx.x / 8 + i * 32, col = first_col + threadIdx.x % 8 * 16;
      bool inside = place < rows && col < cols;
      loaded[i] = inside ? load<4>(in + row_source(order, rows, place) * cols + col) : Words<4>{0, 0, 0, 0};
    }
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
#pragma unroll
      for (u32 k = 0; k < 4; k++) tile[(threadIdx.x / 8 + i * 32) * TILE_PITCH + threadIdx.x % 8 * 4 + k] = loaded[i].word[k];
    }
    return;
  }
  u8 *bytes = reinterpret_cast<u8 *>(tile);
  for (u32 i = threadIdx.x; i < 128 * TILE_COLS; i += THREADS) {
    u64 place = first_row + i / TILE_COLS, col = first_col + i % TILE_COLS;
    bool inside = place < rows && col < cols;
    bytes[i / TILE_COLS * TILE_PITCH * 4 + i % TILE_COLS] = inside ? in[row_source(order, rows, place) * cols + col] : 0;
  }
}

static __device__ __forceinline__ void store_tile(u64 rows, u64 cols, u64 first_row, u64 first_col, u32 order, const u32 *tile,
                                                  u8 *out) {
  if (rows_aligned(out, cols)) {
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
      u32 in_tile = threadIdx.x / 8 + i * 32;
      u64 place = first_row + in_tile, col = first_col + threadIdx.x % 8 * 16;
      if (place >= rows || col >= cols) continue;
      Words<4> w;
#pragma unroll
      for (u32 k = 0; k < 4; k++) w.word[k] = tile[in_tile * TILE_PITCH + threadIdx.x % 8 * 4 + k];
      store_words(out + row_source(order, rows, place) * cols + col, w);
    }
    return;
  }
  const u8 *bytes = reinterpret_cast<const u8 *>(tile);
  for (u32 i = threadIdx.x; i < 128 * TILE_COLS; i += THREADS) {
    u64 place = first_row + i / TILE_COLS, col = first_col + i % TILE_COLS;
    if (place < rows && col < cols) {
      out[row_source(order, rows, place) * cols + col] = bytes[i / TILE_COLS * TILE_PITCH * 4 + i % TILE_COLS];
    }
  }
}

}  // namespace layout

BLOCKSCALE_KERNEL permute_tiles_128x4(u64 matrices, u64 rows, u64 cols, u32 order, const u8 *in, u8 *out) {
  using namespace layout;
  __shared__ u32 tile[128 * TILE_PITCH];
  u64 tiles = div_ceil(cols, 4), down = div_ceil(rows, 128);
  for_each_tile(matrices, down, div_ceil(cols, TILE_COLS), [&](u64 matrix, u64 row, u64 right) {
    u64 first_col = right * TILE_COLS;
    load_tile(rows, cols, row * 128, first_col, order, in + matrix * rows * cols, tile);
    __syncthreads();
    u8 *to = out + ((matrix * down + row) * tiles + first_col / 4) * 512;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
      u32 index = threadIdx.x + i * THREADS, word = index / 32, of_32 = index % 32;
      if (first_col + word * 4 >= cols) continue;
      Words<4> w;
#pragma unroll
      for (u32 k = 0; k < 4; k++) w.word[k] = tile[(of_32 + 32 * k) * TILE_PITCH + word];
      store_words(to + index * 16, w);
    }
  });
}

BLOCKSCALE_KERNEL unpermute_tiles_128x4(u64 matrices, u64 rows, u64 cols, u32 order, const u8 *in, u8 *out) {
  using namespace layout;
  __shared__ u32 tile[128 * TILE_PITCH];
  u64 tiles = div_ceil(cols, 4), down = div_ceil(rows, 128);
  for_each_tile(matrices, down, div_ceil(cols, TILE_COLS), [&](u64 matrix, u64 row, u64 right) {
    u64 first_col = right * TILE_COLS;
    const u8 *from = in + ((matrix * down + row) * tiles + first_col / 4) * 512;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
      u32 index = threadIdx.x + i * THREADS, word = index / 32, of_32 = index % 32;
      if (first_col + word * 4 >= cols) continue;
      Words<4> w = load<4>(from + index * 16);
#pragma unroll
      for (u32 k = 0; k < 4; k++) tile[(of_32 + 32 * k) * TILE_PITCH + word] = w.word[k];
    }
    __syncthreads();
    store_tile(rows, cols, row * 128, first_col, order, tile, out + matrix * rows * cols);
  });
}

BLOCKSCALE_KERNEL permute_tiles_8x4(u64 matrices, u64 rows, u64 cols, const u8 *in, u8 *out) {
  u64 tiles = div_ceil(cols, 4), down = div_ceil(rows, 8);
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 item = first_item(); item < down * tiles * 8; item += item_stride()) {
      u64 tile = item / 8, row = tile / tiles * 8 + item % 8, col = tile % tiles * 4;
      u32 packed = 0;
      for (u32 k = 0; k < 4 && row < rows && col + k < cols; k++) {
        packed |= (u32)in[(matrix * rows + row) * cols + col + k] << (8 * k);
      }
      reinterpret_cast<u32 *>(out)[matrix * down * tiles * 8 + item] = packed;
    }
  }
}

BLOCKSCALE_KERNEL unpermute_tiles_8x4(u64 matrices, u64 rows, u64 cols, const u8 *in, u8 *out) {
  u64 tiles = div_ceil(cols, 4), down = div_ceil(rows, 8);
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 item = first_item(); item < down * tiles * 8; item += item_stride()) {
      u64 tile = item / 8, row = tile / tiles * 8 + item % 8, col = tile % tiles * 4;
      u32 packed = reinterpret_cast<const u32 *>(in)[matrix * down * tiles * 8 + item];
      for (u32 k = 0; k < 4 && row < rows && col + k < cols; k++) {
        out[(matrix * rows + row) * cols + col + k] = (u8)(packed >> (8 * k));
      }
    }
  }
}
