// Memory access of the kernels: wide, streaming, and as many bytes at once as the chip can.
#pragma once
#include "arith/packed.cuh"

#define BLOCKSCALE_KERNEL extern "C" __global__ void __launch_bounds__(256)
// The same, in so few registers that a multiprocessor holds this many blocks of threads.
#define BLOCKSCALE_KERNEL_OF(blocks) extern "C" __global__ void __launch_bounds__(256, blocks)

static constexpr u32 THREADS = 256;

// 256-bit accesses, from compute capability 10.0 on.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define BLOCKSCALE_HAS_WIDE 1
#endif

// Consecutive 32-bit words, loaded once and not kept in the first cache.
template <int N>
struct Words {
  u32 word[N];
};

static __device__ __forceinline__ Words<1> load_words(const void *at, Words<1>) {
  Words<1> w;
  asm volatile("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(w.word[0]) : "l"(at));
  return w;
}

static __device__ __forceinline__ Words<2> load_words(const void *at, Words<2>) {
  Words<2> w;
  asm volatile("ld.global.nc.L1::no_allocate.v2.b32 {%0, %1}, [%2];" : "=r"(w.word[0]), "=r"(w.word[1]) : "l"(at));
  return w;
}

static __device__ __forceinline__ Words<4> load_words(const void *at, Words<4>) {
  Words<4> w;
  asm volatile("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w.word[0]), "=r"(w.word[1]), "=r"(w.word[2]), "=r"(w.word[3])
               : "l"(at));
  return w;
}

static __device__ __forceinline__ Words<8> load_words(const void *at, Words<8>) {
  Words<8> w;
#if defined(BLOCKSCALE_HAS_WIDE)
  asm volatile("ld.global.nc.L1::no_allocate.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
               : "=r"(w.word[0]), "=r"(w.word[1]), "=r"(w.word[2]), "=r"(w.word[3]), "=r"(w.word[4]), "=r"(w.word[5]),
                 "=r"(w.word[6]), "=r"(w.word[7])
               : "l"(at));
#else
  // Two halves of one sector: the first brings it, so this must stay in the first cache until the second.
  const u8 *bytes = static_cast<const u8 *>(at);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.word[4 * i]), "=r"(w.word[4 * i + 1]), "=r"(w.word[4 * i + 2]), "=r"(w.word[4 * i + 3])
                 : "l"(bytes + 16 * i));
  }
#endif
  return w;
}

// Words that nobody here reads again.
static __device__ __forceinline__ void store_words(void *at, const Words<1> &w) {
  asm volatile("st.global.cs.b32 [%0], %1;" ::"l"(at), "r"(w.word[0]) : "memory");
}

static __device__ __forceinline__ void store_words(void *at, const Words<2> &w) {
  asm volatile("st.global.cs.v2.b32 [%0], {%1, %2};" ::"l"(at), "r"(w.word[0]), "r"(w.word[1]) : "memory");
}

static __device__ __forceinline__ void store_words(void *at, const Words<4> &w) {
  asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(w.word[0]), "r"(w.word[1]), "r"(w.word[2]),
               "r"(w.word[3])
               : "memory");
}

static __device__ __forceinline__ void store_words(void *at, const Words<8> &w) {
#if defined(BLOCKSCALE_HAS_WIDE)
  asm volatile("st.global.cs.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"l"(at), "r"(w.word[0]), "r"(w.word[1]),
               "r"(w.word[2]), "r"(w.word[3]), "r"(w.word[4]), "r"(w.word[5]), "r"(w.word[6]), "r"(w.word[7])
               : "memory");
#else
  u8 *bytes = static_cast<u8 *>(at);
  store_words(bytes, Words<4>{w.word[0], w.word[1], w.word[2], w.word[3]});
  store_words(bytes + 16, Words<4>{w.word[4], w.word[5], w.word[6], w.word[7]});
#endif
}

template <int N>
static __device__ __forceinline__ Words<N> load(const void *at) {
  return load_words(at, Words<N>());
}

// A multiple of eight words, or four.
template <int N>
static __device__ __forceinline__ void store_array(void *at, const u32 *words) {
  constexpr int AT_ONCE = N % 8 == 0 ? 8 : 4;
#pragma unroll
  for (int i = 0; i < N / AT_ONCE; i++) {
    Words<AT_ONCE> w;
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) w.word[k] = words[i * AT_ONCE + k];
    store_words(static_cast<u8 *>(at) + i * AT_ONCE * 4, w);
  }
}

// Where stores are 16 bytes wide, the copy engine writes longer runs.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && !defined(BLOCKSCALE_HAS_WIDE)
#define BLOCKSCALE_HAS_BULK 1

// Makes what this thread has written to shared memory seen by the copy engine, once the warp is synchronised.
static __device__ __forceinline__ void publish_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Writes shared memory that every thread of the warp has published. One thread does it, after `__syncwarp`.
static __device__ __forceinline__ void store_bulk(void *to, const void *shared, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"((u32)__cvta_generic_to_shared(shared)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until what the same thread has had written is no longer needed in shared memory.
static __device__ __forceinline__ void wait_until_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
#endif

// Row and column of an item where `across` items make a row; the division is short where it can be.
static __device__ __forceinline__ void split(u64 item, u64 across, u64 &row, u64 &col) {
  if ((item | across) >> 32 == 0) {
    row = (u32)item / (u32)across;
    col = (u32)item % (u32)across;
  } else {
    row = item / across;
    col = item % across;
  }
}

static __device__ __forceinline__ u64 first_item() { return (u64)blockIdx.x * THREADS + threadIdx.x; }
static __device__ __forceinline__ u64 item_stride() { return (u64)gridDim.x * THREADS; }

// The scale of the tensor that matrix `matrix` has.
static __device__ __forceinline__ f32 global_of(u32 global_kind, const f32 *global, u64 stride, u64 matrix) {
  return global_kind == GLOBAL_NONE ? 1.0f : global[matrix * stride];
}

// What a thread has of a tile of 128 rows by `WIDTH` columns: `PIECES` pieces of `COLS` columns, a constant number of rows apart.
template <int COLS, int WIDTH = 128>
struct Tile {
  static constexpr int ACROSS = WIDTH / COLS, ROWS_AT_ONCE = THREADS / ACROSS, PIECES = 128 / ROWS_AT_ONCE;
  u64 rows, cols, first_row, first_col;
  __device__ __forceinline__ u64 row(int piece) const { return first_row + threadIdx.x / ACROSS + piece * ROWS_AT_ONCE; }
  __device__ __forceinline__ u64 col() const { return first_col + threadIdx.x % ACROSS * COLS; }
  __device__ __forceinline__ bool inside(int piece) const { return row(piece) < rows && col() < cols; }
  __device__ __forceinline__ u32 pieces_inside() const {
    if (!inside(0)) return 0;
    return (u32)min_u64(PIECES, div_ceil(rows - row(0), ROWS_AT_ONCE));
  }
  __device__ __forceinline__ bool whole() const { return first_row + 128 <= rows && first_col + WIDTH <= cols; }
};

// Calls `run` with the matrix, the number of the tile in the stack, and the tile, for the tiles of this block of threads.
template <int COLS, typename Run>
static __device__ __forceinline__ void for_each_fp8_tile(u64 matrices, u64 rows, u64 cols, Run run) {
  u64 across = (cols + 127) / 128, tiles = (rows + 127) / 128 * across;
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 at = blockIdx.x; at < tiles; at += gridDim.x) {
      u64 down, right;
      split(at, across, down, right);
      run(matrix, matrix * tiles + at, Tile<COLS>{rows, cols, down * 128, right * 128});
    }
  }
}
