// One block format to another on the codes.
#include "arith/generic.cuh"
#include "device.cuh"

namespace transcode {

// ---- into FP8 in blocks of 128 x 128: a block of threads has one ----

// The largest of a number that each thread of the block has.
static __device__ __forceinline__ u32 largest_of_block(u32 mine, u32 *of_warps) {
  mine = __reduce_max_sync(~0u, mine);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < (int)THREADS / 32; i++) mine = max_u32(mine, of_warps[i]);
  return mine;
}

// ---- NVFP4: two tiles side by side, so that a row of both is 128 bytes of codes ----

using Pair = Tile<16, 256>;

// The largest of a number that each thread has of its tile of the two: every other eight threads have one.
static __device__ __forceinline__ u32 largest_of_tile(u32 mine, u32 half, u32 (*of_warps)[THREADS / 32]) {
  mine = __reduce_max_sync(half == 0 ? 0x00ff00ff : 0xff00ff00, mine);
  if (threadIdx.x % 16 % 8 == 0 && threadIdx.x % 32 < 16) of_warps[half][threadIdx.x / 32] = mine;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < (int)THREADS / 32; i++) mine = max_u32(mine, of_warps[half][i]);
  return mine;
}

// Blocks of which some scale is not finite, or makes a code infinite: their largest finite magnitude, and their new codes, by the
// definition. What a thread had in registers is found and read again, so that the quick way keeps nothing for this one.
struct Nvfp4Planes {
  const u8 *codes, *scales;
  u32 global_kind;
  f32 global;
  __device__ __forceinline__ f32 scale(u64 at) const { return combine(global_kind, widen(E4M3FN, scales[at / 16]), global); }
};

static __device__ __forceinline__ u32 slow_amax(Nvfp4Planes planes, u64 rows, u64 cols, u64 row, u64 col) {
  u32 max = 0;
#pragma unroll 1
  for (u32 i = 0; i < Pair::PIECES && row < rows && col < cols; i++, row += Pair::ROWS_AT_ONCE) {
    u64 at = row * cols + col;
#pragma unroll 1
    for (u32 k = 0; k < 16; k++) {
      max = max_u32(max, finite_magnitude(widen(E2M1, get_code(planes.codes + at / 2, 4, k)) * planes.scale(at)));
    }
  }
  return max;
}

static __device__ __forceinline__ void slow_codes(Nvfp4Planes planes, u64 rows, u64 cols, u64 row, u64 col, f32 power, u8 *to) {
#pragma unroll 1
  for (u32 i = 0; i < Pair::PIECES && row < rows && col < cols; i++, row += Pair::ROWS_AT_ONCE) {
    u64 at = row * cols + col;
#pragma unroll 1
    for (u32 k = 0; k < 16; k++) {
      f32 value = product(widen(E2M1, get_code(planes.codes + at / 2, 4, k)), planes.scale(at));
      to[at + k] = (u8)round_to(E4M3FN, quotient(value, power));
    }
  }
}

template <bool WHOLE>
static __device__ __forceinline__ void nvfp4_tiles(const Pair &tiles, u32 global_kind, const u8 *codes, const u8 *scales,
                                                   f32 global, u8 *new_codes, u8 *new_scale, u32 (*of_warps)[THREADS / 32]) {
  constexpr int PIECES = Pair::PIECES;
  u64 at = tiles.row(0) * tiles.cols + tiles.col(), step = Pair::ROWS_AT_ONCE * tiles.cols;
  const u8 *from = codes + at / 2, *scale_at = scales + at / 16;
  u32 count = WHOLE ? PIECES : tiles.pieces_inside();
  Words<2> loaded[PIECES];
  u32 stored[PIECES];
  f32 scale[PIECES];
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    loaded[i] = WHOLE || i < count ? load<2>(from + i * (step / 2)) : Words<2>{0, 0};
  }
