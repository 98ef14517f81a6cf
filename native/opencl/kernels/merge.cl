// SPDX-License-Identifier: Apache-2.0
// Work-groups that shared the keys of a row each found a part of its result. This kernel puts the parts together. Build
// option: GROUP_ITEMS.

// Computes the `count` elements of output, and lse [heads, rows], from the `sums` and `blends` that AttendOnline left.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void MergeParts(
    const Problem problem, __global const float* sinks, __global const float* head_mask, const long parts,
    __global const float* sums, __global const float* blends, __global float* output, __global float* lse,
    const long count, __global uint* unusual) {
  const Problem* p = &problem;
  const long i = get_global_id(0);
  if (i >= count) return;
  const long members = p->heads.members, rows = p->rows * members;
  const long column = i % p->value_width, n = i / p->value_width % rows, group = i / p->value_width / rows;
  const long first = group * parts * rows + n, z = group * members + n % members, t = n / members;
  float max = LOWEST, sum = 0.0f, blend = 0.0f;
  for (long part = 0; part < parts; ++part) max = fmax(max, sums[(first + part * rows) * 2]);
  for (long part = 0; part < parts; ++part) {
    const long at = first + part * rows;
    const float share = exp2(sums[at * 2] - max);
    sum = fma(sums[at * 2 + 1], share, sum);
    blend = fma(blends[at * p->value_width + column], share, blend);
  }
  const RowEnd row = EndRow(p, sinks, head_mask, z, max, sum);
  const float value = row.factor == 0.0f ? 0.0f : blend * row.factor;
  output[Begin(p->output, p->heads, z) + t * p->output.row + column] = value;
  if (lse && column == 0) lse[z * p->rows + t] = row.lse;
  if (!isfinite(value)) atomic_or(unusual, 1u);
}
