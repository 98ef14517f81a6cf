// SPDX-License-Identifier: Apache-2.0
// What layers are made of beside products and attention. Build option: GROUP_ITEMS, a power of two.

// The sum of the work-group's values.
float Sum(__local float* scratch, const float value) {
  const int item = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_size = GROUP_ITEMS / 2; half_size > 0; half_size /= 2) {
    if (item < half_size) scratch[item] += scratch[item + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return scratch[0];
}

// A row of x [rows, width] for each work-group; y may be x.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void RmsNorm(
    __global const float* x, __global const float* weight, const float eps, const long width, __global float* y) {
  __local float scratch[GROUP_ITEMS];
  const long row = (long)get_group_id(0) * width;
  float squares = 0.0f;
  for (long i = get_local_id(0); i < width; i += GROUP_ITEMS) squares += x[row + i] * x[row + i];
  const float factor = 1.0f / sqrt(Sum(scratch, squares) / (float)width + eps);
  for (long i = get_local_id(0); i < width; i += GROUP_ITEMS) y[row + i] = x[row + i] * factor * weight[i];
}

// The same, around the mean; without a bias it is null.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void LayerNorm(
    __global const float* x, __global const float* weight, __global const float* bias, const float eps,
    const long width, __global float* y) {
  __local float scratch[GROUP_ITEMS];
  const long row = (long)get_group_id(0) * width;
  float sum = 0.0f, squares = 0.0f;
  for (long i = get_local_id(0); i < width; i += GROUP_ITEMS) sum += x[row + i];
  const float mean = Sum(scratch, sum) / (float)width;
  for (long i = get_local_id(0); i < width; i += GROUP_ITEMS) squares += (x[row + i] - mean) * (x[row + i] - mean);
  const float factor = 1.0f / sqrt(Sum(scratch, squares) / (float)width + eps);
  for (long i = get_local_id(0); i < width; i += GROUP_ITEMS)
    y[row + i] = (x[row + i] - mean) * factor * weight[i] + (bias ? bias[i] : 0.0f);
}

// x [steps, heads, 2 half_width] in place; cosine and sine [steps, half_width]. A work-item for each pair.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void Rotate(
    __global float* x, __global const float* cosine, __global const float* sine, const long heads,
    const long half_width, const long pairs, const int interleaved) {
  const long pair = get_global_id(0);
  if (pair >= pairs) return;
  const long i = pair % half_width, row = pair / half_width, angle = row / heads * half_width + i;
  const long first = row * 2 * half_width + (interleaved ? 2 * i : i), second = first + (interleaved ? 1 : half_width);
  const float a = x[first], b = x[second], c = cosine[angle], s = sine[angle];
  x[first] = a * c - b * s;
  x[second] = b * c + a * s;
}

__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void SwiGlu(
    __global float* gate, __global const float* up, const long count) {
  const long i = get_global_id(0);
  if (i < count) gate[i] = gate[i] / (1.0f + exp(-gate[i])) * up[i];
}

// 1 + erf(−z) would cancel to nothing for large z: there it is erfc(z).
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void Gelu(__global float* x, const long count) {
  const long i = get_global_id(0);
  if (i < count) x[i] = 0.5f * x[i] * erfc(-0.70710678118654752f * x[i]);
}

// (1 + tanh z) / 2 is 1 / (1 + exp(−2z)), which does not cancel.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void GeluTanh(__global float* x, const long count) {
  const long i = get_global_id(0);
  if (i >= count) return;
  const float v = x[i];
  x[i] = v / (1.0f + exp(-1.59576912160573071f * (v + 0.044715f * v * v * v)));
}

__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void Relu(__global float* x, const long count) {
  const long i = get_global_id(0);
  if (i < count) x[i] = x[i] < 0.0f ? 0.0f : x[i];
}

__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void Add(
    __global float* x, __global const float* y, const long count) {
  const long i = get_global_id(0);
  if (i < count) x[i] += y[i];
}
