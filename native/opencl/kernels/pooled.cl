// SPDX-License-Identifier: Apache-2.0
// The weights of blocks of keys, added up for each query while its scores are made, so that no cell is ever in memory.
// MergeBlocks (merge.cl) makes a pooled map of them. Softmax is that of online.cl. Build options: those of
// score_tile.cl; GRAIN, of how many neighbouring keys a work-item adds up the exponentials by itself, 1 or COLUMNS: all
// blocks and parts must then begin at multiples of it; GRAIN_SLICE, how many of these sums of a row are in local memory
// at a time: all of them, or with a GRAIN of 1 a multiple of the columns that the items have side by side.

#define GRAINS (TILE_KEYS / GRAIN)
#define WORK_GRAINS (WORK_KEYS / GRAIN)
#if GRAIN == 1
#define SLOT_OF_GRAIN(grain) SLOT_OF(grain)
#else
#define SLOT_OF_GRAIN(grain) (grain)
#endif
#define SLOTS (GRAIN_SLICE > ITEMS_X ? GRAIN_SLICE : ITEMS_X)

// Adds up the grains [from, to) of a tile in a row, which begins at `row`.
float AddUp(__local const float* row, const int from, const int to) {
  float sum = 0.0f;
  int s = from;
  for (; s < to && s % 4 != 0; ++s) sum += row[SLOT_OF_GRAIN(s) * ROW_STRIDE];
  UNROLL_SOME for (; s + 4 <= to; s += 4) {
    __local const float* const four = row + SLOT_OF_GRAIN(s) * ROW_STRIDE;
    const int next = (SLOT_OF_GRAIN(1) - SLOT_OF_GRAIN(0)) * ROW_STRIDE;
    sum += (four[0] + four[next]) + (four[2 * next] + four[3 * next]);
  }
  for (; s < to; ++s) sum += row[SLOT_OF_GRAIN(s) * ROW_STRIDE];
  return sum;
}

