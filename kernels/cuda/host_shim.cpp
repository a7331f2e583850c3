// The arithmetic of the kernels as a program for the host, which a test compares with the Rust core.
//
//   host_shim OPERATION [NUMBER ...] < input > output
//
// Numbers are parameters, hexadecimal; input and output are little-endian arrays. Each operation reads to the end of its input.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "arith/generic.cuh"
#include "arith/packed.cuh"
#include "arith/place.cuh"

typedef std::vector<u8> Bytes;

static Bytes read_all() {
  Bytes bytes;
  u8 buffer[1 << 16];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, stdin)) > 0;) bytes.insert(bytes.end(), buffer, buffer + n);
  return bytes;
}

template <typename T>
static std::vector<T> read_array() {
  Bytes bytes = read_all();
  std::vector<T> array(bytes.size() / sizeof(T));
  memcpy(array.data(), bytes.data(), array.size() * sizeof(T));
  return array;
}

template <typename T>
static void write_array(const std::vector<T> &array) {
  fwrite(array.data(), sizeof(T), array.size(), stdout);
}

// The parameters of an operation, in order.
struct Parameters {
  char **next, **end;
  u64 take() { return next < end ? strtoull(*next++, nullptr, 16) : 0; }
  f32 take_f32() { return from_bits((u32)take()); }
  FormatDesc format() {
    FormatDesc format = {};
    format.element = (u32)take();
    format.packing = (u32)take();
    format.scale = (u32)take();
    format.global_kind = (u32)take();
    format.block_rows = take();
    format.block_cols = take();
    return format;
  }
  SchemeDesc scheme() {
    SchemeDesc scheme = {};
    u32 *fields[] = {&scheme.rule, &scheme.rule_argument, &scheme.global_rule, &scheme.order};
    for (u32 *field : fields) *field = (u32)take();
    scheme.min_scale = take_f32();
    scheme.zero = (u32)take();
    scheme.zero_scale = take_f32();
    u32 *rest[] = {&scheme.quotient, &scheme.ties, &scheme.overflow, &scheme.zero_sign, &scheme.nan, &scheme.nan_code};
    for (u32 *field : rest) *field = (u32)take();
    scheme.intermediate = (u8)take();
    scheme.weight = (u8)take();
    return scheme;
  }
};

template <typename T>
static void decode(Parameters p) {
  FormatDesc format = p.format();
  u64 rows = p.take(), cols = p.take();
  f32 global = p.take_f32();
  Bytes in = read_all();
  u64 code_bytes = rows * row_bytes(code_stride(format), cols);
  std::vector<T> out(rows * cols);
  for (u64 item = 0; item < rows * div_ceil(cols, 8); item++) {
    decode_eight(format, cols, in.data(), in.data() + code_bytes, global, out.data(), item);
  }
  write_array(out);
}

// The global scale, the scales and the codes, as the kernels make them one after the other. `given` is a global scale, or NaN.
template <typename T>
static void encode(Parameters p) {
  FormatDesc format = p.format();
  SchemeDesc scheme = p.scheme();
  u64 rows = p.take(), cols = p.take();
  f32 global = p.take_f32();
  std::vector<T> values = read_array<T>();
  u64 across = scale_cols(format, cols), count = scale_count(format, rows, cols);
  std::vector<u32> amax(count, 0);
  u32 of_tensor = 0;
  for (u64 i = 0; i < rows * cols; i++) {
    u32 bits = finite_magnitude(to_f32(values[i])), &of_block = amax[i / cols / format.block_rows * across + i % cols / format.block_cols];
    of_block = max_u32(of_block, bits);
    of_tensor = max_u32(of_tensor, bits);
  }
  if (is_nan(global)) global = global_scale(format, scheme, from_bits(of_tensor));
  Bytes scales(count * scale_bytes(format.scale)), codes(rows * row_bytes(code_stride(format), cols));
  for (u64 block = 0; block < count; block++) {
    f32 chosen = block_scale(format, scheme, from_bits(amax[block]), global);
    if (scheme.rule >= RULE_FOUR_OVER_SIX) {
      bool squared = scheme.rule == RULE_MSE_SEARCH || scheme.rule_argument == 1;
      f64 smallest = INFINITY;
      chosen = from_bits(NAN_BITS);
      for (u32 index = 0; index < candidate_count(format, scheme); index++) {
        f32 scale = candidate(format, scheme, from_bits(amax[block]), global, index);
        f64 error = block_error(format, scheme, squared, rows, cols, values.data(), block, scale, global);
        if (is_nan(chosen) || error < smallest) {
          chosen = scale;
          smallest = error;
        }
      }
    }
    store_scale(format.scale, chosen, scales.data() + block * scale_bytes(format.scale));
  }
  for (u64 item = 0; item < rows * div_ceil(cols, 8); item++) {
    encode_eight(format, scheme, cols, values.data(), scales.data(), global, codes.data(), item);
  }
  write_array(std::vector<f32>{global});
  write_array(scales);
  write_array(codes);
}

