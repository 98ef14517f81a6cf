// SPDX-License-Identifier: Apache-2.0
// Matrix products, tile by tile. Build options: TILE_M, TILE_N, TILE_K, the tile; WORK_M, WORK_N, what each work-item
// computes of it; ELEMENT and VALUE(p, i), the type of B's elements in memory and element i as a float; B_COLUMNS,
// when B is [n, k] instead of [k, n].

#define ITEMS_M (TILE_M / WORK_M)
#define ITEMS_N (TILE_N / WORK_N)
#define ITEMS (ITEMS_M * ITEMS_N)

// C [m, n] = A [m, k] · B + bias [n], for each head; each is where its place says. Without bias that is null.
__kernel __attribute__((reqd_work_group_size(ITEMS_N, ITEMS_M, 1))) void Multiply(
    __global const float* a, __global const ELEMENT* b, __global float* c, __global const float* bias,
    const Place a_place, const Place b_place, const Place c_place, const Heads heads, const long m, const long n,
    const long k) {
  __local float a_tile[TILE_K][TILE_M + 1];  // one more, so that a column is not all in one memory bank
  __local float b_tile[TILE_K][TILE_N + 1];
  const int x = get_local_id(0), y = get_local_id(1), item = y * ITEMS_N + x;
  const long column = (long)get_group_id(0) * TILE_N, row = (long)get_group_id(1) * TILE_M, z = get_group_id(2);
  a += Begin(a_place, heads, z);
  b += Begin(b_place, heads, z);
  c += Begin(c_place, heads, z);
  float sums[WORK_M][WORK_N];
  for (int i = 0; i < WORK_M; ++i)
    for (int j = 0; j < WORK_N; ++j) sums[i][j] = 0.0f;
  for (long depth = 0; depth < k; depth += TILE_K) {
    for (int i = item; i < TILE_M * TILE_K; i += ITEMS) {
      const int r = i / TILE_K, d = i % TILE_K;
      a_tile[d][r] = row + r < m && depth + d < k ? a[(row + r) * a_place.row + depth + d] : 0.0f;
    }
    for (int i = item; i < TILE_N * TILE_K; i += ITEMS) {
#ifdef B_COLUMNS
      const int s = i / TILE_K, d = i % TILE_K;
      b_tile[d][s] = column + s < n && depth + d < k ? VALUE(b, (column + s) * b_place.row + depth + d) : 0.0f;
#else
      const int d = i / TILE_N, s = i % TILE_N;
      b_tile[d][s] = column + s < n && depth + d < k ? VALUE(b, (depth + d) * b_place.row + column + s) : 0.0f;
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 0; d < TILE_K; ++d) {
      float left[WORK_M], right[WORK_N];
      for (int i = 0; i < WORK_M; ++i) left[i] = a_tile[d][y + i * ITEMS_M];
      for (int j = 0; j < WORK_N; ++j) right[j] = b_tile[d][x + j * ITEMS_N];
      for (int i = 0; i < WORK_M; ++i)
        for (int j = 0; j < WORK_N; ++j) sums[i][j] = fma(left[i], right[j], sums[i][j]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < WORK_M; ++i)
    for (int j = 0; j < WORK_N; ++j) {
      const long r = row + y + i * ITEMS_M, s = column + x + j * ITEMS_N;
      if (r < m && s < n) c[r * c_place.row + s] = sums[i][j] + (bias ? bias[s] : 0.0f);
    }
}
