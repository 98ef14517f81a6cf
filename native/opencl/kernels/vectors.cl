// SPDX-License-Identifier: Apache-2.0
// Computes products of few rows, which take as long as B takes to be read. Build options: ROWS, the most rows that A
// can have; LANES and LINES, the items of a work-group; WORK, how much of B an item reads before it uses it; VECTOR as
// in matrix.cl; B_COLUMNS, when B is [n, k] instead of [k, n]; and those of elements.cl.
//
// Lanes go along B's rows, whatever these are. With B_COLUMNS each line has WORK columns of the product, whose depth
// its lanes share. Without it each lane has VECTOR columns, whose depth the lines share.

#ifdef B_COLUMNS
#define SHARERS LANES
#define OWNERS LINES
#define OWNED WORK  // columns of those who share
#else
#define SHARERS LINES
#define OWNERS LANES
#define OWNED VECTOR
#endif
#define RESULTS (ROWS * OWNED)

float Sum(const Vector value) {
#if VECTOR == 4
  return (value.x + value.y) + (value.z + value.w);
#else
  return value;
#endif
}

// Computes an item's part of columns [ROWS, OWNED] from `column` on: its share of the depth from `begin` to `end`.
// Beyond m or n it reads the last row or column again.
void Accumulate(float sums[RESULTS], __global const float* a, const long a_row, __global const ELEMENT* b,
                const long b_row, const long m, const long n, const long begin, const long end, const long column,
                const int sharer) {
#ifdef B_COLUMNS
  Vector all[RESULTS];
#pragma unroll
  for (int i = 0; i < RESULTS; ++i) all[i] = (Vector)0;
  for (long d = begin + sharer * VECTOR; d < end; d += LANES * VECTOR) {
    Vector right[WORK];
#pragma unroll
    for (int j = 0; j < WORK; ++j) right[j] = B_VECTOR(b + min(column + j, n - 1) * b_row + d);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const Vector left = A_VECTOR(a + min((long)r, m - 1) * a_row + d);
#pragma unroll
      for (int j = 0; j < WORK; ++j) all[r * WORK + j] = mad(left, right[j], all[r * WORK + j]);
    }
  }
#pragma unroll
  for (int i = 0; i < RESULTS; ++i) sums[i] = Sum(all[i]);
#else
  Vector all[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) all[r] = (Vector)0;
  b += min(column, n - VECTOR);
  for (long d = begin + sharer; d < end; d += LINES * WORK) {
    Vector right[WORK];
#pragma unroll
    for (int j = 0; j < WORK; ++j) right[j] = d + j * LINES < end ? B_VECTOR(b + (d + j * LINES) * b_row) : (Vector)0;
#pragma unroll
    for (int j = 0; j < WORK; ++j)
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const float left = d + j * LINES < end ? a[min((long)r, m - 1) * a_row + d + j * LINES] : 0.0f;
        all[r] = mad((Vector)left, right[j], all[r]);
      }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#if VECTOR == 4
    vstore4(all[r], r, sums);
#else
    sums[r] = all[r];
#endif
  }
#endif
}

// Writes sum `at` of the owner whose columns begin at `column`.
void Write(__global float* c, const long c_row, __global const float* bias, const long m, const long n,
           const long column, const int at, const float sum) {
  const long r = at / OWNED, s = column + at % OWNED;
  if (r < m && s < n) c[r * c_row + s] = sum + (bias ? bias[s] : 0.0f);
}

// C [m, n] = A [m, k] · B + bias [n] for each head, as Multiply in matrix.cl has it. The work-groups of a head come in
// parts, each of which does `part_depth` of the depth, a multiple of what all its lanes read at once. Their C are
// `part_size` apart.
__kernel __attribute__((reqd_work_group_size(LANES, LINES, 1))) void MultiplyFew(
    __global const float* a, __global const ELEMENT* b, __global float* c, __global const float* bias,
    const Place a_place, const Place b_place, const Place c_place, const Heads heads, const long m, const long n,
    const long k, const long part_depth, const long part_size) {
  long id = get_group_id(0);
  const long columns = OWNERS * OWNED, first = Next(&id, (n + columns - 1) / columns) * columns;
  const long part = Next(&id, (k + part_depth - 1) / part_depth), z = id, begin = part * part_depth;
  a += Begin(a_place, heads, z);
  b += Begin(b_place, heads, z);
  c += Begin(c_place, heads, z) + part * part_size;
#ifdef B_COLUMNS
  const int owner = get_local_id(1), sharer = get_local_id(0);
#else
  const int owner = get_local_id(0), sharer = get_local_id(1);
#endif
  float sums[RESULTS];
  Accumulate(sums, a, a_place.row, b, b_place.row, m, n, begin, min(k, begin + part_depth), first + owner * OWNED,
             sharer);
#if SHARERS > 1
  __local float shares[OWNERS * RESULTS][SHARERS + 1];  // one more, so that a column is not all in one memory bank
#pragma unroll
  for (int i = 0; i < RESULTS; ++i) shares[owner * RESULTS + i][sharer] = sums[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = owner * SHARERS + sharer; i < OWNERS * RESULTS; i += OWNERS * SHARERS) {
    float sum = 0.0f;
    for (int s = 0; s < SHARERS; ++s) sum += shares[i][s];
    Write(c, c_place.row, bias, m, n, first + i / RESULTS * OWNED, i % RESULTS, sum);
  }
#else
  for (int i = 0; i < RESULTS; ++i) Write(c, c_place.row, bias, m, n, first + owner * OWNED, i, sums[i]);
#endif
}
