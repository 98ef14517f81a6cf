// SPDX-License-Identifier: Apache-2.0
// Attention whose cells are never in memory: softmax over blocks of keys with a running maximum (Milakov & Gimelshein
// 2018; Dao et al. 2022). The rows of a tile are queries of all heads that share keys and values, so that these are
// read once; where there are few rows, work-groups share the keys (Dao et al. 2023, "Flash-Decoding") and merge.cl puts
// together what they found.
//
// Build options: WIDTH, which holds the head width and the values' width; TILE_ROWS and TILE_KEYS; ITEMS_X and ITEMS_Y,
// the work-items' square; QUADS, whether a work-item has four neighbouring columns at a time or one; DEPTH_SLICE and
// KEY_SLICE, how much of the keys' and of the values' tile is in local memory at a time; FLOATS, ALIGNED_FLOATS, HALVES
// or BFLOATS: what q, k and v are in memory, and whether their rows begin where a float4 may.

#define ITEMS (ITEMS_X * ITEMS_Y)
#define WORK_ROWS (TILE_ROWS / ITEMS_Y)  // a multiple of four
#define WORK_KEYS (TILE_KEYS / ITEMS_X)
#define WORK_COLUMNS (WIDTH / ITEMS_X)
#define KEY_STRIDE (TILE_KEYS + 4)  // more, so that a column is not all in one memory bank
#define ROW_STRIDE (TILE_ROWS + 4)
#define STAGE_KEYS (DEPTH_SLICE * KEY_STRIDE)
#define STAGE_VALUES (KEY_SLICE * WIDTH)
#define STAGE (STAGE_KEYS > STAGE_VALUES ? STAGE_KEYS : STAGE_VALUES)

// What a GPU's work-item computes stays in registers only where all its indices are constants.
#if ITEMS > 1
#define UNROLL _Pragma("unroll")
#define UNROLL_SOME _Pragma("unroll 4")  // more would take registers for what is read ahead
#else
#define UNROLL
#define UNROLL_SOME
#endif

#if QUADS
#define COLUMNS 4
typedef float4 Columns;
#define READ_COLUMNS(to, from) vstore4(from, 0, to)
#else
#define COLUMNS 1
typedef float Columns;
#define READ_COLUMNS(to, from) *(to) = from
#endif

// Row i and column j of the tile that a work-item computes. Neighbours in memory are read by neighbouring work-items.
#define QUERY(r) (first_query + (first_member + (r)) / members)
#define MEMBER(r) ((first_member + (r)) % members)
#define ROW(i) (((i) / 4 * ITEMS_Y + y) * 4 + (i) % 4)
#define COLUMN(j) (((j) / COLUMNS * ITEMS_X + x) * COLUMNS + (j) % COLUMNS)
// The weights of the tile's keys lie in an order in which each store of a work-group is to neighbours.
#define SLOT(j) ((j) * ITEMS_X + x)
#define KEY_OF(slot) \
  (((slot) / (ITEMS_X * COLUMNS) * ITEMS_X + (slot) % ITEMS_X) * COLUMNS + (slot) / ITEMS_X % COLUMNS)

#if defined(HALVES)
typedef half Element;
#define VALUE(p, i) vload_half(i, p)
#define FOUR(p, i) vload_half4(0, (p) + (i))
#elif defined(BFLOATS)
typedef ushort Element;
#define VALUE(p, i) as_float((uint)(p)[i] << 16)
#define FOUR(p, i) as_float4(convert_uint4(*(__global const ushort4*)((p) + (i))) << 16)
#else
typedef float Element;
#define VALUE(p, i) (p)[i]
#if defined(ALIGNED_FLOATS)
#define FOUR(p, i) *(__global const float4*)((p) + (i))
#else
#define FOUR(p, i) vload4(0, (p) + (i))
#endif
#endif

// Four elements from `at` on, 0 for those that are not among the next `count`.
float4 Four(__global const Element* p, const long at, const int count) {
  if (count >= 4) return FOUR(p, at);
  float4 values = 0.0f;
  if (count > 0) values.x = VALUE(p, at);
  if (count > 1) values.y = VALUE(p, at + 1);
  if (count > 2) values.z = VALUE(p, at + 2);
  return values;
}

