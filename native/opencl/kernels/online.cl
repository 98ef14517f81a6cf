// SPDX-License-Identifier: Apache-2.0
// Attention whose cells are never in memory: softmax over blocks of keys with a running maximum (Milakov & Gimelshein
// 2018; Dao et al. 2022). The rows of a tile are queries of all heads that share keys and values, so that these are
// read once; where there are few rows, work-groups share the keys (Dao et al. 2023, "Flash-Decoding") and merge.cl puts
// together what they found.
//
// Build options: those of score_tile.cl, whose WIDTH holds the values' width, too; KEY_SLICE, how much of the values'
// tile is in local memory at a time; KEY_STAGES, 1 or 2, how many slices of the keys' depth are there at other times;
// ROW_RANGES, where masks leave a range of keys to each row and nothing else changes scores.

#define WORK_COLUMNS (WIDTH / ITEMS_X)
#define STAGE_VALUES (KEY_SLICE * WIDTH)
#define STAGE (KEY_STAGES * STAGE_KEYS > STAGE_VALUES ? KEY_STAGES * STAGE_KEYS : STAGE_VALUES)
#define WEIGHT_SLICE (KEY_SLICE > ITEMS_X ? KEY_SLICE : ITEMS_X)  // of as many keys are weights in local memory

// Loops over all j whose slots are in the slice of WEIGHT_SLICE weights that begins with `slot`.
#if ITEMS > 1
#define EACH_OF_SLICE(j, slot) \
  UNROLL for (int j = 0; j < WORK_KEYS; ++j) if (SLOT(j) / WEIGHT_SLICE == (slot) / WEIGHT_SLICE)
#else
#define EACH_OF_SLICE(j, slot) for (int j = (slot); j < (slot) + WEIGHT_SLICE; ++j)
#endif

// The part of the problem that a tile is of. It is kept in local memory, so that what is seldom needed takes no
// registers.
typedef struct {
  Row origin;         // of the group's first head
  long ranges[4];     // as the kernel's
  long first_query;   // of the first row
  long k_row, v_row;  // from one row of k and of v to the next
  long part_rows;     // where the first row is among those of all parts
  int first_member;   // of the first row: rows count through the members of a query first
  int rises;          // not 0 where some row has a score that must count as its largest
} Tile;
typedef char TileFitsItsBytes[sizeof(Tile) <= kOnlineTileBytes ? 1 : -1];  // no such array is there where it does not

// The query and the member that row r of the tile is of.
#define QUERY(r) (tile.first_query + (tile.first_member + (r)) / members)
#define MEMBER(r) ((tile.first_member + (r)) % members)

// VALUE_READS are the fours that each item brings to a slice of values in local memory. The first key's are at v.
#define VALUE_READS (KEY_SLICE * WIDTH / 4 / ITEMS)

Raw ReadValue(const Problem* p, __global const Element* v, const long row, const int count, const int slot, const int n,
              const int item) {
  const int s = KEY_OF(slot + AT(n) / (WIDTH / 4)), d = AT(n) % (WIDTH / 4) * 4;
  return Read(v + s * row + d, s < count ? (int)p->value_width - d : 0);
}

