// SPDX-License-Identifier: Apache-2.0
// One instruction of the matrix units by itself.

// product [16, 8] = left [16, STEP] · right [STEP, 8]; maxima [16] and totals [16], of the product's rows.
__kernel __attribute__((reqd_work_group_size(WARP, 1, 1))) void MultiplyOnce(__global const float* left,
                                                                             __global const float* right,
                                                                             __global float* product,
                                                                             __global float* maxima,
                                                                             __global float* totals) {
  __local PAIR left_tile[16 * STEP_PAIRS], right_tile[8 * STEP_PAIRS];
  EXCHANGE(exchange, 1, 1, 1);
  const int lane = Lane();
  for (int i = lane; i < 16 * STEP_PAIRS; i += WARP) left_tile[i] = MakePair(left[2 * i], left[2 * i + 1]);
  for (int i = lane; i < 8 * STEP_PAIRS; i += WARP) {
    const int column = i % 8, depth = i / 8 * 2;
    right_tile[i] = MakePair(right[depth * 8 + column], right[(depth + 1) * 8 + column]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const Left l = LoadLeft(left_tile, STEP_PAIRS);
  const Right r = LoadRight(right_tile, 1, 8);
  Sums sums = {{0.0f, 0.0f, 0.0f, 0.0f}};
  Accumulate(&sums, 1, &l, 1, &r, 1, exchange);
  float most[2], total[2];
  REPEAT(i, 2) {
    most[i] = fmax(sums.x[2 * i], sums.x[2 * i + 1]);
    total[i] = sums.x[2 * i] + sums.x[2 * i + 1];
  }
  CombineRows(most, 2, true, exchange);
  CombineRows(total, 2, false, exchange);
  for (int i = 0; i < 2; ++i) {
    const int row = LaneRow() + 8 * i;
    for (int e = 0; e < 2; ++e) product[row * 8 + LanePair() * 2 + e] = sums.x[2 * i + e];
    if (LanePair() == 0) {
      maxima[row] = most[i];
      totals[row] = total[i];
    }
  }
}