// A row of the head that is that member of the group; `origin` is the group's first.
Row RowOf(const Problem* p, const Row* origin, const int member, const long r) {
  const Row row = {
      origin->b,      origin->h + member * (p->interleaved ? p->heads.groups : 1), origin->t + r, origin->z + member, r,
      origin->own + r};
  return row;
}

// The score of a cell, to base 2; LOWEST where it is hidden, and −∞ where it cannot be told from that.
float Score(const Problem* p, const Inputs* in, const Row* row, const long s, float score) {
  if (IsHidden(p, in, row, s)) return LOWEST;
  score *= p->scale;
  if (!p->cap_after_bias) score = Cap(p, score);
  score = AddBiases(p, in, row, s, score);
  if (p->cap_after_bias) score = Cap(p, score);
  score = score / p->temperature * M_LOG2E_F;
  return score == LOWEST ? -INFINITY : score;
}

// output, and lse [heads, rows], of q, k and v, which are where the problem says. `ranges` [B, tiles, 4]: the keys that
// some row of a tile may look at, and those whose scores are `factor` q · k for all of its rows and need no mask.
// `unusual` is set where a visible score or an output is not finite: then nothing that was written counts. With more
// than one part, each has its share of the keys, and leaves `sums` [groups, parts, rows, 2], largest score and sum of
// exponentials, and `blends` [groups, parts, rows, value_width], both of the rows of all of a group's members.
__kernel __attribute__((reqd_work_group_size(ITEMS_X, ITEMS_Y, 1))) void AttendOnline(
    const Problem problem, INPUT_PARAMETERS, __global const float* sinks, __global const float* head_mask,
    __global const Element* q, __global const Element* k, __global const Element* v, __global const long* ranges,
    const long groups, const long tiles, const long parts, const float factor, __global float* output,
    __global float* lse, __global float* sums, __global float* blends, __global uint* unusual) {
  const Problem* p = &problem;
  __local float4 q_tile[WIDTH * TILE_ROWS / 4];        // [WIDTH, TILE_ROWS]
  __local float4 stage[STAGE / 4];                     // keys [DEPTH_SLICE, KEY_STRIDE] or values [KEY_SLICE, WIDTH]
  __local float4 weights[TILE_KEYS * ROW_STRIDE / 4];  // [slots, ROW_STRIDE]
  __local float4 maxima[TILE_ROWS / 4], totals[TILE_ROWS / 4];
  __local float found[ITEMS_X * ROW_STRIDE];  // [ITEMS_X, ROW_STRIDE]: of each row and column of work-items
  __local float* const cells = (__local float*)weights;
  __local const Columns* const columns = (__local const Columns*)stage;
  const Inputs in = INPUTS;
  const int x = get_local_id(0), y = get_local_id(1), item = y * ITEMS_X + x;
  const int width = (int)p->width, value_width = (int)p->value_width;
  // The last tiles are the longest under a causal mask: they go first.
  const long id = get_group_id(0), group = id % groups, part = id / groups % parts,
             tile = tiles - 1 - id / groups / parts;
  // Rows count through the members of a query first.
  const int members = (int)p->heads.members, first_member = (int)(tile * TILE_ROWS % members);
  const long head = group * members, first_query = tile * TILE_ROWS / members;
  const Row origin = RowAt(p, head, 0);
  __global const long* const range = ranges + (origin.b * tiles + tile) * 4;
  const long blocks = (range[1] - range[0] + TILE_KEYS - 1) / TILE_KEYS;
  const long begin = range[0] + blocks * part / parts * TILE_KEYS;
  const long end = min(range[1], range[0] + blocks * (part + 1) / parts * TILE_KEYS);
  k += Begin(p->k, p->heads, head);
  v += Begin(p->v, p->heads, head);
  for (int i = item; i < TILE_ROWS * WIDTH / 4; i += ITEMS) {
    const int r = i % TILE_ROWS, d = i / TILE_ROWS * 4;
    const long t = QUERY(r), at = Begin(p->q, p->heads, head + MEMBER(r)) + t * p->q.row;
    const float4 values = Four(q, at + d, t < p->rows ? width - d : 0);
    __local float* const to = (__local float*)q_tile + d * TILE_ROWS + r;
    to[0] = values.x, to[TILE_ROWS] = values.y, to[2 * TILE_ROWS] = values.z, to[3 * TILE_ROWS] = values.w;
  }
  for (int r = item; r < TILE_ROWS; r += ITEMS) ((__local float*)maxima)[r] = LOWEST;
  float blended[WORK_ROWS][WORK_COLUMNS], sum[WORK_ROWS];
  bool good = true;
  UNROLL for (int i = 0; i < WORK_ROWS; ++i) {
    sum[i] = 0.0f;
    UNROLL for (int j = 0; j < WORK_COLUMNS; ++j) blended[i][j] = 0.0f;
  }
  for (long key = begin; key < end; key += TILE_KEYS) {
    const int count = (int)min(end - key, (long)TILE_KEYS);
    float scores[WORK_ROWS][WORK_KEYS];
    UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i][j] = 0.0f;
    for (int depth = 0; depth < width; depth += DEPTH_SLICE) {
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = item; i < TILE_KEYS * DEPTH_SLICE / 4; i += ITEMS) {
        const int s = i / 2 % TILE_KEYS, d = (i / 2 / TILE_KEYS * 2 + i % 2) * 4;
        const float4 values = Four(k, (key + s) * p->k.row + depth + d, s < count ? width - depth - d : 0);
        __local float* const to = (__local float*)stage + d * KEY_STRIDE + s;
        to[0] = values.x, to[KEY_STRIDE] = values.y, to[2 * KEY_STRIDE] = values.z, to[3 * KEY_STRIDE] = values.w;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      UNROLL_SOME for (int d = 0; d < DEPTH_SLICE; ++d) {
        float left[WORK_ROWS], right[WORK_KEYS];
        UNROLL for (int i = 0; i < WORK_ROWS / 4; ++i)
            vstore4(q_tile[(depth + d) * (TILE_ROWS / 4) + i * ITEMS_Y + y], i, left);
        UNROLL for (int j = 0; j < WORK_KEYS; j += COLUMNS)
            READ_COLUMNS(right + j, columns[(d * KEY_STRIDE + COLUMN(j)) / COLUMNS]);
        UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i][j] =
            fma(left[i], right[j], scores[i][j]);
      }
    }
    if (range[2] <= key && key + TILE_KEYS <= range[3] && count == TILE_KEYS) {
      UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i][j] *= factor;
    } else {
      // By way of local memory, so that the code for a cell is there once.
      UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j)
          cells[SLOT(j) * ROW_STRIDE + ROW(i)] = scores[i][j];
      for (int i = 0; i < WORK_ROWS; ++i) {
        const Row row = RowOf(p, &origin, MEMBER(ROW(i)), QUERY(ROW(i)));
        for (int j = 0; j < WORK_KEYS; ++j) {
          __local float* const cell = cells + SLOT(j) * ROW_STRIDE + ROW(i);
          const int s = COLUMN(j);
          *cell = row.r < p->rows && s < count ? Score(p, &in, &row, key + s, *cell) : LOWEST;
        }
      }
      UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i][j] =
          cells[SLOT(j) * ROW_STRIDE + ROW(i)];
    }
    UNROLL for (int i = 0; i < WORK_ROWS; ++i) {
      float most = LOWEST;
      UNROLL for (int j = 0; j < WORK_KEYS; ++j) {
        most = fmax(most, scores[i][j]);
        good = good && scores[i][j] >= LOWEST && scores[i][j] < INFINITY;
      }
      found[x * ROW_STRIDE + ROW(i)] = most;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = item; r < TILE_ROWS; r += ITEMS) {
      const float before = ((__local float*)maxima)[r];
      float most = before;
      for (int i = 0; i < ITEMS_X; ++i) most = fmax(most, found[i * ROW_STRIDE + r]);
      ((__local float*)maxima)[r] = most;
      ((__local float*)totals)[r] = exp2(before - most);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL for (int i = 0; i < WORK_ROWS; i += 4) {
      float most[4], shrink[4];
      vstore4(maxima[ROW(i) / 4], 0, most);
      vstore4(totals[ROW(i) / 4], 0, shrink);
      UNROLL for (int c = 0; c < 4; ++c) {
        // Of a row that sees nothing yet, all exponents must be far below 0.
        const float origin = most[c] == LOWEST ? 0.0f : most[c];
        sum[i + c] *= shrink[c];
        UNROLL for (int j = 0; j < WORK_KEYS; ++j) {
          scores[i + c][j] = exp2(scores[i + c][j] - origin);
          sum[i + c] += scores[i + c][j];
        }
        UNROLL for (int j = 0; j < WORK_COLUMNS; ++j) blended[i + c][j] *= shrink[c];
      }
      UNROLL for (int j = 0; j < WORK_KEYS; ++j) weights[(SLOT(j) * ROW_STRIDE + ROW(i)) / 4] =
          (float4)(scores[i][j], scores[i + 1][j], scores[i + 2][j], scores[i + 3][j]);
    }
    for (int slot = 0; slot < TILE_KEYS; slot += KEY_SLICE) {
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = item; i < KEY_SLICE * WIDTH / 4; i += ITEMS) {
        const int d = i % (WIDTH / 4) * 4, s = KEY_OF(slot + i / (WIDTH / 4));
        stage[i] = Four(v, (key + s) * p->v.row + d, s < count ? value_width - d : 0);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      UNROLL_SOME for (int s = 0; s < KEY_SLICE; ++s) {
        float left[WORK_ROWS], right[WORK_COLUMNS];
        UNROLL for (int i = 0; i < WORK_ROWS / 4; ++i)
            vstore4(weights[(slot + s) * (ROW_STRIDE / 4) + i * ITEMS_Y + y], i, left);
        UNROLL for (int j = 0; j < WORK_COLUMNS; j += COLUMNS)
            READ_COLUMNS(right + j, columns[(s * WIDTH + COLUMN(j)) / COLUMNS]);
        UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_COLUMNS; ++j) blended[i][j] =
            fma(left[i], right[j], blended[i][j]);
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (int i = 0; i < WORK_ROWS; ++i) found[x * ROW_STRIDE + ROW(i)] = sum[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  const long part_rows = (group * parts + part) * p->rows * members + tile * TILE_ROWS;
  for (int r = item; r < TILE_ROWS; r += ITEMS) {
    const long t = QUERY(r), z = head + MEMBER(r);
    const float max = ((__local float*)maxima)[r];
    float total = 0.0f, row_factor = 1.0f;
    for (int i = 0; i < ITEMS_X; ++i) total += found[i * ROW_STRIDE + r];
    if (t < p->rows && parts > 1) {
      sums[(part_rows + r) * 2] = max;
      sums[(part_rows + r) * 2 + 1] = total;
    } else if (t < p->rows) {
      const RowEnd row = EndRow(p, sinks, head_mask, z, max, total);
      if (lse) lse[z * p->rows + t] = row.lse;
      row_factor = row.factor;
    }
    ((__local float*)totals)[r] = row_factor;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (int i = 0; i < WORK_ROWS; ++i) {
    const int r = ROW(i);
    const long t = QUERY(r), z = head + MEMBER(r);
    const float row_factor = ((__local float*)totals)[r];
    __global float* const to =
        parts > 1 ? blends + (part_rows + r) * value_width : output + Begin(p->output, p->heads, z) + t * p->output.row;
    UNROLL for (int j = 0; j < WORK_COLUMNS; ++j) {
      const float value = row_factor == 0.0f ? 0.0f : blended[i][j] * row_factor;
      if (t < p->rows && COLUMN(j) < value_width) {
        to[COLUMN(j)] = value;
        good = good && isfinite(value);
      }
    }
  }
  if (!good) atomic_or(unusual, 1u);
}
