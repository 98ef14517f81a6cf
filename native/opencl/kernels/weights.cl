// SPDX-License-Identifier: Apache-2.0
// Copies rows of weights as floats. They are embeddings when the weights are the table of these. Build options:
// GROUP_ITEMS; ELEMENT, the type of the weights in memory; VALUE(p, i), element i as a float.

// Row i of to [rows, width], whose rows are `stride` apart, is row ids[i] of weights [.., width], which begin with row
// `first`; rows that are not among these `count` stay as they are.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void CopyRows(
    __global const ELEMENT* weights, const long first, const long count, __global const int* ids, const long width,
    __global float* to, const long to_first, const long stride, const long elements) {
  const long i = get_global_id(0);
  if (i >= elements) return;
  const long row = i / width, column = i % width, from = ids[row] - first;
  if (from >= 0 && from < count) to[to_first + row * stride + column] = VALUE(weights, from * width + column);
}