// Computes `sums` [columns, rows] and `ends` [parts, rows] of the problem's first head. Keys are cut into `columns`
// equal blocks. A sum has the exponentials of a row's scores in a block, and the score from which they are measured; an
// end has the score from which those of a row in the keys of a part were measured last, and all exponentials there.
// `ranges` [tiles, 4] and `row_ranges` [rows, 2] are those of AttendOnline. Each part has its share of the blocks.
// `unusual` is set where a visible score is not finite; then nothing that was written counts.
__kernel __attribute__((reqd_work_group_size(ITEMS_X, ITEMS_Y, 1))) void SumBlocks(
    const Problem problem, __global const Element* q, __global const Element* k, __global const long* ranges,
    __global const int* row_ranges, const long tiles, const long parts, const long columns, const float factor,
    __global float2* sums, __global float2* ends, __global uint* unusual) {
  const Problem* p = &problem;
  __local float4 q_tile[WIDTH * TILE_ROWS / 4];  // [WIDTH, TILE_ROWS]
  __local float4 stages[2][STAGE_KEYS / 4];      // one is filled while some items may still read the other
  __local float4 slots[SLOTS * ROW_STRIDE / 4];  // sums of grains, or at first what each item found in a row
  __local float4 maxima[TILE_ROWS / 4];
  __local float totals[TILE_ROWS], added[TILE_ROWS];  // of a row so far: all exponentials, and those of its last block
  __local int rises;  // whether some row has a score that must count as its largest
  const int item = get_local_id(1) * ITEMS_X + get_local_id(0);
  const int x = ColumnInSquare(item, ITEMS_X, ITEMS_Y), y = RowInSquare(item, ITEMS_X, ITEMS_Y);
  // The last tiles are the longest under a causal mask: they go first.
  const long id = get_group_id(0), part = id % parts, tile = tiles - 1 - id / parts, first = tile * TILE_ROWS;
  ranges += tile * 4;
  // Blocks [begin_block, end_block) have keys that a row of the tile may look at; [own_block, stop_block) are this
  // part's.
  const long begin_block = ranges[0] < ranges[1] ? ((ranges[0] + 1) * columns - 1) / p->keys : 0;
  const long end_block = ranges[0] < ranges[1] ? (ranges[1] * columns - 1) / p->keys + 1 : 0;
  const long own_block = begin_block + (end_block - begin_block) * part / parts;
  const long stop_block = begin_block + (end_block - begin_block) * (part + 1) / parts;
  if (item == 0) rises = false;
  for (int r = item; r < TILE_ROWS; r += ITEMS) {
    ((__local float*)maxima)[r] = LOWEST;
    totals[r] = added[r] = 0.0f;
    if (first + r >= p->rows) continue;
    for (long b = part == 0 ? 0 : own_block; b < own_block; ++b) sums[b * p->rows + first + r] = (float2)(0.0f, LOWEST);
    for (long b = stop_block; b < (part == parts - 1 ? columns : stop_block); ++b)
      sums[b * p->rows + first + r] = (float2)(0.0f, LOWEST);
  }
  const long begin = max(ranges[0] / GRAIN * GRAIN, own_block * p->keys / columns);
  const long end = min(ranges[1], stop_block * p->keys / columns);
  q += Begin(p->q, p->heads, 0);
  k += Begin(p->k, p->heads, 0) + begin * p->k.row;
  for (int r = item % TILE_ROWS; r < TILE_ROWS; r += ITEMS) {
    const long t = first + r;
    UNROLL_SOME for (int d = item / TILE_ROWS * 4; d < WIDTH; d += (ITEMS + TILE_ROWS - 1) / TILE_ROWS * 4) {
      const Raw values = Read(q + t * p->q.row + d, t < p->rows ? (int)p->width - d : 0);
      StoreDown(FOUR(values), (__local float*)q_tile + d * TILE_ROWS + r, TILE_ROWS);
    }
  }
  const int width = (int)p->width;
  float least = INFINITY;
  // The block of `key`, its end, and the rest of the division that gave the end: so none is left for the loop.
  long block = own_block, block_end = (own_block + 1) * p->keys / columns, rest = (own_block + 1) * p->keys % columns;
  const long block_keys = p->keys / columns, block_rest = p->keys % columns;
  int stage = 0;
#if ITEMS > 1
  Raw next[KEY_READS];
  READ_AHEAD(KEY_READS, ReadKey(p, k, p->k.row, (int)min(end - begin, (long)TILE_KEYS), 0, n, item));
#endif
  for (long key = begin; key < end; key += TILE_KEYS) {
    const int count = (int)min(end - key, (long)TILE_KEYS);
    float scores[WORK_ROWS][WORK_KEYS];
    UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i][j] = 0.0f;
    for (int depth = 0; depth < width; depth += DEPTH_SLICE) {
      stage = 1 - stage;
      UNROLL for (int n = 0; n < KEY_READS; ++n) {
        const Raw values = WAS_READ(ReadKey(p, k, p->k.row, count, depth, n, item));
        StoreDown(FOUR(values), (__local float*)stages[stage] + READ_DEPTH(n) * KEY_STRIDE + READ_KEY(n), KEY_STRIDE);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (depth + DEPTH_SLICE < width) {
        READ_AHEAD(KEY_READS, ReadKey(p, k, p->k.row, count, depth + DEPTH_SLICE, n, item));
      } else {
        READ_AHEAD(KEY_READS, ReadKey(p, k + TILE_KEYS * p->k.row, p->k.row,
                                      (int)min(end - key - TILE_KEYS, (long)TILE_KEYS), 0, n, item));
      }
      AddSlice(q_tile, (__local const Columns*)stages[stage], depth, x, y, scores);
    }
    k += TILE_KEYS * p->k.row;
    if (ranges[2] <= key && key + TILE_KEYS <= ranges[3] && count == TILE_KEYS) {
      UNROLL for (int i = 0; i < WORK_ROWS; ++i) UNROLL for (int j = 0; j < WORK_KEYS; ++j) scores[i][j] *= factor;
    } else {
      UNROLL for (int i = 0; i < WORK_ROWS; ++i) {
        const long t = first + ROW(i);
        __global const int* const seen = row_ranges + min(t, p->rows - 1) * 2;
        const long last = min((long)seen[1], key + count);
        ScoreRange(i, seen[0] - key, t < p->rows ? last - key : 0, factor, x, scores);
      }
    }
    FindLargest(scores, maxima, x, y, slots, &rises, &least);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (rises) {
      for (int r = item; r < TILE_ROWS; r += ITEMS) {
        const float before = ((__local float*)maxima)[r];
        float most = before;
        for (int i = 0; i < ITEMS_X; ++i) most = fmax(most, ((__local float*)slots)[i * ROW_STRIDE + r]);
        const float shrink = exp2(before - most);
        ((__local float*)maxima)[r] = most;
        totals[r] *= shrink;
        added[r] *= shrink;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (item == 0) rises = false;
    }
    MakeExponentials(maxima, y, scores);
    UNROLL for (int slot = 0; slot < GRAINS; slot += GRAIN_SLICE) {
      if (slot > 0) barrier(CLK_LOCAL_MEM_FENCE);
      UNROLL for (int j = 0; j < WORK_GRAINS; ++j) {
        if (SLOT(j) / GRAIN_SLICE != slot / GRAIN_SLICE) continue;
        UNROLL for (int i = 0; i < WORK_ROWS; i += 4) {
          float sums_of[4];
          UNROLL for (int c = 0; c < 4; ++c) {
            sums_of[c] = scores[i + c][j * GRAIN];
            UNROLL for (int g = 1; g < GRAIN; ++g) sums_of[c] += scores[i + c][j * GRAIN + g];
          }
          slots[((SLOT(j) - slot) * ROW_STRIDE + ROW(i)) / 4] = vload4(0, sums_of);
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      const int slice_end = min(count, (slot + GRAIN_SLICE) * GRAIN);
      for (int from = slot * GRAIN, to; from < slice_end; from = to) {
        to = (int)min(block_end - key, (long)slice_end);
        const bool whole = block_end == key + to;
        for (int r = item; r < TILE_ROWS; r += ITEMS) {
          const float sum = AddUp((__local float*)slots + r, from / GRAIN - slot, (to + GRAIN - 1) / GRAIN - slot);
          totals[r] += sum;
          added[r] += sum;
          if (!whole) continue;
          if (first + r < p->rows) sums[block * p->rows + first + r] = (float2)(added[r], ((__local float*)maxima)[r]);
          added[r] = 0.0f;
        }
        if (!whole) continue;
        ++block;
        block_end += block_keys;
        rest += block_rest;
        if (rest >= columns) ++block_end, rest -= columns;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // A score of NaN or +∞ makes its sum so, and one of −∞ is below the score of a hidden cell.
  bool good = least >= LOWEST;
  for (int r = item; r < TILE_ROWS; r += ITEMS) {
    if (first + r >= p->rows) continue;
    const float most = ((__local float*)maxima)[r];
    // No row looks at the rest of the last block.
    if (block < stop_block) sums[block * p->rows + first + r] = (float2)(added[r], most);
    ends[part * p->rows + first + r] = (float2)(most, totals[r]);
    good = good && isfinite(totals[r]);
  }
  if (!good) atomic_or(unusual, 1u);
}
