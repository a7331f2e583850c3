// What the kernels of layouts share.
//
// Where both sides have long runs of memory, but not the same ones, a block of threads brings a tile into shared memory along the rows of
// one side and writes it along those of the other.
#pragma once
#include "arith/place.cuh"
#include "arith/generic.cuh"
#include "device.cuh"

namespace layout {

// Whether rows of `cols` bytes from `base` all begin on 16 bytes.
static __device__ __forceinline__ bool rows_aligned(const void *base, u64 cols) {
  return (reinterpret_cast<u64>(base) | cols) % 16 == 0;
}

template <typename Run>
static __device__ __forceinline__ void for_each_tile(u64 matrices, u64 down, u64 right, Run run) {
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 at = blockIdx.x; at < down * right; at += gridDim.x) {
      u64 row, col;
      split(at, right, row, col);
      run(matrix, row, col);
      __syncthreads();
    }
  }
}

// Lowers what `at` points to; where all are bad, most threads find nothing to do.
static __device__ __forceinline__ void lower(u64 *at, u64 index) {
  if (index < *static_cast<volatile u64 *>(at)) atomicMin(at, index);
}

}  // namespace layout
