// Whole rows of codes or scales to other places, and back.
#include "layout.cuh"

namespace layout {

template <bool FORWARD>
static __device__ __forceinline__ void move_rows(u64 matrices, u64 rows, u64 row_bytes, u32 order, const u8 *in, u8 *out) {
  constexpr int IN_FLIGHT = 4;
  u64 across = row_bytes / 16, vectors = rows * across;
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    const u8 *from = in + matrix * rows * row_bytes;
    u8 *to = out + matrix * rows * row_bytes;
    for (u64 first = (u64)blockIdx.x * (THREADS * IN_FLIGHT) + threadIdx.x; first < vectors;
         first += (u64)gridDim.x * (THREADS * IN_FLIGHT)) {
      Words<4> loaded[IN_FLIGHT];
#pragma unroll
      for (int i = 0; i < IN_FLIGHT; i++) {
        u64 at = first + i * THREADS, row, col;
        if (at >= vectors) continue;
        split(at, across, row, col);
        u64 source = FORWARD ? row_source(order, rows, row) : row_place(order, rows, row);
        loaded[i] = load<4>(from + (source * across + col) * 16);
      }
#pragma unroll
      for (int i = 0; i < IN_FLIGHT; i++) {
        u64 at = first + i * THREADS;
        if (at < vectors) store_words(to + at * 16, loaded[i]);
      }
    }
  }
}

template <bool FORWARD>
static __device__ __forceinline__ void move_row_bytes(u64 matrices, u64 rows, u64 row_bytes, u32 order, const u8 *in, u8 *out) {
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 item = first_item(); item < rows * row_bytes; item += item_stride()) {
      u64 row = item / row_bytes, source = FORWARD ? row_source(order, rows, row) : row_place(order, rows, row);
      out[matrix * rows * row_bytes + item] = in[(matrix * rows + source) * row_bytes + item % row_bytes];
    }
  }
}

}  // namespace layout

BLOCKSCALE_KERNEL permute_rows(u64 matrices, u64 rows, u64 row_bytes, u32 order, const u8 *in, u8 *out) {
  layout::move_rows<true>(matrices, rows, row_bytes, order, in, out);
}

BLOCKSCALE_KERNEL unpermute_rows(u64 matrices, u64 rows, u64 row_bytes, u32 order, const u8 *in, u8 *out) {
  layout::move_rows<false>(matrices, rows, row_bytes, order, in, out);
}

BLOCKSCALE_KERNEL permute_rows_bytes(u64 matrices, u64 rows, u64 row_bytes, u32 order, const u8 *in, u8 *out) {
  layout::move_row_bytes<true>(matrices, rows, row_bytes, order, in, out);
}

BLOCKSCALE_KERNEL unpermute_rows_bytes(u64 matrices, u64 rows, u64 row_bytes, u32 order, const u8 *in, u8 *out) {
  layout::move_row_bytes<false>(matrices, rows, row_bytes, order, in, out);
}
