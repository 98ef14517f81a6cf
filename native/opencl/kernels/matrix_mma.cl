// SPDX-License-Identifier: Apache-2.0
// Matrix products on matrix units. Build options: those of mma.cl; TILE_M, TILE_N, the tile of a work-group; WARPS_M,
// WARPS_N, the warps that share it; ELEMENT, VALUE(p, i) and B_COLUMNS as matrix.cl has them, and B_FLOATS when B's
// elements are floats.

#define ITEMS (WARPS_M * WARPS_N * WARP)
#define LEFTS (TILE_M / WARPS_M / 16)
#define RIGHTS (TILE_N / WARPS_N / 8)
#define TILE_K (2 * STEP)
#define PAIRS (TILE_K / 2)
#define ROW (PAIRS + PAD_DEPTH)
#ifdef B_COLUMNS
#define B_COLUMN ROW
#define B_PAIR 1
#define B_SIZE (TILE_N * ROW)
#else
#define B_COLUMN 1
#define B_PAIR (TILE_N + PAD_ROW)
#define B_SIZE (PAIRS * B_PAIR)
#endif
// Each work-item brings so many times four elements, which become two pairs.
#define A_QUADS (TILE_M * PAIRS / 2 / ITEMS)
#define B_QUADS (TILE_N * PAIRS / 2 / ITEMS)

typedef struct {
  float4 a[A_QUADS], b[B_QUADS];
} Staged;

// Elements of B, as LoadFour and LoadTwo have them.
#ifdef B_FLOATS
#define FOUR(p, count, aligned) LoadFour(p, count, aligned)
#define TWO(p, count, aligned) LoadTwo(p, count, aligned)
#else
#define B_AT(p, i, count) ((count) > (i) ? VALUE(p, i) : 0.0f)
#define FOUR(p, count, aligned) (float4)(B_AT(p, 0, count), B_AT(p, 1, count), B_AT(p, 2, count), B_AT(p, 3, count))
#define TWO(p, count, aligned) (float2)(B_AT(p, 0, count), B_AT(p, 1, count))
#endif

// The quads of a work-item in a slice of A [m, k] and B [k, n], whose tiles begin at a and b.
INLINE Staged Fetch(__global const float* a, __global const ELEMENT* b, const long a_row, const long b_row,
                    const long m, const long n, const long k, const bool a_aligned, const bool b_aligned) {
  const int item = get_local_id(0);
  Staged staged;
  REPEAT(i, A_QUADS) {
    const int quad = item + i * ITEMS, r = quad / (PAIRS / 2), d = quad % (PAIRS / 2) * 4;
    staged.a[i] = LoadFour(a + r * a_row + d, r < m ? k - d : 0, a_aligned);
  }
  REPEAT(i, B_QUADS) {
    const int quad = item + i * ITEMS;
#ifdef B_COLUMNS
    const int s = quad / (PAIRS / 2), d = quad % (PAIRS / 2) * 4;
    staged.b[i] = FOUR(b + s * b_row + d, s < n ? k - d : 0, b_aligned);
#else
    const int d = quad / (TILE_N / 2) * 2, s = quad % (TILE_N / 2) * 2;
    staged.b[i].lo = TWO(b + d * b_row + s, d < k ? n - s : 0, b_aligned);
    staged.b[i].hi = TWO(b + (d + 1) * b_row + s, d + 1 < k ? n - s : 0, b_aligned);
#endif
  }
  return staged;
}

INLINE void Store(const Staged* staged, __local PAIR* a_tile, __local PAIR* b_tile) {
  const int item = get_local_id(0);
  REPEAT(i, A_QUADS) {
    const int quad = item + i * ITEMS;
    __local PAIR* to = a_tile + quad / (PAIRS / 2) * ROW + quad % (PAIRS / 2) * 2;
    const float4 x = staged->a[i];
    to[0] = MakePair(x.x, x.y);
    to[1] = MakePair(x.z, x.w);
  }
  REPEAT(i, B_QUADS) {
    const int quad = item + i * ITEMS;
    const float4 x = staged->b[i];
#ifdef B_COLUMNS
    __local PAIR* to = b_tile + quad / (PAIRS / 2) * ROW + quad % (PAIRS / 2) * 2;
    to[0] = MakePair(x.x, x.y);
    to[1] = MakePair(x.z, x.w);
#else
    __local PAIR* to = b_tile + quad / (TILE_N / 2) * B_PAIR + quad % (TILE_N / 2) * 2;
    to[0] = MakePair(x.x, x.z);
    to[1] = MakePair(x.y, x.w);
#endif
  }
}

