// Numbers as encoding takes them: eight or more in the registers of a thread.
#pragma once
#include "arith/generic.cuh"
#include "device.cuh"

namespace encode {

// Larger magnitudes of two pairs, NaN where there is one.
static __device__ __forceinline__ u32 max_pair(bf16, u32 a, u32 b) {
  u32 max;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(max) : "r"(a), "r"(b));
  return max;
}
static __device__ __forceinline__ u32 max_pair(f16, u32 a, u32 b) {
  u32 max;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(max) : "r"(a), "r"(b));
  return max;
}

// Eight numbers as they lie in memory.
template <typename T>
struct Eight {
  Words<4> raw;
  static __device__ __forceinline__ Eight load(const T *at) { return {::load<4>(at)}; }
  static __device__ __forceinline__ Eight zero() { return {{0, 0, 0, 0}}; }
  __device__ __forceinline__ void values(f32 (&v)[8]) const {
#pragma unroll
    for (int i = 0; i < 4; i++) widen_pair(T(), raw.word[i], v[2 * i], v[2 * i + 1]);
  }
  __device__ __forceinline__ void magnitudes(f32 (&v)[8]) const {
#pragma unroll
    for (int i = 0; i < 4; i++) widen_pair(T(), raw.word[i] & 0x7fff7fff, v[2 * i], v[2 * i + 1]);
  }
  __device__ __forceinline__ u32 signs() const { return e2m1_signs(raw.word[0], raw.word[1], raw.word[2], raw.word[3]); }
  // Bits of the largest magnitude; not those of a finite number where one of the eight is none.
  __device__ __forceinline__ u32 amax_or_special() const {
    u32 max = raw.word[0] & 0x7fff7fff;
#pragma unroll
    for (int i = 1; i < 4; i++) max = max_pair(T(), max, raw.word[i] & 0x7fff7fff);
    f32 first, second;
    widen_pair(T(), max, first, second);
    return max_u32(bits_of(first), bits_of(second));
  }
};

template <>
struct Eight<f32> {
  Words<8> raw;
  static __device__ __forceinline__ Eight load(const f32 *at) { return {::load<8>(at)}; }
  static __device__ __forceinline__ Eight zero() { return {{0, 0, 0, 0, 0, 0, 0, 0}}; }
  __device__ __forceinline__ void values(f32 (&v)[8]) const {
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = from_bits(raw.word[i]);
  }
  __device__ __forceinline__ void magnitudes(f32 (&v)[8]) const {
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = from_bits(raw.word[i] & MAGNITUDE);
  }
  __device__ __forceinline__ u32 signs() const {
    return e2m1_signs(permute_bytes(raw.word[0], raw.word[1], 0x7632), permute_bytes(raw.word[2], raw.word[3], 0x7632),
                      permute_bytes(raw.word[4], raw.word[5], 0x7632), permute_bytes(raw.word[6], raw.word[7], 0x7632));
  }
  __device__ __forceinline__ u32 amax_or_special() const {
    u32 max = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) max = max_u32(max, raw.word[i] & MAGNITUDE);
    return max;
  }
};

// Bits of the largest finite magnitude of eight numbers, the slow way.
template <typename T>
static __device__ __forceinline__ u32 finite_amax(const Eight<T> &eight) {
  f32 v[8];
  eight.values(v);
  u32 max = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) max = max_u32(max, finite_magnitude(v[i]));
  return max;
}

}  // namespace encode