#pragma unroll
  for (int i = 0; i < PIECES; i++) stored[i] = WHOLE || i < count ? __ldg(scale_at + i * (step / 16)) : 0;
  TwoLevels levels = two_levels(global_kind, global);
  u32 bits = 0;
  bool finitely = true;
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    scale[i] = WHOLE || i < count ? levels.quick(e4m3_value(stored[i])) : 0.0f;
    finitely &= scales_finitely(scale[i]);
    u32 largest = e2m1_largest(loaded[i].word[0], loaded[i].word[1]);
    bits = max_u32(bits, bits_of(e2m1_magnitude(largest) * scale[i]) & MAGNITUDE);
  }
  Nvfp4Planes planes = {codes, scales, global_kind, global};
  if (!finitely) bits = slow_amax(planes, tiles.rows, tiles.cols, tiles.row(0), tiles.col());
  u32 half = threadIdx.x / 8 % 2;
  bits = largest_of_tile(bits, half, of_warps);
  u32 code = rceil_code(E4M3FN, max_f32(from_bits(bits), 1e-4f));
  f32 inverse = rceil_inverse(code);
  if (threadIdx.x < 16 && threadIdx.x % 8 == 0 && tiles.col() < tiles.cols) new_scale[half] = (u8)code;
  if (!finitely) {
    slow_codes(planes, tiles.rows, tiles.cols, tiles.row(0), tiles.col(), e8m0_value(code), new_codes);
    return;
  }
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    if (!WHOLE && i >= count) break;
    E4m3OfE2m1 table = e4m3_of_e2m1(scale[i], inverse);
    Words<4> found;
    recode_e2m1(table, loaded[i].word[0], found.word[0], found.word[1]);
    recode_e2m1(table, loaded[i].word[1], found.word[2], found.word[3]);
    store_words(new_codes + at + i * step, found);
  }
}

// ---- FP8 under other scales ----

// Sixteen E4M3 codes under `old`, whose scale becomes the power of two that `inverse` is the reciprocal of.
static __device__ __forceinline__ Words<4> rescaled(const Words<4> &codes, f32 old, f32 inverse) {
  Words<4> found;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    f32 v[4];
    e4m3_values(codes.word[i], v);
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = v[k] * old * inverse;
    found.word[i] = e4m3_codes(v[0], v[1], v[2], v[3]);
#if !defined(BLOCKSCALE_HAS_FP8)
    if (e4m3_has_nan(codes.word[i])) {
      for (int k = 0; k < 4; k++) {
        if ((codes.word[i] >> (8 * k) & 0x7f) == 0x7f) found.word[i] = (found.word[i] & ~(0xffu << (8 * k))) | 0x7fu << (8 * k);
      }
    }
#endif
  }
  return found;
}

template <bool WHOLE>
static __device__ __forceinline__ void fp8_tile(const Tile<16> &tile, const u8 *codes, f32 old, u8 *new_codes) {
  constexpr int PIECES = Tile<16>::PIECES;
  u64 at = tile.row(0) * tile.cols + tile.col(), step = Tile<16>::ROWS_AT_ONCE * tile.cols;
  Words<4> loaded[PIECES];
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    if (WHOLE || tile.inside(i)) loaded[i] = load<4>(codes + at + i * step);
  }
  u32 power = e8m0_ceil(old);
  bool same = e8m0_value(power) == old;
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    if (!WHOLE && !tile.inside(i)) continue;
    store_words(new_codes + at + i * step, same ? loaded[i] : rescaled(loaded[i], old, e8m0_value(254 - power)));
  }
}

// ---- MXFP4 to FP8 in blocks ----

// 2^(old - new), NaN for the code of NaN; what is below 2^-126 is taken for that.
static __device__ __forceinline__ f32 ratio(u32 old, u32 power) {
  i32 exponent = (i32)old - (i32)power + 127;
  return old == 255 ? from_bits(NAN_BITS) : from_bits((u32)(exponent < 1 ? 1 : exponent) << 23);
}

// Four codes and whether each keeps its value.
static __device__ __noinline__ u32 recode_four(u32 codes, u32 count, f32 by, bool &lossless) {
  u32 found = 0;
  for (u32 i = 0; i < count; i++) {
    f32 shifted = product(widen(E2M1, codes >> (4 * i)), by);
    u32 code = round_to(E4M3FN, shifted);
    lossless &= is_nan(shifted) || widen(E4M3FN, code) == shifted;
    found |= code << (8 * i);
  }
  return found;
}

