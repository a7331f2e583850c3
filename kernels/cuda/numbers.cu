// Plain numbers in another width.
#include "device.cuh"

template <typename From, typename To>
static __device__ __forceinline__ void recast(u64 elements, const From *in, To *out) {
  for (u64 i = first_item(); i < elements; i += item_stride()) store_real(out + i, to_f32(in[i]));
}

BLOCKSCALE_KERNEL widen_bf16_to_f32(u64 elements, const bf16 *in, f32 *out) { recast(elements, in, out); }
BLOCKSCALE_KERNEL widen_f16_to_f32(u64 elements, const f16 *in, f32 *out) { recast(elements, in, out); }
BLOCKSCALE_KERNEL narrow_f32_to_bf16(u64 elements, const f32 *in, bf16 *out) { recast(elements, in, out); }
BLOCKSCALE_KERNEL narrow_f32_to_f16(u64 elements, const f32 *in, f16 *out) { recast(elements, in, out); }
