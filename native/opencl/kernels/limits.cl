// SPDX-License-Identifier: Apache-2.0
// These kernels do what a device can do fastest: multiply-adds on registers alone, and copying. Build option: WIDTH of
// the vectors, 4 as GPUs have room for, or 16 as CPUs compute with.

#define SUMS 8
#define JOIN(a, b) a##b
#define VECTOR(width) JOIN(float, width)
typedef VECTOR(WIDTH) Vector;

// Computes 2 · WIDTH · SUMS · steps floating-point operations in each work-item. The sums start from different numbers,
// since a compiler that found them equal would compute fewer.
__kernel void MultiplyAdds(__global float* numbers, const int steps) {
  const Vector factor = (Vector)(0.5f), term = (Vector)(0.25f);
  Vector sums[SUMS];
  for (int j = 0; j < SUMS; ++j) sums[j] = (Vector)(numbers[get_local_id(0)]) + (float)j;
  for (int i = 0; i < steps; ++i)
    for (int j = 0; j < SUMS; ++j) sums[j] = sums[j] * factor + term;
  Vector all = sums[0];
  for (int j = 1; j < SUMS; ++j) all += sums[j];
  float total = 0.0f;
  for (int j = 0; j < WIDTH; ++j) total += ((const float*)&all)[j];
  if (total == 123.0f) numbers[get_local_id(0)] = total;
}

__kernel void CopyAll(__global const float4* from, __global float4* to, const long count) {
  for (long i = get_global_id(0); i < count; i += get_global_size(0)) to[i] = from[i];
}