// What of a row lies in a block of 32, in threads of four columns: any number of columns, so byte by byte.
static __device__ __forceinline__ void mxfp4_tile(u64 rows, u64 cols, u64 first_row, u64 first_col, const u8 *codes,
                                                  const u8 *scales, u8 *new_codes, u8 *new_scale, u64 *counts, u8 *lossless,
                                                  u32 *of_warps) {
  u64 last_row = min_u64(rows, first_row + 128), last_col = min_u64(cols, first_col + 128);
  u64 across = (cols + 31) / 32, code_row = (cols + 1) / 2;
  // The largest exponent, and in bit 8 whether there is a NaN.
  u32 largest = 0, nan = 0;
  for (u32 i = threadIdx.x; i < 128 * 4; i += THREADS) {
    u64 row = first_row + i / 4, col = first_col + i % 4 * 32;
    if (row >= last_row || col >= last_col) continue;
    u32 code = scales[row * across + col / 32];
    nan |= code == 255;
    largest = max_u32(largest, code == 255 ? 0 : code);
  }
  largest = largest_of_block(largest, of_warps);
  u32 power = largest < 6 ? 0 : largest - 6;
  bool kept = true;
  for (u32 i = threadIdx.x; i < 128 * 32; i += THREADS) {
    u64 row = first_row + i / 32, col = first_col + i % 32 * 4;
    if (row >= last_row || col >= last_col) continue;
    u32 count = (u32)min_u64(4, last_col - col);
    const u8 *from = codes + row * code_row + col / 2;
    u32 four = from[0] | (count > 2 ? (u32)from[1] << 8 : 0);
    u32 found = recode_four(four, count, ratio(scales[row * across + col / 32], power), kept);
    u8 *to = new_codes + row * cols + col;
    if (cols % 4 == 0 && reinterpret_cast<u64>(new_codes) % 4 == 0) {
      *reinterpret_cast<u32 *>(to) = found;
    } else {
      for (u32 k = 0; k < count; k++) to[k] = (u8)(found >> (8 * k));
    }
  }
  bool all_kept = __syncthreads_and(kept), any_nan = __syncthreads_or(nan);
  if (threadIdx.x != 0) return;
  *new_scale = (u8)power;
  if (lossless) *lossless = all_kept;
  atomicAdd(counts + (any_nan ? 2 : all_kept ? 0 : 1), 1ull);
}

// ---- MXFP4 to NVFP4 ----

static __device__ __forceinline__ f32 nvfp4_global(u32 largest) {
  return largest == 0 ? 1.0f : e8m0_value(largest) * 0.00390625f;
}

// The E4M3 code of a scale whose block keeps its codes, 0 where there is none: E4M3 holds 2^-9 to 2^8.
static __device__ __forceinline__ u32 nvfp4_code(u32 old, u32 largest) {
  i32 exponent = (i32)old - (i32)largest + 8;
  if (old == 255) return 0x7f;
  if (largest == 0 || exponent < -9 || exponent > 8) return 0;
  return exponent < -6 ? 1u << (exponent + 9) : (u32)(exponent + 7) << 3;
}

// Sixteen codes, or what is left of a row, under a power of two that E4M3 does not hold beside the tensor's scale.
static __device__ __noinline__ bool reencode(u8 *codes, u32 bytes, f32 old, f32 global, u8 *stored) {
  f32 largest = 0.0f;
  for (u32 i = 0; i < 2 * bytes; i++) largest = max_f32(largest, magnitude_of(widen(E2M1, get_code(codes, 4, i))));
  if (largest == 0.0f) {
    *stored = 0x38;
    return true;
  }
  f32 relative = largest * old / global;
  f32 over_max = relative / 6.0f;
  f32 bounded = relative == 0.0f ? 1.0f : min_f32(max_f32(over_max, 0.001953125f), 448.0f);
  *stored = (u8)round_to(E4M3FN, bounded);
  f32 scale = widen(E4M3FN, *stored) * global;
  bool lossless = true;
  for (u32 i = 0; i < bytes; i++) {
    u32 byte = 0;
    for (u32 half = 0; half < 2; half++) {
      f32 x = widen(E2M1, codes[i] >> (4 * half)) * old;
      u32 code = round_to(E2M1, quotient(x, scale));
      lossless &= widen(E2M1, code) * scale == x;
      byte |= code << (4 * half);
    }
    codes[i] = (u8)byte;
  }
  return lossless;
}

// ---- scales up to powers of two, any format of 8-bit codes ----

static __device__ __forceinline__ bool scale_is_usable(f32 scale) { return is_finite(scale) && !(scale < 0.0f); }

}  // namespace transcode

