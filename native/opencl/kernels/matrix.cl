// SPDX-License-Identifier: Apache-2.0
// Computes matrix products tile by tile. Build options: TILE_M, TILE_N, TILE_K, the tile; WORK_M, WORK_N, the part of
// it that each work-item computes; WIDE, how many columns next to each other an item takes at once (1, 4, 8 or 16);
// BUFFERS, 2 where the next tile is read while this one is computed, else 1; VECTOR, 4 where four elements can be read
// and written as one (rows begin at multiples of four elements, and n and k are multiples of four), else 1; B_COLUMNS,
// when B is [n, k] instead of [k, n]; and those of elements.cl.

#define ITEMS_M (TILE_M / WORK_M)
#define ITEMS_N (TILE_N / WORK_N)
#define ITEMS (ITEMS_M * ITEMS_N)

#define WIDE_N (WORK_N / WIDE)
#if WIDE == 1
typedef float Wide;
#define STORE_WIDE(value, to) *(to) = (value)
#else
typedef JOIN(float, WIDE) Wide;
#define STORE_WIDE(value, to) JOIN(vstore, WIDE)(value, 0, to)
#endif

// An item that takes four columns at once takes four rows at once, too: a GPU's local memory gives it 16 bytes as fast
// as 4.
#if WIDE == 4
#define WIDE_M 4
#else
#define WIDE_M 1
#endif

// Lines are longer than the tile's, because what is written next to each other was read from different rows. Wide reads
// stay aligned.
#define LINE_M (TILE_M + WIDE_M)
#define LINE_N (TILE_N + WIDE)

// The number of vectors that each item reads of a tile, and the number of them in a line of the tile in memory.
#define A_READS (TILE_M * TILE_K / VECTOR / ITEMS)
#define B_READS (TILE_N * TILE_K / VECTOR / ITEMS)
#define A_VECTORS (TILE_K / VECTOR)
#ifdef B_COLUMNS
#define B_VECTORS (TILE_K / VECTOR)
#else
#define B_VECTORS (TILE_N / VECTOR)
#endif

// Stores a vector down a column of a tile.
void StoreDown(const Vector value, __local float* to, const int line) {
#if VECTOR == 4
  to[0] = value.x;
  to[line] = value.y;
  to[2 * line] = value.z;
  to[3 * line] = value.w;
#else
  *to = value;
#endif
}

// Reads the share of item `item` in A's tile, from column `depth` on. Elements beyond k are 0.
void ReadA(Vector* to, __global const float* a, const long stride, const long row, const long m, const long depth,
           const long k, const int item) {
#pragma unroll
  for (int i = 0; i < A_READS; ++i) {
    const int at = item + i * ITEMS, d = at % A_VECTORS * VECTOR;
    // Rows beyond m are the last one: their products are not written.
    const long r = min(row + at / A_VECTORS, m - 1);
    to[i] = depth + d < k ? A_VECTOR(a + r * stride + depth + d) : (Vector)0;
  }
}

void StoreA(const Vector* from, __local float* tile, const int item) {
#pragma unroll
  for (int i = 0; i < A_READS; ++i) {
    const int at = item + i * ITEMS;
    StoreDown(from[i], tile + at % A_VECTORS * VECTOR * LINE_M + at / A_VECTORS, LINE_M);
  }
}

void ReadB(Vector* to, __global const ELEMENT* b, const long stride, const long column, const long n, const long depth,
           const long k, const int item) {
#pragma unroll
  for (int i = 0; i < B_READS; ++i) {
    const int at = item + i * ITEMS, vector = at % B_VECTORS * VECTOR;
#ifdef B_COLUMNS
    const long s = min(column + at / B_VECTORS, n - 1), d = depth + vector;
    to[i] = d < k ? B_VECTOR(b + s * stride + d) : (Vector)0;
#else
    const long s = min(column + vector, n - VECTOR), d = depth + at / B_VECTORS;
    to[i] = d < k ? B_VECTOR(b + d * stride + s) : (Vector)0;
#endif
  }
}

void StoreB(const Vector* from, __local float* tile, const int item) {
#pragma unroll
  for (int i = 0; i < B_READS; ++i) {
    const int at = item + i * ITEMS;
#ifdef B_COLUMNS
    StoreDown(from[i], tile + at % B_VECTORS * VECTOR * LINE_N + at / B_VECTORS, LINE_N);
#else
    __local float* line = tile + at / B_VECTORS * LINE_N + at % B_VECTORS * VECTOR;
#if VECTOR == 4 && WIDE != 1
    *(__local float4*)line = from[i];
#elif VECTOR == 4
    vstore4(from[i], 0, line);
#else
    *line = from[i];
#endif
#endif
  }
}