// For each number: the code of the definition, and that of the kernels which keep up with memory.
static void round_all(Parameters p) {
  u32 element = (u32)p.take();
  std::vector<f32> in = read_array<f32>();
  Bytes out;
  for (f32 x : in) {
    u32 fast = round_to(element, x);
    if (element == E2M1 && !is_nan(x)) {
      f32 q[8], magnitude = magnitude_of(x);
      for (f32 &each : q) each = magnitude < 6.75f ? magnitude : 6.0f;
      fast = (e2m1_magnitudes(q) >> 28 & 7) | (bits_of(x) >> 31) << 3;
    }
    if (element == E4M3FN) fast = e4m3_codes(0.0f, x, 0.0f, 0.0f) >> 8 & 0xff;
    out.push_back((u8)round_to(element, x));
    out.push_back((u8)fast);
  }
  write_array(out);
}

// Pairs of a number and what it is divided by: the quotient, and the fast one.
static void divide_all(Parameters) {
  std::vector<f32> in = read_array<f32>(), out;
  for (size_t i = 0; i + 1 < in.size(); i += 2) {
    out.push_back(quotient(in[i], in[i + 1]));
    bool quickly = divides_quickly(in[i + 1], magnitude_of(in[i]));
    out.push_back(quickly ? divided(in[i], reciprocal_of(in[i + 1])) : out.back());
  }
  write_array(out);
}

// Words of eight E2M1 codes: the values, the largest magnitude code with the next word, and the codes again from values and signs.
static void words_of_e2m1(Parameters) {
  std::vector<u32> in = read_array<u32>(), out;
  for (size_t i = 0; i < in.size(); i++) {
    f32 values[8], magnitudes[8];
    e2m1_values(in[i], values);
    u32 pairs[4];
    for (int k = 0; k < 8; k++) {
      out.push_back(bits_of(values[k]));
      magnitudes[k] = magnitude_of(values[k]);
      pairs[k / 2] = round_pair(bf16(), values[k / 2 * 2], values[k / 2 * 2 + 1]);
    }
    out.push_back(e2m1_largest(in[i], in[(i + 1) % in.size()]));
    out.push_back(e2m1_magnitudes(magnitudes) | e2m1_signs(pairs[0], pairs[1], pairs[2], pairs[3]));
  }
  write_array(out);
}

// Bytes of a scale and the scale of the tensor: both levels as one, quickly where that is finite.
static void two_levels_of(Parameters p) {
  u32 kind = (u32)p.take();
  f32 global = p.take_f32();
  Bytes in = read_all();
  std::vector<f32> out;
  for (u8 code : in) {
    f32 exact = combine(kind, widen(E4M3FN, code), global), quick = two_levels(kind, global).quick(e4m3_value(code));
    out.push_back(exact);
    out.push_back(magnitude_of(quick) <= F32_MAX ? quick : exact);
  }
  write_array(out);
}

