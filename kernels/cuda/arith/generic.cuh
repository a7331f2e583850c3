// Any block format, any shape: one item of work each, by its number. Slow beside the kernels made for one format, and the only
// definition for all the others.
#pragma once
#include "scheme.cuh"

BLOCKSCALE_FN u32 code_stride(const FormatDesc &format) {
  return format.packing == BYTES ? 8 : element_bits(format.element);
}

BLOCKSCALE_FN u64 row_bytes(u32 stride, u64 cols) { return cols / 8 * stride + (cols % 8 * stride + 7) / 8; }

BLOCKSCALE_FN u64 scale_rows(const FormatDesc &format, u64 rows) { return div_ceil(rows, format.block_rows); }
BLOCKSCALE_FN u64 scale_cols(const FormatDesc &format, u64 cols) { return div_ceil(cols, format.block_cols); }
BLOCKSCALE_FN u64 scale_count(const FormatDesc &format, u64 rows, u64 cols) {
  return scale_rows(format, rows) * scale_cols(format, cols);
}

// Code `col` of a row whose codes lie `stride` bits apart, 4, 6 or 8.
BLOCKSCALE_FN u32 get_code(const u8 *row, u32 stride, u64 col) {
  const u8 *at = row + col / 8 * stride;
  u32 bit = (u32)(col % 8) * stride, shift = bit % 8;
  u32 window = at[bit / 8];
  if (shift + stride > 8) window |= (u32)at[bit / 8 + 1] << 8;
  return window >> shift & (0xff >> (8 - stride));
}

// Writes up to eight codes, which start at a multiple of 8 columns; bits after the last are zero.
BLOCKSCALE_FN void put_codes(u8 *row, u32 stride, u64 col, const u8 *codes, u32 count) {
  u8 *at = row + col / 8 * stride;
  u64 bits = 0;
  for (u32 i = 0; i < count; i++) bits |= (u64)codes[i] << (i * stride);
  for (u32 i = 0; i < (count * stride + 7) / 8; i++) at[i] = (u8)(bits >> (8 * i));
}

// Eight columns of a row, or what is left of it.
struct Eight {
  u64 row, col;
  u32 count;
};

BLOCKSCALE_FN Eight eight_columns(u64 item, u64 cols) {
  u64 in_row = div_ceil(cols, 8), col = item % in_row * 8;
  return {item / in_row, col, (u32)min_u64(8, cols - col)};
}

template <typename T>
BLOCKSCALE_FN void decode_eight(const FormatDesc &format, u64 cols, const u8 *codes, const u8 *scales, f32 global, T *out,
                                u64 item) {
  Eight at = eight_columns(item, cols);
  u32 stride = code_stride(format);
  const u8 *row = codes + at.row * row_bytes(stride, cols);
  const u8 *scale_row = scales + at.row / format.block_rows * scale_cols(format, cols) * scale_bytes(format.scale);
  u64 block = ~0ull;
  f32 scale = 0.0f;
  for (u32 i = 0; i < at.count; i++) {
    u64 col = at.col + i;
    if (col / format.block_cols != block) {
      block = col / format.block_cols;
      scale = combine(format.global_kind, load_scale(format.scale, scale_row + block * scale_bytes(format.scale)), global);
    }
    store_real(out + at.row * cols + col, product(widen(format.element, get_code(row, stride, col)), scale));
  }
}

template <typename T>
BLOCKSCALE_FN void encode_eight(const FormatDesc &format, const SchemeDesc &scheme, u64 cols, const T *values,
                                const u8 *scales, f32 global, u8 *codes, u64 item) {
  Eight at = eight_columns(item, cols);
  u32 stride = code_stride(format);
  const u8 *scale_row = scales + at.row / format.block_rows * scale_cols(format, cols) * scale_bytes(format.scale);
  u64 block = ~0ull;
  Divisor divisor = {Divisor::ZERO, 0.0f};
  u8 found[8];
  for (u32 i = 0; i < at.count; i++) {
    u64 col = at.col + i;
    if (col / format.block_cols != block) {
      block = col / format.block_cols;
      f32 scale = load_scale(format.scale, scale_row + block * scale_bytes(format.scale));
      divisor = divisor_of(format, scheme, scale, global);
    }
    found[i] = (u8)encode_one(format, scheme, divisor, to_f32(values[at.row * cols + col]));
  }
  put_codes(codes + at.row * row_bytes(stride, cols), stride, at.col, found, at.count);
}

// The bits of |x|, 0 where it is not finite: as integers they have the order of the magnitudes.
BLOCKSCALE_FN u32 finite_magnitude(f32 x) {
  u32 bits = bits_of(x) & MAGNITUDE;
  return bits < INFINITY_BITS ? bits : 0;
}

// Error of a block under a candidate for its scale, added up in the order of rows.
template <typename T>
BLOCKSCALE_FN f64 block_error(const FormatDesc &format, const SchemeDesc &scheme, bool squared, u64 rows, u64 cols,
                              const T *values, u64 block, f32 scale, f32 global) {
  u64 across = scale_cols(format, cols);
  u64 first_row = block / across * format.block_rows, first_col = block % across * format.block_cols;
  u64 last_row = min_u64(rows, first_row + format.block_rows), last_col = min_u64(cols, first_col + format.block_cols);
  Divisor divisor = divisor_of(format, scheme, scale, global);
  f32 effective = combine(format.global_kind, scale, global);
  f64 sum = 0.0;
  for (u64 row = first_row; row < last_row; row++) {
    for (u64 col = first_col; col < last_col; col++) {
      f32 x = to_f32(values[row * cols + col]);
      if (!is_finite(x)) continue;
      u32 code = encode_one(format, scheme, divisor, x);
      f64 difference = (f64)(widen(format.element, code) * effective) - (f64)x;
      f64 term = squared ? difference * difference : fabs(difference);
      sum = sum + term;
    }
  }
  return sum;
}

// Candidates that a search looks at, and one of them. The first wins where some tie.
BLOCKSCALE_FN u32 candidate_count(const FormatDesc &format, const SchemeDesc &scheme) {
  if (scheme.rule == RULE_FOUR_OVER_SIX) return 2;
  return format.scale == SCALE_E8M0 ? 3 : 34;
}

BLOCKSCALE_FN f32 candidate(const FormatDesc &format, const SchemeDesc &scheme, f32 amax, f32 global, u32 index) {
  f32 first = unrounded_scale(format, scheme, amax, global);
  f32 chosen;
  if (index == 0) {
    // A first candidate times one is itself, for UE8M0 too.
    chosen = first;
  } else if (scheme.rule == RULE_FOUR_OVER_SIX) {
    chosen = first * 1.5f;
  } else if (format.scale == SCALE_E8M0) {
    chosen = first * (index == 1 ? 0.5f : 0.25f);
  } else {
    chosen = first * ((f32)(index + 15) / 32.0f);
  }
  return round_scale(format, scheme, amax, global, chosen);
}