// Adds the products of two tiles to the sums of item (x, y).
void MultiplyTiles(__local const float* a_tile, __local const float* b_tile, Wide sums[WORK_M][WIDE_N], const int x,
                   const int y) {
#pragma unroll
  for (int d = 0; d < TILE_K; ++d) {
    float left[WORK_M];
    Wide right[WIDE_N];
#pragma unroll
    for (int i = 0; i < WORK_M / WIDE_M; ++i) {
      __local const float* from = a_tile + d * LINE_M + (i * ITEMS_M + y) * WIDE_M;
#if WIDE_M == 4
      const float4 four = *(__local const float4*)from;
      left[4 * i] = four.x;
      left[4 * i + 1] = four.y;
      left[4 * i + 2] = four.z;
      left[4 * i + 3] = four.w;
#else
      left[i] = *from;
#endif
    }
#pragma unroll
    for (int j = 0; j < WIDE_N; ++j) right[j] = *(__local const Wide*)(b_tile + d * LINE_N + (j * ITEMS_N + x) * WIDE);
#pragma unroll
    for (int i = 0; i < WORK_M; ++i)
#pragma unroll
      for (int j = 0; j < WIDE_N; ++j) sums[i][j] = mad((Wide)left[i], right[j], sums[i][j]);
  }
}

// Writes one row's part, from column s on.
void WriteWide(Wide sums, __global float* c, __global const float* bias, const long s, const long n) {
#if WIDE == 4 && VECTOR == 4
  if (s >= n) return;
  if (bias) sums += vload4(0, bias + s);
  *(__global float4*)(c + s) = sums;
#elif WIDE == 1
  if (s < n) c[s] = sums + (bias ? bias[s] : 0.0f);
#else
  float values[WIDE];
  STORE_WIDE(sums, values);
  for (int i = 0; i < WIDE; ++i)
    if (s + i < n) c[s + i] = values[i] + (bias ? bias[s + i] : 0.0f);
#endif
}

// C [m, n] = A [m, k] · B + bias [n] for each of `head_count` heads; each matrix is where its place says. `bias` is
// null where there is none. After the work-groups of all heads come those of the next part of the depth, which is
// `part_depth`, a multiple of TILE_K. Their C is `part_size` further on.
__kernel __attribute__((reqd_work_group_size(ITEMS_N, ITEMS_M, 1))) void Multiply(
    __global const float* a, __global const ELEMENT* b, __global float* c, __global const float* bias,
    const Place a_place, const Place b_place, const Place c_place, const Heads heads, const long m, const long n,
    const long k, const long head_count, const long part_depth, const long part_size) {
  __local float a_tiles[BUFFERS][TILE_K * LINE_M] __attribute__((aligned(64)));
  __local float b_tiles[BUFFERS][TILE_K * LINE_N] __attribute__((aligned(64)));
  const int item = get_local_id(1) * ITEMS_N + get_local_id(0);
  const int x = ColumnInSquare(item, ITEMS_N, ITEMS_M), y = RowInSquare(item, ITEMS_N, ITEMS_M);
  long id = get_group_id(0);
  const long column = Next(&id, (n + TILE_N - 1) / TILE_N) * TILE_N,
             row = Next(&id, (m + TILE_M - 1) / TILE_M) * TILE_M;
  const long z = Next(&id, head_count), part = id;
  const long begin = part * part_depth, end = min(k, begin + part_depth);
  a += Begin(a_place, heads, z);
  b += Begin(b_place, heads, z);
  c += Begin(c_place, heads, z) + part * part_size;
  Wide sums[WORK_M][WIDE_N];
#pragma unroll
  for (int i = 0; i < WORK_M; ++i)
#pragma unroll
    for (int j = 0; j < WIDE_N; ++j) sums[i][j] = 0.0f;
  Vector a_next[A_READS], b_next[B_READS];
#if BUFFERS == 2
  ReadA(a_next, a, a_place.row, row, m, begin, end, item);
  ReadB(b_next, b, b_place.row, column, n, begin, end, item);
  StoreA(a_next, a_tiles[0], item);
  StoreB(b_next, b_tiles[0], item);
  barrier(CLK_LOCAL_MEM_FENCE);
  // After the last tile comes one of zeros, which is not used, so that the loop has no exit before a barrier.
#pragma unroll 1
  for (long depth = begin, now = 0; depth < end; depth += TILE_K, now ^= 1) {
    ReadA(a_next, a, a_place.row, row, m, depth + TILE_K, end, item);
    ReadB(b_next, b, b_place.row, column, n, depth + TILE_K, end, item);
    MultiplyTiles(a_tiles[now], b_tiles[now], sums, x, y);
    StoreA(a_next, a_tiles[now ^ 1], item);
    StoreB(b_next, b_tiles[now ^ 1], item);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#else
#pragma unroll 1
  for (long depth = begin; depth < end; depth += TILE_K) {
    ReadA(a_next, a, a_place.row, row, m, depth, end, item);
    ReadB(b_next, b, b_place.row, column, n, depth, end, item);
    StoreA(a_next, a_tiles[0], item);
    StoreB(b_next, b_tiles[0], item);
    barrier(CLK_LOCAL_MEM_FENCE);
    MultiplyTiles(a_tiles[0], b_tiles[0], sums, x, y);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
#pragma unroll
  for (int i = 0; i < WORK_M; ++i) {
    const long r = row + (i / WIDE_M * ITEMS_M + y) * WIDE_M + i % WIDE_M;
    if (r < m)
      for (int j = 0; j < WIDE_N; ++j)
        WriteWide(sums[i][j], c + r * c_place.row, bias, column + (j * ITEMS_N + x) * WIDE, n);
  }
}
