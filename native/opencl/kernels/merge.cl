// SPDX-License-Identifier: Apache-2.0
// Work-groups that shared the keys of a row each found a part of its result. These kernels put the parts together.
// Build option: GROUP_ITEMS.

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

// Returns where block i begins when `count` is cut into `blocks` equal ones.
long BlockBegin(const long i, const long count, const long blocks) { return i * count / blocks; }

#define ROW_LANES (GROUP_ITEMS < 32 ? GROUP_ITEMS : 32)  // so many items share the rows of a block
#define GROUP_BLOCKS (GROUP_ITEMS / ROW_LANES)

// Makes one end of those that SumBlocks left in all parts of a row, in place of the first part's: the score from which
// exponentials are measured, and the factor that makes weights of them.
__kernel void EndRows(const Problem problem, __global const float* sinks, const long parts, __global float2* ends) {
  const Problem* p = &problem;
  const long r = get_global_id(0);
  if (r >= p->rows) return;
  float most = LOWEST, total = 0.0f;
  for (long part = 0; part < parts; ++part) most = fmax(most, ends[part * p->rows + r].x);
  for (long part = 0; part < parts; ++part) {
    const float2 end = ends[part * p->rows + r];
    total = fma(end.y, exp2(end.x - most), total);
  }
  ends[r] = (float2)(most, EndRow(p, sinks, 0, 0, most, total).factor);
}

// The blocks [parts of y, columns] of a pooled map become the means of the weights of which SumBlocks left `sums` and
// EndRows `ends`, for the problem's rows. Its first row is `first_row` of the `map_rows` that are cut into
// `row_blocks`, of which y's first is `first_block`. The sums are compensated (Kahan 1965), as a block can have many
// rows.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void MergeBlocks(
    const Problem problem, __global const float2* sums, __global const float2* ends, const long first_row,
    const long map_rows, const long first_block, const long row_blocks, const long columns, __global float* y,
    const long y_first, const long y_stride) {
  __local float lanes[GROUP_ITEMS];
  const Problem* p = &problem;
  const int item = get_local_id(0), lane = item % ROW_LANES;
  const long across = (columns + GROUP_BLOCKS - 1) / GROUP_BLOCKS, row_block = get_group_id(0) / across;
  const long column = get_group_id(0) % across * GROUP_BLOCKS + item / ROW_LANES;
  const long top = BlockBegin(first_block + row_block, map_rows, row_blocks) - first_row;
  const long bottom = BlockBegin(first_block + row_block + 1, map_rows, row_blocks) - first_row;
  float sum = 0.0f, lost = 0.0f;
  for (long r = top + lane; column < columns && r < bottom; r += ROW_LANES) {
    const float2 found = sums[column * p->rows + r], end = ends[r];
    const float weight = found.x * exp2(found.y - end.x) * end.y;
    const float term = weight - lost, next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  lanes[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane != 0 || column >= columns) return;
  float all = 0.0f;
  for (int i = 0; i < ROW_LANES; ++i) all += lanes[item + i];
  const long width = BlockBegin(column + 1, p->keys, columns) - BlockBegin(column, p->keys, columns);
  y[y_first + row_block * y_stride + column] = all / (float)((bottom - top) * width);
}
