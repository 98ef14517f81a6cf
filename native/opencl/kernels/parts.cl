// SPDX-License-Identifier: Apache-2.0
// Adds up products whose depth was cut into parts.

// C [m, n] of each head becomes the bias and the sum of `parts` dense ones, each of which has all heads.
__kernel void AddParts(__global const float* from, __global float* c, __global const float* bias, const Place c_place,
                       const Heads heads, const long m, const long n, const long parts, const long part_size) {
  const long i = get_global_id(0);
  if (i >= part_size) return;
  float sum = bias ? bias[i % n] : 0.0f;
  for (long part = 0; part < parts; ++part) sum += from[part * part_size + i];
  c[Begin(c_place, heads, i / (m * n)) + i / n % m * c_place.row + i % n] = sum;
}
