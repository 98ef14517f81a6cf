// SPDX-License-Identifier: Apache-2.0
// A tile of scores in the registers of a work-group. Queries are in local memory as long as their tile is computed, and
// keys come there slice by slice (online.cl, pooled.cl). Build options: WIDTH, which holds the head width; TILE_ROWS
// and TILE_KEYS; ITEMS_X and ITEMS_Y, the work-items' square; QUADS, whether a work-item has four neighbouring columns
// at a time or one; DEPTH_SLICE, how much of the keys' depth is in local memory at a time; those of scores.cl: only
// rows of FLOATS may have other than whole fours, or begin anywhere.

#define ITEMS (ITEMS_X * ITEMS_Y)
#define WORK_ROWS (TILE_ROWS / ITEMS_Y)  // a multiple of four
#define WORK_KEYS (TILE_KEYS / ITEMS_X)
#define KEY_STRIDE (TILE_KEYS + kOnlinePadding)  // longer rows, so that a column is not all in one memory bank
#define ROW_STRIDE (TILE_ROWS + kOnlinePadding)
#define STAGE_KEYS (DEPTH_SLICE * KEY_STRIDE)

#if QUADS
#define COLUMNS 4
typedef float4 Columns;
#define READ_COLUMNS(to, from) vstore4(from, 0, to)
#else
#define COLUMNS 1
typedef float Columns;
#define READ_COLUMNS(to, from) *(to) = from
#endif

// These give row i and column j of the tile that a work-item computes. Neighbouring work-items read neighbours in
// memory.
#define ROW(i) (((i) / 4 * ITEMS_Y + y) * 4 + (i) % 4)
#define COLUMN(j) (COLUMN_OF_FIRST(j) + x * COLUMNS)
#define COLUMN_OF_FIRST(j) ((j) / COLUMNS * ITEMS_X * COLUMNS + (j) % COLUMNS)
// The weights of the tile's keys lie in an order in which each store of a work-group is to neighbours.
#define SLOT(j) ((j) * ITEMS_X + x)
#define KEY_OF(slot) \
  (((slot) / (ITEMS_X * COLUMNS) * ITEMS_X + (slot) % ITEMS_X) * COLUMNS + (slot) / ITEMS_X % COLUMNS)
#define SLOT_OF(key) \
  (((key) / (ITEMS_X * COLUMNS) * COLUMNS + (key) % COLUMNS) * ITEMS_X + (key) / COLUMNS % ITEMS_X)

// Reads four elements from p on, and 0 for those that are not among the next `count`.
Raw Read(__global const Element* p, const int count) {
#if !defined(FLOATS)
  return count > 0 ? RAW(p) : (Raw)0;  // rows are whole fours
#else
  if (count >= 4) return vload4(0, p);
  float4 values = 0.0f;
  if (count > 0) values.x = p[0];
  if (count > 1) values.y = p[1];
  if (count > 2) values.z = p[2];
  return values;
#endif
}

// KEY_READS are the fours that each item brings to a slice in local memory. The n-th of them belongs to key READ_KEY,
// and begins at READ_DEPTH in the depth. The slice has `count` keys, the first of which is at k; all others are 0.
#define KEY_READS (TILE_KEYS * DEPTH_SLICE / 4 / ITEMS)
#define AT(n) ((n) * ITEMS + item)
#define READ_KEY(n) (AT(n) / 2 % TILE_KEYS)
#define READ_DEPTH(n) ((AT(n) / 2 / TILE_KEYS * 2 + AT(n) % 2) * 4)

Raw ReadKey(const Problem* p, __global const Element* k, const long row, const int count, const int depth, const int n,
            const int item) {
  const int s = READ_KEY(n), d = depth + READ_DEPTH(n);
  return Read(k + s * row + d, s < count ? (int)p->width - d : 0);
}

