// SPDX-License-Identifier: Apache-2.0
// What a device can do at most: multiply-adds on registers alone, and copying.

#define SUMS 8

// 8 · SUMS · steps floating-point operations in each work-item. The sums start from different numbers, or the compiler
// would find them equal and compute fewer.
__kernel void MultiplyAdds(__global float* numbers, const int steps) {
  const float4 factor = (float4)(0.5f), term = (float4)(0.25f);
  float4 sums[SUMS];
  for (int j = 0; j < SUMS; ++j) sums[j] = (float4)(numbers[get_local_id(0)]) + (float)j;
  for (int i = 0; i < steps; ++i)
    for (int j = 0; j < SUMS; ++j) sums[j] = sums[j] * factor + term;
  float4 all = sums[0];
  for (int j = 1; j < SUMS; ++j) all += sums[j];
  if (all.x + all.y + all.z + all.w == 123.0f) numbers[get_local_id(0)] = all.x;
}

__kernel void CopyAll(__global const float4* from, __global float4* to, const long count) {
  for (long i = get_global_id(0); i < count; i += get_global_size(0)) to[i] = from[i];
}
