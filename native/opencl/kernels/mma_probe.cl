// SPDX-License-Identifier: Apache-2.0
// Runs the instructions for matrix units by themselves.

INLINE void BringTile(__local Number* tile, __global const Number* from, const int rows, const int columns) {
  for (int i = Lane(); i < rows * columns / CHUNK; i += WARP) Bring(tile + i * CHUNK, from + i * CHUNK, CHUNK);
}

INLINE void StoreProduct(__global float* product, const Sums* sums) {
  REPEAT(j, 2) { REPEAT(e, 4) product[(LaneRow() + e / 2 * 8) * 16 + j * 8 + LanePair() * 2 + e % 2] = sums[j].x[e]; }
}

// Computes product [16, 16] = left [16, STEP] · right [STEP, 16], and the same once more to `again` from `turned`, the
// transpose of right; and the largest number and the sum of each row of the product's first eight columns, maxima [16]
// and totals [16].
__kernel __attribute__((reqd_work_group_size(WARP, 1, 1))) void MultiplyOnce(
    __global const Number* left, __global const Number* right, __global const Number* turned, __global float* product,
    __global float* again, __global float* maxima, __global float* totals) {
  TILE(left_tile, 16 * STEP);
  TILE(right_tile, STEP * 16);
  TILE(turned_tile, 16 * STEP);
  EXCHANGE(exchange, 1, 1, 2);
  BringTile(left_tile, left, 16, STEP);
  BringTile(right_tile, right, STEP, 16);
  BringTile(turned_tile, turned, 16, STEP);
  Arrived();
  barrier(CLK_LOCAL_MEM_FENCE);
  const Left l = LoadLeft(left_tile, STEP);
  Right r[2];
  Sums sums[2], other[2];
  REPEAT(j, 2) { REPEAT(e, 4) sums[j].x[e] = other[j].x[e] = 0.0f; }
  LoadRightsOfColumns(right_tile, 16, r);
  Accumulate(sums, 2, &l, 1, r, 2, exchange);
  StoreProduct(product, sums);
  LoadRightsOfRows(turned_tile, STEP, r);
  Accumulate(other, 2, &l, 1, r, 2, exchange);
  StoreProduct(again, other);
  float most[2], total[2];
  REPEAT(i, 2) {
    most[i] = fmax(sums[0].x[2 * i], sums[0].x[2 * i + 1]);
    total[i] = sums[0].x[2 * i] + sums[0].x[2 * i + 1];
  }
  CombineRows(most, 2, true, exchange);
  CombineRows(total, 2, false, exchange);
  if (LanePair() == 0) {
    REPEAT(i, 2) {
      maxima[LaneRow() + 8 * i] = most[i];
      totals[LaneRow() + 8 * i] = total[i];
    }
  }
}