BLOCKSCALE_KERNEL_OF(4) transcode_nvfp4_to_fp8_block_ue8m0(u64 matrices, u64 rows, u64 cols, u32 global_kind, const u8 *codes,
                                                           const u8 *scales, const f32 *global, u64 global_stride,
                                                           u8 *new_codes, u8 *new_scales) {
  using transcode::Pair;
  __shared__ u32 of_warps[2][2][THREADS / 32];
  u64 across = (cols + 127) / 128, pairs = (across + 1) / 2, down = (rows + 127) / 128;
  u32 parity = 0;
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    f32 level = global_of(global_kind, global, global_stride, matrix);
    u64 start = matrix * rows * cols;
    for (u64 at = blockIdx.x; at < down * pairs; at += gridDim.x, parity ^= 1) {
      u64 row, pair;
      split(at, pairs, row, pair);
      Pair tiles = {rows, cols, row * 128, pair * 256};
      u8 *new_scale = new_scales + (matrix * down + row) * across + pair * 2;
      if (tiles.whole()) {
        transcode::nvfp4_tiles<true>(tiles, global_kind, codes + start / 2, scales + start / 16, level, new_codes + start,
                                     new_scale, of_warps[parity]);
      } else {
        transcode::nvfp4_tiles<false>(tiles, global_kind, codes + start / 2, scales + start / 16, level, new_codes + start,
                                      new_scale, of_warps[parity]);
      }
    }
  }
}

BLOCKSCALE_KERNEL transcode_fp8_block_f32_to_ue8m0(u64 matrices, u64 rows, u64 cols, const u8 *codes, const f32 *scales,
                                                   u8 *new_codes, u8 *new_scales, u64 *changed, u64 *first_bad) {
  for_each_fp8_tile<16>(matrices, rows, cols, [&](u64 matrix, u64 block, const Tile<16> &tile) {
    u64 start = matrix * rows * cols;
    f32 old = __ldg(scales + block);
    if (threadIdx.x == 0) {
      u32 power = e8m0_ceil(old);
      new_scales[block] = (u8)power;
      if (!transcode::scale_is_usable(old)) atomicMin(first_bad, block);
      if (e8m0_value(power) != old) atomicAdd(changed, 1ull);
    }
    if (tile.whole()) {
      transcode::fp8_tile<true>(tile, codes + start, old, new_codes + start);
    } else {
      transcode::fp8_tile<false>(tile, codes + start, old, new_codes + start);
    }
  });
}

BLOCKSCALE_KERNEL round_scales_up_any(FormatDesc from, u32 to_scale, u64 matrices, u64 rows, u64 cols, const u8 *scales,
                                      u8 *new_scales, u64 *changed, u64 *first_bad) {
  u64 count = scale_count(from, rows, cols);
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 block = first_item(); block < count; block += item_stride()) {
      u64 index = matrix * count + block;
      f32 old = load_scale(from.scale, scales + index * scale_bytes(from.scale));
      f32 power = e8m0_value(e8m0_ceil(old));
      store_scale(to_scale, power, new_scales + index * scale_bytes(to_scale));
      if (!transcode::scale_is_usable(old)) atomicMin(first_bad, index);
      if (power != old) atomicAdd(changed, 1ull);
    }
  }
}

BLOCKSCALE_KERNEL rescale_codes_any(FormatDesc from, u64 matrices, u64 rows, u64 cols, const u8 *codes, const u8 *scales,
                                    u8 *new_codes) {
  u64 count = scale_count(from, rows, cols), across = scale_cols(from, cols);
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 item = first_item(); item < rows * div_ceil(cols, 8); item += item_stride()) {
      Eight at = eight_columns(item, cols);
      for (u32 i = 0; i < at.count; i++) {
        u64 block = at.row / from.block_rows * across + (at.col + i) / from.block_cols;
        f32 old = load_scale(from.scale, scales + (matrix * count + block) * scale_bytes(from.scale));
        f32 power = e8m0_value(e8m0_ceil(old));
        u64 place = (matrix * rows + at.row) * cols + at.col + i;
        u32 code = codes[place];
        if (power != old) {
          code = round_to(from.element, quotient(product(widen(from.element, code), old), power));
        }
        new_codes[place] = (u8)code;
      }
    }
  }
}

BLOCKSCALE_KERNEL largest_exponent_ue8m0(u64 count, const u8 *scales, u32 *largest) {
  u32 max = 0;
  for (u64 i = first_item(); i < count; i += item_stride()) max = max_u32(max, scales[i] == 255 ? 0u : scales[i]);
  max = __reduce_max_sync(~0u, max);
  if (threadIdx.x % 32 == 0 && max > *static_cast<volatile u32 *>(largest)) atomicMax(largest, max);
}