// Computes output, and lse [heads, rows], of q, k and v, which are where the problem says. `ranges` [B, tiles, 4] are
// the keys that some row of a tile may look at, and those whose scores are `factor` q · k for all of its rows and need
// no mask. With ROW_RANGES, `row_ranges` [B, rows, 2] are the keys that a row looks at, and all scores are just that.
// `unusual` is set where a visible score or an output is not finite; then nothing that was written counts. With more
// than one part, each has its share of the keys. It then leaves `sums` [groups, parts, rows, 2], the score from which
// exponentials were measured last and their sum, and `blends` [groups, parts, rows, value_width], both for the rows of
// all members of a group.
__kernel __attribute__((reqd_work_group_size(ITEMS_X, ITEMS_Y, 1))) void AttendOnline(
    const Problem problem, INPUT_PARAMETERS, __global const float* sinks, __global const float* head_mask,
    __global const Element* q, __global const Element* k, __global const Element* v, __global const long* ranges,
    __global const int* row_ranges, const long groups, const long tiles, const long parts, const float factor,
    __global float* output, __global float* lse, __global float* sums, __global float* blends, __global uint* unusual) {
  const Problem* p = &problem;
  __local float4 q_tile[WIDTH * TILE_ROWS / 4];  // [WIDTH, TILE_ROWS]
  __local float4 stage[STAGE / 4];  // keys [KEY_STAGES, DEPTH_SLICE, KEY_STRIDE] or values [KEY_SLICE, WIDTH]
  __local float4 weights[WEIGHT_SLICE * ROW_STRIDE / 4];  // [slots, ROW_STRIDE]
  __local float4 maxima[TILE_ROWS / 4], totals[TILE_ROWS / 4];
  __local Tile tile;
  // At other times: scores; [ITEMS_X, ROW_STRIDE], what each item found in its part of a row.
  __local float *const cells = (__local float*)weights, *const found = cells;
  __local const Columns* const columns = (__local const Columns*)stage;
  const Inputs in = INPUTS;
  const int item = get_local_id(1) * ITEMS_X + get_local_id(0), members = (int)p->heads.members;
  const int x = ColumnInSquare(item, ITEMS_X, ITEMS_Y), y = RowInSquare(item, ITEMS_X, ITEMS_Y);
  // The last tiles are the longest under a causal mask: they go first.
  const long id = get_group_id(0), group = id % groups, part = id / groups % parts, head = group * members,
             first = (tiles - 1 - id / groups / parts) * TILE_ROWS;
  const Row origin = RowAt(p, head, 0);
  ranges += (origin.b * tiles + first / TILE_ROWS) * 4;
  const long blocks = (ranges[1] - ranges[0] + TILE_KEYS - 1) / TILE_KEYS;
  const long begin = ranges[0] + blocks * part / parts * TILE_KEYS;
  const long end = min(ranges[1], ranges[0] + blocks * (part + 1) / parts * TILE_KEYS);
  if (item == 0) {
    tile.origin = origin;
    for (int i = 0; i < 4; ++i) tile.ranges[i] = ranges[i];
    tile.k_row = p->k.row, tile.v_row = p->v.row;
    tile.first_query = first / members;
    tile.first_member = (int)(first % members);
    tile.part_rows = (group * parts + part) * p->rows * members + first;
    tile.rises = false;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  k += Begin(p->k, p->heads, head) + begin * p->k.row;
  v += Begin(p->v, p->heads, head) + begin * p->v.row;
  for (int r = item % TILE_ROWS; r < TILE_ROWS; r += ITEMS) {
    const long t = QUERY(r);
    __global const Element* const from = q + Begin(p->q, p->heads, head + MEMBER(r)) + t * p->q.row;
    UNROLL_SOME for (int d = item / TILE_ROWS * 4; d < WIDTH; d += (ITEMS + TILE_ROWS - 1) / TILE_ROWS * 4) {
      const Raw values = Read(from + d, t < p->rows ? (int)p->width - d : 0);
      StoreDown(FOUR(values), (__local float*)q_tile + d * TILE_ROWS + r, TILE_ROWS);
    }
  }
  for (int r = item; r < TILE_ROWS; r += ITEMS) ((__local float*)maxima)[r] = LOWEST;
  const int width = (int)p->width, value_width = (int)p->value_width;
  float blended[WORK_ROWS][WORK_COLUMNS], sum[WORK_ROWS];
  float least = INFINITY;
  UNROLL for (int i = 0; i < WORK_ROWS; ++i) {
    sum[i] = 0.0f;
    UNROLL for (int j = 0; j < WORK_COLUMNS; ++j) blended[i][j] = 0.0f;
  }
#if ITEMS > 1
  Raw next[KEY_READS > VALUE_READS ? KEY_READS : VALUE_READS];
  READ_AHEAD(KEY_READS, ReadKey(p, k, tile.k_row, (int)min(end - begin, (long)TILE_KEYS), 0, n, item));
#endif
  for (long key = begin; key < end; key += TILE_KEYS) {
    const int count = (int)min(end - key, (long)TILE_KEYS);
    float scores[WORK_ROWS][WORK_KEYS];
    UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i][j] = 0.0f;
    for (int depth = 0; depth < width; depth += DEPTH_SLICE) {
      // With two stages, one is filled while some items may still read the other.
      if (KEY_STAGES == 1 || depth == 0) barrier(CLK_LOCAL_MEM_FENCE);
      __local float* const keys = (__local float*)stage + depth / DEPTH_SLICE % KEY_STAGES * STAGE_KEYS;
      UNROLL for (int n = 0; n < KEY_READS; ++n) {
        const Raw values = WAS_READ(ReadKey(p, k, tile.k_row, count, depth, n, item));
        StoreDown(FOUR(values), keys + READ_DEPTH(n) * KEY_STRIDE + READ_KEY(n), KEY_STRIDE);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (depth + DEPTH_SLICE < width) {
        READ_AHEAD(KEY_READS, ReadKey(p, k, tile.k_row, count, depth + DEPTH_SLICE, n, item));
      } else {
        READ_AHEAD(VALUE_READS, ReadValue(p, v, tile.v_row, count, 0, n, item));
      }
      AddSlice(q_tile, (__local const Columns*)keys, depth, x, y, scores);
    }
    if (tile.ranges[2] <= key && key + TILE_KEYS <= tile.ranges[3] && count == TILE_KEYS) {
      UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i][j] *= factor;
    } else {
#ifdef ROW_RANGES
      UNROLL for (int i = 0; i < WORK_ROWS; ++i) {
        const long t = QUERY(ROW(i));
        __global const int* const seen = row_ranges + (tile.origin.b * p->rows + min(t, p->rows - 1)) * 2;
        ScoreRange(i, seen[0] - key, t < p->rows ? seen[1] - key : 0, factor, x, scores);
      }
#else
      // Scores go by way of local memory, so that the code for a cell is there once.
      for (int slot = 0; slot < TILE_KEYS; slot += WEIGHT_SLICE) {
        EACH_OF_SLICE(j, slot) {
          UNROLL for (int i = 0; i < WORK_ROWS; ++i) cells[(SLOT(j) - slot) * ROW_STRIDE + ROW(i)] = scores[i][j];
        }
        for (int i = 0; i < WORK_ROWS; ++i) {
          const Row row = RowOf(p, &tile.origin, MEMBER(ROW(i)), QUERY(ROW(i)));
          for (int n = 0; n < WEIGHT_SLICE; n += ITEMS_X) {
            __local float* const cell = cells + (n + x) * ROW_STRIDE + ROW(i);
            const int s = KEY_OF(slot + n + x);
            *cell = row.r < p->rows && s < count ? Score(p, &in, &row, key + s, *cell) : LOWEST;
          }
        }
        EACH_OF_SLICE(j, slot) {
          UNROLL for (int i = 0; i < WORK_ROWS; ++i) scores[i][j] = cells[(SLOT(j) - slot) * ROW_STRIDE + ROW(i)];
        }
      }
#endif
    }
    FindLargest(scores, maxima, x, y, weights, &tile.rises, &least);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tile.rises) {
      for (int r = item; r < TILE_ROWS; r += ITEMS) {
        const float before = ((__local float*)maxima)[r];
        float most = before;
        for (int i = 0; i < ITEMS_X; ++i) most = fmax(most, found[i * ROW_STRIDE + r]);
        ((__local float*)maxima)[r] = most;
        ((__local float*)totals)[r] = exp2(before - most);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (item == 0) tile.rises = false;
      UNROLL for (int i = 0; i < WORK_ROWS; i += 4) {
        float shrink[4];
        vstore4(totals[ROW(i) / 4], 0, shrink);
        UNROLL for (int c = 0; c < 4; ++c) {
          sum[i + c] *= shrink[c];
          UNROLL for (int j = 0; j < WORK_COLUMNS; ++j) blended[i + c][j] *= shrink[c];
        }
      }
    }
    MakeExponentials(maxima, y, scores);
    UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j) sum[i] += scores[i][j];
    k += TILE_KEYS * tile.k_row;
    UNROLL for (int slot = 0; slot < TILE_KEYS; slot += KEY_SLICE) {
      barrier(CLK_LOCAL_MEM_FENCE);
      UNROLL for (int n = 0; n < VALUE_READS; ++n) {
        const Raw values = WAS_READ(ReadValue(p, v, tile.v_row, count, slot, n, item));
        stage[AT(n)] = FOUR(values);
      }
      if (slot % WEIGHT_SLICE == 0) {
        EACH_OF_SLICE(j, slot) {
          UNROLL for (int i = 0; i < WORK_ROWS; i += 4) weights[((SLOT(j) - slot) * ROW_STRIDE + ROW(i)) / 4] =
              (float4)(scores[i][j], scores[i + 1][j], scores[i + 2][j], scores[i + 3][j]);
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (slot + KEY_SLICE < TILE_KEYS) {
        READ_AHEAD(VALUE_READS, ReadValue(p, v, tile.v_row, count, slot + KEY_SLICE, n, item));
      } else {
        READ_AHEAD(KEY_READS, ReadKey(p, k, tile.k_row, (int)min(end - key - TILE_KEYS, (long)TILE_KEYS), 0, n, item));
      }
      UNROLL_SOME for (int s = 0; s < KEY_SLICE; ++s) {
        float left[WORK_ROWS], right[WORK_COLUMNS];
        UNROLL for (int i = 0; i < WORK_ROWS / 4; ++i)
            vstore4(weights[(slot % WEIGHT_SLICE + s) * (ROW_STRIDE / 4) + i * ITEMS_Y + y], i, left);
        UNROLL for (int j = 0; j < WORK_COLUMNS; j += COLUMNS)
            READ_COLUMNS(right + j, columns[(s * WIDTH + COLUMN(j)) / COLUMNS]);
        UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_COLUMNS; ++j) blended[i][j] =
            fma(left[i], right[j], blended[i][j]);
      }
    }
    v += TILE_KEYS * tile.v_row;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // A score of NaN or +∞ makes its sum so, and one of −∞ is below the score of a hidden cell.
  bool good = least >= LOWEST;
  UNROLL for (int i = 0; i < WORK_ROWS; ++i) {
    good = good && isfinite(sum[i]);
    found[x * ROW_STRIDE + ROW(i)] = sum[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int r = item; r < TILE_ROWS; r += ITEMS) {
    const long t = QUERY(r), z = tile.origin.z + MEMBER(r);
    const float max = ((__local float*)maxima)[r];
    float total = 0.0f, row_factor = 1.0f;
    for (int i = 0; i < ITEMS_X; ++i) total += found[i * ROW_STRIDE + r];
    if (t < p->rows && parts > 1) {
      sums[(tile.part_rows + r) * 2] = max;
      sums[(tile.part_rows + r) * 2 + 1] = total;
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
    const long t = QUERY(r), z = tile.origin.z + MEMBER(r);
    const float row_factor = ((__local float*)totals)[r];
    __global float* const to = parts > 1 ? blends + (tile.part_rows + r) * value_width
                                         : output + Begin(p->output, p->heads, z) + t * p->output.row;
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
