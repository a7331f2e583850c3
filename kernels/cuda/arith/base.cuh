// What every other file needs: integer names, bits of floats, and the few operations that a device has as one instruction.
// All of it compiles as C++ too.
#pragma once

#if defined(__CUDACC__)
#define BLOCKSCALE_FN static __host__ __device__ __forceinline__
#define BLOCKSCALE_FN_MEMBER __host__ __device__ __forceinline__
#else
#include <cmath>
#include <cstring>
#define BLOCKSCALE_FN static inline
#define BLOCKSCALE_FN_MEMBER inline
#endif

// E4M3 and E5M2 are converted by instructions from here on, E2M1 in the images of one family or chip only.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define BLOCKSCALE_HAS_FP8 1
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && (defined(__CUDA_ARCH_SPECIFIC__) || defined(__CUDA_ARCH_FAMILY_SPECIFIC__))
#define BLOCKSCALE_HAS_FP4 1
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef float f32;
typedef double f64;

BLOCKSCALE_FN u32 bits_of(f32 x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  u32 bits;
  memcpy(&bits, &x, 4);
  return bits;
#endif
}

BLOCKSCALE_FN f32 from_bits(u32 bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  f32 x;
  memcpy(&x, &bits, 4);
  return x;
#endif
}

BLOCKSCALE_FN f32 fused(f32 a, f32 b, f32 c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

// The byte permutation of the device: each nibble of `select` picks one of the eight bytes of `high:low`.
BLOCKSCALE_FN u32 permute_bytes(u32 low, u32 high, u32 select) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(low, high, select);
#else
  u64 bytes = (u64)high << 32 | low;
  u32 result = 0;
  for (u32 i = 0; i < 4; i++) result |= (u32)(bytes >> ((select >> (4 * i) & 7) * 8) & 0xff) << (8 * i);
  return result;
#endif
}

BLOCKSCALE_FN u32 min_u32(u32 a, u32 b) { return a < b ? a : b; }
BLOCKSCALE_FN u32 max_u32(u32 a, u32 b) { return a > b ? a : b; }
BLOCKSCALE_FN u64 min_u64(u64 a, u64 b) { return a < b ? a : b; }
BLOCKSCALE_FN u64 div_ceil(u64 a, u64 b) { return a / b + (a % b != 0); }
BLOCKSCALE_FN f32 max_f32(f32 a, f32 b) { return fmaxf(a, b); }
BLOCKSCALE_FN f32 min_f32(f32 a, f32 b) { return fminf(a, b); }

static constexpr u32 MAGNITUDE = 0x7fffffff;
static constexpr u32 INFINITY_BITS = 0x7f800000;
static constexpr u32 FRACTION = 0x007fffff;
static constexpr u32 NAN_BITS = 0x7fc00000;
static constexpr f32 F32_MAX = 3.40282346638528859812e+38f;
static constexpr f32 F32_MIN_NORMAL = 1.17549435082228750797e-38f;

BLOCKSCALE_FN bool is_nan(f32 x) { return (bits_of(x) & MAGNITUDE) > INFINITY_BITS; }
BLOCKSCALE_FN bool is_finite(f32 x) { return (bits_of(x) & MAGNITUDE) < INFINITY_BITS; }
BLOCKSCALE_FN f32 magnitude_of(f32 x) { return from_bits(bits_of(x) & MAGNITUDE); }
