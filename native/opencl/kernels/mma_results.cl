// SPDX-License-Identifier: Apache-2.0
// Stores what matrix units have multiplied. Build options: those of mma.cl; TILE_M, TILE_N, the tile of a work-group;
// WARPS_M, WARPS_N, the warps that share it; ELEMENT, VALUE(p, i) and B_COLUMNS as matrix.cl has them.

#define ITEMS (WARPS_M * WARPS_N * WARP)
#define LEFTS (TILE_M / WARPS_M / 16)
#define RIGHTS (TILE_N / WARPS_N / 8)

// A tile of C, and what it is the product of: pointers to its first row and column, the distances of rows, and the
// rows and columns that there are from it on.
typedef struct {
  __global const float* a;
  __global const ELEMENT* b;
  __global float* c;
  long a_row, b_row, c_row, k, rows, columns;
  __global const float* bias;
} Results;

// Computes element (r, s) in fp32, where the parts of infinite and very large numbers do not have the answer.
float PlainSum(const Results* results, const int r, const int s) {
  __global const float* a = results->a + r * results->a_row;
#ifdef B_COLUMNS
  __global const ELEMENT* b = results->b + s * results->b_row;
  const long b_step = 1;
#else
  __global const ELEMENT* b = results->b + s;
  const long b_step = results->b_row;
#endif
  float sum = 0.0f;
  for (long d = 0; d < results->k; ++d) sum = fma(a[d], VALUE(b, d * b_step), sum);
  return sum;
}

// Stores two neighbours, of which there are `count`. `aligned` says that p is at a multiple of two floats.
INLINE void StoreTwo(__global float* p, const float2 x, const long count, const bool aligned) {
  if (aligned && count >= 2) {
    *(__global float2*)p = x;
  } else {
    if (count > 0) p[0] = x.x;
    if (count > 1) p[1] = x.y;
  }
}

// Stores the sums of a warp, whose part of the tile begins in row `top` and column `side`.
INLINE void StoreSums(const Sums* sums, const int top, const int side, const Results* results) {
  __global float* c = results->c;
  __global const float* bias = results->bias;
  const bool aligned = ((size_t)c / sizeof(float) | results->c_row) % 2 == 0;
  bool good = true;
  REPEAT(j, RIGHTS) {
    const int s = side + j * 8 + LanePair() * 2;
    const long count = results->columns - s;
    const float2 shift = bias ? LoadTwo(bias + s, count, false) : (float2)(0.0f);
    REPEAT(i, LEFTS * 2) {
      const int r = top + i * 8 + LaneRow();
      const float* x = sums[i / 2 * RIGHTS + j].x + i % 2 * 2;
      good = good && isfinite(x[0]) && isfinite(x[1]);
      if (r < results->rows) StoreTwo(c + r * results->c_row + s, (float2)(x[0], x[1]) + shift, count, aligned);
    }
  }
  if (good) return;
#pragma unroll 1
  for (int i = 0; i < LEFTS * RIGHTS * 4; ++i) {
    const int e = i % 4, tile = i / 4;
    const int r = top + tile / RIGHTS * 16 + LaneRow() + e / 2 * 8;
    const int s = side + tile % RIGHTS * 8 + LanePair() * 2 + e % 2;
    if (r >= results->rows || s >= results->columns || isfinite(c[r * results->c_row + s])) continue;
    c[r * results->c_row + s] = PlainSum(results, r, s) + (bias ? bias[s] : 0.0f);
  }
}
