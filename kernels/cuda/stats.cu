// Histograms of codes and exponents, and the error of numbers against what they stand for.
#include "arith/generic.cuh"
#include "device.cuh"

struct ErrorRow {
  u64 count, finite;
  f64 sum_ref_sq, sum_out_sq, sum_err_sq, sum_dot, max_abs_err;
  u64 differing, ref_nan, ref_inf, out_nan, out_inf, special_mismatch;
};

namespace stats {

// Counts of a block of threads, a copy for each warp, then added to `bins`.
struct Bins {
  static __device__ __forceinline__ void clear(u32 (*of_warps)[256]) {
    for (u32 i = threadIdx.x; i < 256 * (THREADS / 32); i += THREADS) of_warps[i / 256][i % 256] = 0;
    __syncthreads();
  }
  static __device__ __forceinline__ void flush(u32 (*of_warps)[256], u64 *bins) {
    __syncthreads();
    u64 sum = 0;
    for (u32 warp = 0; warp < THREADS / 32; warp++) sum += of_warps[warp][threadIdx.x];
    if (sum) atomicAdd(bins + threadIdx.x, sum);
    __syncthreads();
  }
};

// Items between two flushes, so that no 32-bit count overflows: 256 threads of at most 64 numbers each.
static constexpr u64 ROUNDS = 1u << 16;

template <typename T>
static __device__ __forceinline__ void exponents(u64 elements, const T *values, u64 *bins, u32 (*of_warps)[256]) {
  u64 rounds = 0;
  Bins::clear(of_warps);
  for (u64 start = (u64)blockIdx.x * THREADS; start < elements; start += item_stride()) {
    u64 i = start + threadIdx.x;
    if (i < elements) atomicAdd(&of_warps[threadIdx.x / 32][bits_of(to_f32(values[i])) >> 23 & 0xff], 1u);
    if (++rounds % ROUNDS == 0) {
      Bins::flush(of_warps, bins);
      Bins::clear(of_warps);
    }
  }
  Bins::flush(of_warps, bins);
}


// What a block of threads adds up at a time. A warp has the terms of `ROWS_OF_WARP` rows.
static constexpr u32 ROWS = 32, COLS = 32, ROWS_OF_WARP = ROWS / (THREADS / 32);

// What a thread has seen of a row: counts, and the largest error.
struct Seen {
  u32 finite, differing, ref_nan, ref_inf, out_nan, out_inf, special_mismatch;
  f64 max;
};

static __device__ __forceinline__ u64 sum_of_warp(u32 mine) { return __reduce_add_sync(~0u, mine); }

// Of doubles that are not negative the bits have the same order.
static __device__ __forceinline__ f64 max_of_warp(f64 mine) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) mine = fmax(mine, __shfl_xor_sync(~0u, mine, apart));
  return mine;
}

}  // namespace stats

BLOCKSCALE_KERNEL histogram_codes(u32 bits, u64 rows, u64 cols, u64 row_bytes, const u8 *codes, u64 *bins) {
  __shared__ u32 of_warps[THREADS / 32][256];
  u64 in_row = div_ceil(cols, 64), rounds = 0;
  stats::Bins::clear(of_warps);
  for (u64 start = (u64)blockIdx.x * THREADS; start < rows * in_row; start += item_stride()) {
    u64 item = start + threadIdx.x;
    if (item < rows * in_row) {
      u64 col = item % in_row * 64, end = min_u64(cols, col + 64);
      const u8 *row = codes + item / in_row * row_bytes;
      for (; col < end; col++) atomicAdd(&of_warps[threadIdx.x / 32][get_code(row, bits, col)], 1u);
    }
    if (++rounds % stats::ROUNDS == 0) {
      stats::Bins::flush(of_warps, bins);
      stats::Bins::clear(of_warps);
    }
  }
  stats::Bins::flush(of_warps, bins);
}

BLOCKSCALE_KERNEL histogram_exponents_bf16(u64 elements, const bf16 *values, u64 *bins) {
  __shared__ u32 of_warps[THREADS / 32][256];
  stats::exponents(elements, values, bins, of_warps);
}