BLOCKSCALE_KERNEL transcode_mxfp4_to_nvfp4(u64 rows, u64 cols, const u8 *codes, const u8 *scales, const u32 *largest_code,
                                           u8 *new_codes, u8 *new_scales, f32 *global, u64 *counts, u8 *lossless) {
  u64 across = (cols + 31) / 32, code_row = (cols + 1) / 2, scale_row = (cols + 15) / 16;
  u32 largest = *largest_code;
  f32 level = transcode::nvfp4_global(largest);
  if (blockIdx.x == 0 && threadIdx.x == 0) *global = level;
  // Blocks then lie in one run, whatever the rows.
  bool whole = cols % 32 == 0 && (reinterpret_cast<u64>(codes) | reinterpret_cast<u64>(new_codes)) % 16 == 0 &&
               reinterpret_cast<u64>(new_scales) % 2 == 0;
  u32 kept = 0, changed = 0, nan = 0;
  for (u64 item = first_item(); item < rows * across; item += item_stride()) {
    u32 old = __ldg(scales + item), code = transcode::nvfp4_code(old, largest);
    bool same = true;
    if (whole && code != 0) {
      store_words(new_codes + item * 16, load<4>(codes + item * 16));
      reinterpret_cast<u16 *>(new_scales)[item] = (u16)(code * 0x101);
    } else {
      u64 row = item / across, block = item % across;
      u64 code_at = row * code_row + block * 16, scale_at = row * scale_row + block * 2;
      u32 bytes = (u32)min_u64(16, code_row - block * 16), halves = (u32)min_u64(2, scale_row - block * 2);
      for (u32 i = 0; i < bytes; i++) new_codes[code_at + i] = codes[code_at + i];
      for (u32 i = 0; i < halves; i++) {
        if (code != 0) {
          new_scales[scale_at + i] = (u8)code;
        } else {
          u8 *half = new_codes + code_at + i * 8;
          same &= transcode::reencode(half, min_u32(8, bytes - i * 8), e8m0_value(old), level, new_scales + scale_at + i);
        }
      }
    }
    nan += old == 255;
    kept += same && old != 255;
    changed += !same;
    if (lossless) lossless[item] = same;
  }
  // One addition a block of threads: many at one place take turns.
  __shared__ u32 sums[3];
  if (threadIdx.x < 3) sums[threadIdx.x] = 0;
  __syncthreads();
  kept = __reduce_add_sync(~0u, kept);
  changed = __reduce_add_sync(~0u, changed);
  nan = __reduce_add_sync(~0u, nan);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&sums[0], kept);
    atomicAdd(&sums[1], changed);
    atomicAdd(&sums[2], nan);
  }
  __syncthreads();
  if (threadIdx.x < 3 && sums[threadIdx.x] != 0) atomicAdd(counts + threadIdx.x, (u64)sums[threadIdx.x]);
}

BLOCKSCALE_KERNEL transcode_mxfp4_to_fp8_block_ue8m0(u64 matrices, u64 rows, u64 cols, const u8 *codes, const u8 *scales,
                                                     u8 *new_codes, u8 *new_scales, u64 *counts, u8 *lossless) {
  __shared__ u32 of_warps[THREADS / 32];
  u64 across = (cols + 127) / 128, tiles = (rows + 127) / 128 * across;
  for (u64 matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    for (u64 at = blockIdx.x; at < tiles; at += gridDim.x) {
      u64 down, right, index = matrix * tiles + at;
      split(at, across, down, right);
      transcode::mxfp4_tile(rows, cols, down * 128, right * 128, codes + matrix * rows * ((cols + 1) / 2),
                            scales + matrix * rows * ((cols + 31) / 32), new_codes + matrix * rows * cols, new_scales + index,
                            counts, lossless ? lossless + index : nullptr, of_warps);
    }
  }
}

BLOCKSCALE_KERNEL repack_codes_any(FormatDesc from, u32 to_packing, u64 rows, u64 cols, const u8 *codes, u8 *out) {
  u32 old_stride = code_stride(from), bits = element_bits(from.element), new_stride = to_packing == BYTES ? 8 : bits;
  for (u64 item = first_item(); item < rows * div_ceil(cols, 8); item += item_stride()) {
    Eight at = eight_columns(item, cols);
    u8 found[8];
    for (u32 i = 0; i < at.count; i++) {
      found[i] = (u8)(get_code(codes + at.row * row_bytes(old_stride, cols), old_stride, at.col + i) & (0xff >> (8 - bits)));
    }
    put_codes(out + at.row * row_bytes(new_stride, cols), new_stride, at.col, found, at.count);
  }
}