// The sum of one element in fp32, for what the rounded parts of infinite and very large numbers cannot say.
float PlainSum(__global const float* a, __global const ELEMENT* b, const long b_step, const long k) {
  float sum = 0.0f;
  for (long d = 0; d < k; ++d) sum = fma(a[d], VALUE(b, d * b_step), sum);
  return sum;
}

// C [m, n] = A [m, k] · B + bias [n], as matrix.cl has it.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void MultiplyMma(
    __global const float* a, __global const ELEMENT* b, __global float* c, __global const float* bias,
    const Place a_place, const Place b_place, const Place c_place, const Heads heads, const long m, const long n,
    const long k) {
  __local PAIR a_tiles[2][TILE_M * ROW];
  __local PAIR b_tiles[2][B_SIZE];
  EXCHANGE(exchange, WARPS_M * WARPS_N, LEFTS, RIGHTS);
  const int warp = get_local_id(0) / WARP, top = warp / WARPS_N * (LEFTS * 16), side = warp % WARPS_N * (RIGHTS * 8);
  long id = get_group_id(0);
  const long column = Next(&id, (n + TILE_N - 1) / TILE_N) * TILE_N,
             row = Next(&id, (m + TILE_M - 1) / TILE_M) * TILE_M;
  const long z = id;
  const long a_row = a_place.row, b_row = b_place.row;
#ifdef B_COLUMNS
  const long b_begin = Begin(b_place, heads, z) + column * b_row, b_deeper = 1;
  const bool b_aligned = (b_begin | b_row) % 4 == 0;
#else
  const long b_begin = Begin(b_place, heads, z) + column, b_deeper = b_row;
  const bool b_aligned = (b_begin | b_row) % 2 == 0;
#endif
  const long a_begin = Begin(a_place, heads, z) + row * a_row;
  const bool a_aligned = (a_begin | a_row) % 4 == 0;
  a += a_begin;
  b += b_begin;
  c += Begin(c_place, heads, z) + row * c_place.row + column;
  const long rows = m - row, columns = n - column;
  Sums sums[LEFTS * RIGHTS];
  REPEAT(i, LEFTS * RIGHTS) { REPEAT(e, 4) sums[i].x[e] = 0.0f; }
  Staged staged = Fetch(a, b, a_row, b_row, rows, columns, k, a_aligned, b_aligned);
  Store(&staged, a_tiles[0], b_tiles[0]);
  barrier(CLK_LOCAL_MEM_FENCE);
  int buffer = 0;
  for (long depth = 0; depth < k; depth += TILE_K) {
    // The next slice is on its way while this one is multiplied.
    const long next = depth + TILE_K;
    if (next < k)
      staged = Fetch(a + next, b + next * b_deeper, a_row, b_row, rows, columns, k - next, a_aligned, b_aligned);
    REPEAT(step, TILE_K / STEP) {
      const int pair = step * STEP_PAIRS;
      Left left[LEFTS];
      Right right[RIGHTS];
      REPEAT(i, LEFTS) left[i] = LoadLeft(a_tiles[buffer] + (top + i * 16) * ROW + pair, ROW);
      REPEAT(j, RIGHTS)
      right[j] = LoadRight(b_tiles[buffer] + (side + j * 8) * B_COLUMN + pair * B_PAIR, B_COLUMN, B_PAIR);
      Accumulate(sums, RIGHTS, left, LEFTS, right, RIGHTS, exchange);
    }
    buffer = 1 - buffer;
    if (next < k) Store(&staged, a_tiles[buffer], b_tiles[buffer]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  bool good = true;
  REPEAT(i, LEFTS) {
    REPEAT(j, RIGHTS) {
      REPEAT(e, 4) {
        const int r = top + i * 16 + LaneRow() + e / 2 * 8, s = side + j * 8 + LanePair() * 2 + e % 2;
        const float x = sums[i * RIGHTS + j].x[e];
        good = good && isfinite(x);
        if (r < rows && s < columns) c[r * c_place.row + s] = x + (bias ? bias[column + s] : 0.0f);
      }
    }
  }
  if (good) return;
#pragma unroll 1
  for (int i = 0; i < LEFTS * RIGHTS * 4; ++i) {
    const int e = i % 4, tile = i / 4;
    const int r = top + tile / RIGHTS * 16 + LaneRow() + e / 2 * 8;
    const int s = side + tile % RIGHTS * 8 + LanePair() * 2 + e % 2;
    if (r >= rows || s >= columns || isfinite(c[r * c_place.row + s])) continue;
#ifdef B_COLUMNS
    const float sum = PlainSum(a + r * a_row, b + s * b_row, 1, k);
#else
    const float sum = PlainSum(a + r * a_row, b + s, b_row, k);
#endif
    c[r * c_place.row + s] = sum + (bias ? bias[column + s] : 0.0f);
  }
}
