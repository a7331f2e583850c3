// Where runtimes keep rows, scales and codes: the index arithmetic of crates/blockscale/src/layout.
#pragma once
#include "element.cuh"
#include "real.cuh"

enum RowOrder : u32 {
  ORDER_STAYS,
  ORDER_BY_32,
  ORDER_BY_16,
  ORDER_W13_BY_32,
  ORDER_W13_BY_16,
  ORDER_EIGHTS,
  ORDER_MEGA_MOE_L1,
  ORDER_MEGA_MOE_L2
};

// Blocks of 32 or 16 rows, seen as a matrix of eight columns, transposed.
BLOCKSCALE_FN u64 shuffle_place(u32 block, u64 row) {
  u64 within = row % block, step = block / 8;
  return row - within + within % step * 8 + within / step;
}

BLOCKSCALE_FN u64 shuffle_source(u32 block, u64 place) {
  u64 within = place % block, step = block / 8;
  return place - within + within % 8 * step + within / 8;
}

// Up and gate in turn, up first; gate is the first half on disk.
BLOCKSCALE_FN u64 in_turn_place(u64 rows, u64 row) { return row < rows / 2 ? 2 * row + 1 : 2 * (row - rows / 2); }
BLOCKSCALE_FN u64 in_turn_source(u64 rows, u64 place) { return place / 2 + (place % 2 == 0 ? rows / 2 : 0); }

// Eight rows of gate, eight of up, in turn.
BLOCKSCALE_FN u64 eights_place(u64 rows, u64 row) {
  u64 half = rows / 2, up = row < half ? 0 : 8, of_half = row < half ? row : row - half;
  return of_half / 8 * 16 + up + of_half % 8;
}
BLOCKSCALE_FN u64 eights_source(u64 rows, u64 place) {
  u64 within = place % 16, first = place / 16 * 8;
  return within < 8 ? first + within : rows / 2 + first + within - 8;
}

// Row 32 a + b of each 128 at 4 b + a.
BLOCKSCALE_FN u64 quarter_place(u64 row) { return row / 128 * 128 + row % 32 * 4 + row % 128 / 32; }
BLOCKSCALE_FN u64 quarter_source(u64 place) { return place / 128 * 128 + place % 4 * 32 + place % 128 / 4; }

BLOCKSCALE_FN u64 row_place(u32 order, u64 rows, u64 row) {
  switch (order) {
    case ORDER_BY_32: return shuffle_place(32, row);
    case ORDER_BY_16: return shuffle_place(16, row);
    case ORDER_W13_BY_32: return shuffle_place(32, in_turn_place(rows, row));
    case ORDER_W13_BY_16: return shuffle_place(16, in_turn_place(rows, row));
    case ORDER_EIGHTS: return eights_place(rows, row);
    case ORDER_MEGA_MOE_L1: return quarter_place(eights_place(rows, row));
    case ORDER_MEGA_MOE_L2: return quarter_place(row);
    default: return row;
  }
}

BLOCKSCALE_FN u64 row_source(u32 order, u64 rows, u64 place) {
  switch (order) {
    case ORDER_BY_32: return shuffle_source(32, place);
    case ORDER_BY_16: return shuffle_source(16, place);
    case ORDER_W13_BY_32: return in_turn_source(rows, shuffle_source(32, place));
    case ORDER_W13_BY_16: return in_turn_source(rows, shuffle_source(16, place));
    case ORDER_EIGHTS: return eights_source(rows, place);
    case ORDER_MEGA_MOE_L1: return eights_source(rows, quarter_source(place));
    case ORDER_MEGA_MOE_L2: return quarter_source(place);
    default: return place;
  }
}

// Tiles of 128 rows by 4 columns, 512 bytes; `tiles` of them side by side.
BLOCKSCALE_FN u64 tile_128x4_place(u64 tiles, u64 row, u64 col) {
  return (row / 128 * tiles + col / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + col % 4;
}

// Tiles of 8 rows by 4 columns, 32 bytes.
BLOCKSCALE_FN u64 tile_8x4_place(u64 tiles, u64 row, u64 col) {
  return (row / 8 * tiles + col / 4) * 32 + row % 8 * 4 + col % 4;
}

// Rows of a column of 32-bit words, so that each begins on 16 bytes.
BLOCKSCALE_FN u64 padded_words(u64 rows) { return (rows + 3) / 4 * 4; }

// Marlin's scales: within 64 rows an 8 x 8 transposition, then the middle two of every four exchanged.
BLOCKSCALE_FN u64 marlin_scale_place(u64 row) {
  u64 transposed = row % 8 * 8 + row % 64 / 8, of_four = transposed % 4;
  u64 exchanged = of_four == 1 ? 2 : of_four == 2 ? 1 : of_four;
  return row / 64 * 64 + transposed / 4 * 4 + exchanged;
}
BLOCKSCALE_FN u64 marlin_scale_source(u64 place) {
  u64 of_four = place % 4, exchanged = of_four == 1 ? 2 : of_four == 2 ? 1 : of_four;
  u64 transposed = place % 64 / 4 * 4 + exchanged;
  return place / 64 * 64 + transposed % 8 * 8 + transposed / 8;
}

// Marlin's codes in nibbles: the place of an element is the sum of these.
BLOCKSCALE_FN u64 marlin_row_offset(u64 row) {
  u64 within = row % 64;
  return row / 64 * 1024 + within % 8 * 128 + within / 16 * 8 + within % 16 / 8 * 2;
}
BLOCKSCALE_FN u64 marlin_col_offset(u64 padded_rows, u64 col) {
  u64 within = col % 16;
  return col / 16 * padded_rows * 16 + within % 8 / 2 * 32 + within % 2 * 4 + within / 8;
}

// E4M3 scales as Marlin stores them, and back; 256 where there is no such byte.
BLOCKSCALE_FN u32 s0e5m3_of_e4m3(u32 code) { return code < 0x08 ? 0 : code < 0x7f ? code + 120 : 256; }
BLOCKSCALE_FN u32 e4m3_of_s0e5m3(u32 byte) {
  if (byte >= 0x80 && byte < 0xf7) return byte - 120;
  return round_to(E4M3FN, f16_value((u16)(byte << 7)) / 128.0f);
}