// Pairs of a scale and a power of two: the E4M3 codes of the sixteen E2M1 codes times one over the other.
static void e2m1_as_e4m3(Parameters) {
  std::vector<f32> in = read_array<f32>();
  Bytes out;
  for (size_t i = 0; i + 1 < in.size(); i += 2) {
    E4m3OfE2m1 table = e4m3_of_e2m1(in[i], 1.0f / in[i + 1]);
    for (u32 codes : {0x76543210u, 0xfedcba98u}) {
      u32 found[2];
      recode_e2m1(table, codes, found[0], found[1]);
      for (int k = 0; k < 8; k++) out.push_back((u8)(found[k / 4] >> (k % 4 * 8)));
    }
  }
  write_array(out);
}

static void amax_to_power(Parameters p) {
  u32 element = (u32)p.take();
  std::vector<f32> in = read_array<f32>();
  Bytes out;
  for (f32 amax : in) {
    u32 code = rceil_code(element, amax);
    out.push_back((u8)code);
    // Its inverse, as the exponent that undoes it.
    out.push_back((u8)(e8m0_value(code) * rceil_inverse(code) == 1.0f));
  }
  write_array(out);
}

// Numbers to 16 bits and back, and scales by kind.
static void narrow(Parameters p) {
  bool is_bf16 = p.take() == 0;
  std::vector<f32> in = read_array<f32>();
  std::vector<u16> out;
  for (f32 x : in) out.push_back(is_bf16 ? bf16_bits(x) : f16_bits(x));
  write_array(out);
}

static void load_scales(Parameters p) {
  u32 kind = (u32)p.take();
  Bytes in = read_all();
  std::vector<f32> out;
  for (size_t i = 0; i + scale_bytes(kind) <= in.size(); i += scale_bytes(kind)) out.push_back(load_scale(kind, in.data() + i));
  write_array(out);
}

// Places: what row, column and word go where, and back.
static void places(Parameters p) {
  u64 order = p.take(), rows = p.take(), cols = p.take(), padded_rows = p.take();
  std::vector<u64> out;
  for (u64 row = 0; row < rows; row++) {
    out.push_back(row_place((u32)order, rows, row));
    out.push_back(row_source((u32)order, rows, row_place((u32)order, rows, row)));
    out.push_back(marlin_scale_place(row));
    out.push_back(marlin_scale_source(marlin_scale_place(row)));
    for (u64 col = 0; col < cols; col++) {
      out.push_back(tile_128x4_place(div_ceil(cols, 4), row, col));
      out.push_back(tile_8x4_place(div_ceil(cols, 4), row, col));
      out.push_back(marlin_row_offset(row) + marlin_col_offset(padded_rows, col));
    }
  }
  write_array(out);
}

static void marlin_bytes(Parameters) {
  std::vector<u32> out;
  for (u32 byte = 0; byte < 256; byte++) {
    out.push_back(s0e5m3_of_e4m3(byte));
    out.push_back(e4m3_of_s0e5m3(byte));
  }
  write_array(out);
}

int main(int count, char **words) {
  if (count < 2) return 2;
  struct {
    const char *name;
    void (*run)(Parameters);
  } operations[] = {
      {"decode-f32", decode<f32>},       {"decode-bf16", decode<bf16>},    {"decode-f16", decode<f16>},
      {"encode-f32", encode<f32>},       {"encode-bf16", encode<bf16>},    {"encode-f16", encode<f16>},
      {"round", round_all},              {"divide", divide_all},           {"words-of-e2m1", words_of_e2m1},
      {"two-levels", two_levels_of},     {"e2m1-as-e4m3", e2m1_as_e4m3},   {"amax-to-power", amax_to_power},
      {"narrow", narrow},                {"load-scales", load_scales},     {"places", places},
      {"marlin-bytes", marlin_bytes},
  };
  for (auto &operation : operations) {
    if (std::string(words[1]) == operation.name) {
      operation.run({words + 2, words + count});
      return 0;
    }
  }
  fprintf(stderr, "no operation `%s`\n", words[1]);
  return 2;
}
