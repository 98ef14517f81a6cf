// SPDX-License-Identifier: Apache-2.0
// Computes matrix products on matrix units, whose operands are read as they are. Build options: those of
// mma_results.cl; B_FLOATS when B's elements are floats.

#define TILE_K (2 * STEP)
#define A_ROW (TILE_K + PAD_ALONG)
#ifdef B_COLUMNS
#define B_ROWS TILE_N
#define B_WIDTH TILE_K
#define B_ROW (TILE_K + PAD_ALONG)
#else
#define B_ROWS TILE_K
#define B_WIDTH TILE_N
#define B_ROW (TILE_N + PAD_ACROSS)
#endif
// The groups of four elements that each work-item brings.
#define A_QUADS (TILE_M * TILE_K / 4 / ITEMS)
#define B_QUADS (TILE_N * TILE_K / 4 / ITEMS)

typedef struct {
  float4 a[A_QUADS], b[B_QUADS];
} Staged;

// Loads four elements of B, as LoadFour does.
#ifdef B_FLOATS
#define FOUR(p, count, aligned) LoadFour(p, count, aligned)
#else
#define B_AT(p, i, count) ((count) > (i) ? VALUE(p, i) : 0.0f)
#define FOUR(p, count, aligned) (float4)(B_AT(p, 0, count), B_AT(p, 1, count), B_AT(p, 2, count), B_AT(p, 3, count))
#endif

// Loads the quads of a work-item in a slice of A, which still has `rows` rows and `depth` columns from a on, and in a
// slice of the matrix that has B's elements, with b_rows and b_columns.
INLINE Staged Fetch(__global const float* a, __global const ELEMENT* b, const long a_stride, const long b_stride,
                    const long rows, const long depth, const long b_rows, const long b_columns, const bool a_aligned,
                    const bool b_aligned) {
  const int item = get_local_id(0);
  Staged staged;
  REPEAT(i, A_QUADS) {
    const int quad = item + i * ITEMS, r = quad / (TILE_K / 4), d = quad % (TILE_K / 4) * 4;
    staged.a[i] = LoadFour(a + r * a_stride + d, r < rows ? depth - d : 0, a_aligned);
  }
  REPEAT(i, B_QUADS) {
    const int quad = item + i * ITEMS, r = quad / (B_WIDTH / 4), d = quad % (B_WIDTH / 4) * 4;
    staged.b[i] = FOUR(b + r * b_stride + d, r < b_rows ? b_columns - d : 0, b_aligned);
  }
  return staged;
}

INLINE void Store(const Staged* staged, __local Number* a_tile, __local Number* b_tile) {
  const int item = get_local_id(0);
  REPEAT(i, A_QUADS) {
    const int quad = item + i * ITEMS;
    StoreFour(a_tile + quad / (TILE_K / 4) * A_ROW + quad % (TILE_K / 4) * 4, staged->a[i]);
  }
  REPEAT(i, B_QUADS) {
    const int quad = item + i * ITEMS;
    StoreFour(b_tile + quad / (B_WIDTH / 4) * B_ROW + quad % (B_WIDTH / 4) * 4, staged->b[i]);
  }
}

// C [m, n] = A [m, k] · B + bias [n], as matrix.cl has it.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void MultiplyMma(
    __global const float* a, __global const ELEMENT* b, __global float* c, __global const float* bias,
    const Place a_place, const Place b_place, const Place c_place, const Heads heads, const long m, const long n,
    const long k) {
  TILE(a_tiles, 2 * TILE_M * A_ROW);
  TILE(b_tiles, 2 * B_ROWS * B_ROW);
  EXCHANGE(exchange, WARPS_M * WARPS_N, LEFTS, RIGHTS);
  const int warp = get_local_id(0) / WARP, top = warp / WARPS_N * (LEFTS * 16), side = warp % WARPS_N * (RIGHTS * 8);
  long id = get_group_id(0);
  const long column = Next(&id, (n + TILE_N - 1) / TILE_N) * TILE_N,
             row = Next(&id, (m + TILE_M - 1) / TILE_M) * TILE_M;
  const long z = id;
  const long a_row = a_place.row, b_row = b_place.row;
  const long a_begin = Begin(a_place, heads, z) + row * a_row;
#ifdef B_COLUMNS
  const long b_begin = Begin(b_place, heads, z) + column * b_row, b_deeper = 1;
#define B_LEFT(depth) columns, k - (depth)
#else
  const long b_begin = Begin(b_place, heads, z) + column, b_deeper = b_row;
#define B_LEFT(depth) k - (depth), columns
#endif
  const bool a_aligned = (a_begin | a_row) % 4 == 0, b_aligned = (b_begin | b_row) % 4 == 0;
  a += a_begin;
  b += b_begin;
  c += Begin(c_place, heads, z) + row * c_place.row + column;
  const long rows = m - row, columns = n - column;
  Sums sums[LEFTS * RIGHTS];
  REPEAT(i, LEFTS * RIGHTS) { REPEAT(e, 4) sums[i].x[e] = 0.0f; }
  Staged staged = Fetch(a, b, a_row, b_row, rows, k, B_LEFT(0), a_aligned, b_aligned);
  Store(&staged, a_tiles, b_tiles);
  barrier(CLK_LOCAL_MEM_FENCE);
  int buffer = 0;
  for (long depth = 0; depth < k; depth += TILE_K) {
    // The next slice is on its way while this one is multiplied.
    const long next = depth + TILE_K;
    if (next < k)
      staged = Fetch(a + next, b + next * b_deeper, a_row, b_row, rows, k - next, B_LEFT(next), a_aligned, b_aligned);
    __local const Number *a_tile = a_tiles + buffer * (TILE_M * A_ROW), *b_tile = b_tiles + buffer * (B_ROWS * B_ROW);
    REPEAT(step, TILE_K / STEP) {
      Left left[LEFTS];
      Right right[RIGHTS];
      REPEAT(i, LEFTS) left[i] = LoadLeft(a_tile + (top + i * 16) * A_ROW + step * STEP, A_ROW);
      REPEAT(j, RIGHTS / 2) {
#ifdef B_COLUMNS
        LoadRightsOfRows(b_tile + (side + j * 16) * B_ROW + step * STEP, B_ROW, right + j * 2);
#else
        LoadRightsOfColumns(b_tile + step * STEP * B_ROW + side + j * 16, B_ROW, right + j * 2);
#endif
      }
      AddProducts(sums, RIGHTS, left, LEFTS, right, RIGHTS, exchange);
    }
    buffer = 1 - buffer;
    if (next < k) Store(&staged, a_tiles + buffer * (TILE_M * A_ROW), b_tiles + buffer * (B_ROWS * B_ROW));
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const Results results = {a, b, c, a_row, b_row, c_place.row, k, rows, columns, bias ? bias + column : 0};
  StoreSums(sums, top, side, &results);
}