BLOCKSCALE_KERNEL histogram_exponents_f16(u64 elements, const f16 *values, u64 *bins) {
  __shared__ u32 of_warps[THREADS / 32][256];
  stats::exponents(elements, values, bins, of_warps);
}

BLOCKSCALE_KERNEL histogram_exponents_f32(u64 elements, const f32 *values, u64 *bins) {
  __shared__ u32 of_warps[THREADS / 32][256];
  stats::exponents(elements, values, bins, of_warps);
}

// A sum has to be in the order of columns, so that one thread adds it up; what it adds up is computed by all of them. Terms that
// do not count are zero, which changes no sum.
BLOCKSCALE_KERNEL error_sums(u64 rows, u64 cols, const f32 *reference, const f32 *output, ErrorRow *of_rows) {
  using namespace stats;
  __shared__ f64 terms[4][ROWS][COLS + 1];
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 row_of_sum = threadIdx.x % ROWS, which = threadIdx.x / ROWS;
  for (u64 first_row = (u64)blockIdx.x * ROWS; first_row < rows; first_row += (u64)gridDim.x * ROWS) {
    f64 sum = 0.0;
    Seen seen[ROWS_OF_WARP] = {};
    for (u64 first_col = 0; first_col < cols; first_col += COLS) {
      u64 col = first_col + lane;
#pragma unroll
      for (u32 i = 0; i < ROWS_OF_WARP; i++) {
        u32 of_block = warp * ROWS_OF_WARP + i;
        u64 row = first_row + of_block;
        bool inside = row < rows && col < cols;
        f32 r = inside ? reference[row * cols + col] : 0.0f, o = inside ? output[row * cols + col] : 0.0f;
        Seen &so_far = seen[i];
        bool counts = is_finite(r) && is_finite(o);
        if (!counts) {
          so_far.ref_nan += is_nan(r);
          so_far.ref_inf += !is_nan(r) && !is_finite(r);
          so_far.out_nan += is_nan(o);
          so_far.out_inf += !is_nan(o) && !is_finite(o);
          so_far.special_mismatch += !(r == o || (is_nan(r) && is_nan(o)));
          r = o = 0.0f;
        }
        so_far.finite += inside && counts;
        so_far.differing += r != o;
        f64 wide_r = r, wide_o = o, error = wide_o - wide_r;
        so_far.max = fmax(so_far.max, fabs(error));
        terms[0][of_block][lane] = wide_r * wide_r;
        terms[1][of_block][lane] = wide_o * wide_o;
        terms[2][of_block][lane] = error * error;
        terms[3][of_block][lane] = wide_r * wide_o;
      }
      __syncthreads();
      if (which < 4) {
#pragma unroll
        for (u32 k = 0; k < COLS; k++) sum = sum + terms[which][row_of_sum][k];
      }
      __syncthreads();
    }
#pragma unroll
    for (u32 i = 0; i < ROWS_OF_WARP; i++) {
      u64 row = first_row + warp * ROWS_OF_WARP + i;
      u64 finite = sum_of_warp(seen[i].finite), differing = sum_of_warp(seen[i].differing);
      u64 ref_nan = sum_of_warp(seen[i].ref_nan), ref_inf = sum_of_warp(seen[i].ref_inf);
      u64 out_nan = sum_of_warp(seen[i].out_nan), out_inf = sum_of_warp(seen[i].out_inf);
      u64 special_mismatch = sum_of_warp(seen[i].special_mismatch);
      f64 max = max_of_warp(seen[i].max);
      if (lane == 0 && row < rows) {
        ErrorRow &to = of_rows[row];
        to.count = cols;
        to.finite = finite;
        to.max_abs_err = max;
        to.differing = differing;
        to.ref_nan = ref_nan;
        to.ref_inf = ref_inf;
        to.out_nan = out_nan;
        to.out_inf = out_inf;
        to.special_mismatch = special_mismatch;
      }
    }
    if (which < 4 && first_row + row_of_sum < rows) {
      ErrorRow &to = of_rows[first_row + row_of_sum];
      if (which == 0) to.sum_ref_sq = sum;
      if (which == 1) to.sum_out_sq = sum;
      if (which == 2) to.sum_err_sq = sum;
      if (which == 3) to.sum_dot = sum;
    }
  }
}