// A GPU reads the next slice while it computes with one; a CPU has nothing to gain from that.
#if ITEMS > 1
#define READ_AHEAD(reads, read) UNROLL for (int n = 0; n < reads; ++n) next[n] = read
#define WAS_READ(read) next[n]
#else
#define READ_AHEAD(reads, read)
#define WAS_READ(read) read
#endif

// Stores four values one below the other.
void StoreDown(const float4 values, __local float* to, const int stride) {
  to[0] = values.x, to[stride] = values.y, to[2 * stride] = values.z, to[3 * stride] = values.w;
}

// Adds the products of a slice to the scores of item (x, y): the queries at `depth`, and the keys [DEPTH_SLICE,
// KEY_STRIDE) in local memory.
void AddSlice(__local const float4* queries, __local const Columns* keys, const int depth, const int x, const int y,
              float (*scores)[WORK_KEYS]) {
  UNROLL_SOME for (int d = 0; d < DEPTH_SLICE; ++d) {
    float left[WORK_ROWS], right[WORK_KEYS];
    UNROLL for (int i = 0; i < WORK_ROWS / 4; ++i)
        vstore4(queries[(depth + d) * (TILE_ROWS / 4) + i * ITEMS_Y + y], i, left);
    UNROLL for (int j = 0; j < WORK_KEYS; j += COLUMNS)
        READ_COLUMNS(right + j, keys[(d * KEY_STRIDE + COLUMN(j)) / COLUMNS]);
    UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i][j] =
        fma(left[i], right[j], scores[i][j]);
  }
}

// Makes scores to base 2 of the products of item (x, y) in row i, of which all keys [first, last) of the tile are
// visible and no others.
void ScoreRange(const int i, const long first, const long last, const float factor, const int x,
                float (*scores)[WORK_KEYS]) {
  // As the first item of a row counts columns: so these are constants.
  const int begin = (int)clamp(first, 0L, (long)TILE_KEYS) - x * COLUMNS;
  const int end = (int)clamp(last, 0L, (long)TILE_KEYS) - x * COLUMNS;
  UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i][j] =
      COLUMN_OF_FIRST(j) >= begin && COLUMN_OF_FIRST(j) < end ? scores[i][j] * factor : LOWEST;
}

// Leaves the largest of the scores of item (x, y) in each row in `found` [ITEMS_X, ROW_STRIDE], and the smallest of all
// in `least`. `rises` becomes true when one is so much larger than the row's `maxima` that it must count as the
// largest.
void FindLargest(float (*scores)[WORK_KEYS], __local const float4* maxima, const int x, const int y,
                 __local float4* found, __local int* rises, float* least) {
  bool any = false;
  UNROLL for (int i = 0; i < WORK_ROWS; i += 4) {
    float most[4], before[4];
    vstore4(maxima[ROW(i) / 4], 0, before);
    UNROLL for (int c = 0; c < 4; ++c) {
      most[c] = LOWEST;
      UNROLL for (int j = 0; j < WORK_KEYS; ++j) {
        most[c] = fmax(most[c], scores[i + c][j]);
        *least = fmin(*least, scores[i + c][j]);
      }
      any = any || most[c] > before[c] + MOST_RISE;
    }
    found[(x * ROW_STRIDE + ROW(i)) / 4] = vload4(0, most);
  }
  if (any) *rises = true;
}

// Makes exponentials of the scores of item (x, y), measured from `maxima`.
void MakeExponentials(__local const float4* maxima, const int y, float (*scores)[WORK_KEYS]) {
  UNROLL for (int i = 0; i < WORK_ROWS; i += 4) {
    float most[4];
    vstore4(maxima[ROW(i) / 4], 0, most);
    UNROLL for (int c = 0; c < 4; ++c) {
      // Of a row that sees nothing yet, all exponents must be far below 0.
      const float origin = most[c] == LOWEST ? 0.0f : most[c];
      UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i + c][j] = exp2(scores[i + c][j] - origin);
    }
  }
}
