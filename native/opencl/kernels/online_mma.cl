// SPDX-License-Identifier: Apache-2.0
// Computes on matrix units what AttendOnline in online.cl computes. Each warp keeps whole rows of scores and of the
// output in its registers, so that only keys and values go through local memory (Dao 2023): there are two tiles of
// each, one that is multiplied and one that is on its way. Build options: those of mma.cl; WIDTH, a multiple of 32 that
// holds the head width and the values' width; WARPS of a work-group; LEFTS, how many times 16 rows a warp has;
// TILE_KEYS, a multiple of 16; ALIGNED, when all rows of k and v begin at multiples of 16 bytes; ROW_RANGES, when masks
// leave a range of keys to each row; CHANGES_SCORES, when there is a soft cap, or a bias or an additive mask: each
// score then takes many more instructions, and registers.

#define ITEMS (WARPS * WARP)
#define WARP_ROWS (LEFTS * 16)
#define TILE_ROWS (WARPS * WARP_ROWS)
#define KEY_TILES (TILE_KEYS / 8)
#define WIDTH_TILES (WIDTH / 8)
#define WIDTH_STEPS (WIDTH / STEP)
#define KEY_ROW (WIDTH + PAD_ALONG)     // Numbers from one key to the next
#define VALUE_ROW (WIDTH + PAD_ACROSS)  // and from one value to the next
#define ROWS (2 * LEFTS)                // of each lane: its row i is LaneRow() + 8 i of the warp's
#define LOG2_E 1.44269504f

// CELL_ROW and CELL_KEY give the row of a lane's cell, and its key in the tile.
#define ROW_CELLS (KEY_TILES * 2)
#define CELLS (ROWS * ROW_CELLS)
#define CELL_ROW(cell) ((cell) / ROW_CELLS)
#define CELL_KEY(cell) ((cell) / 2 % KEY_TILES * 8 + LanePair() * 2 + (cell) % 2)
#define CELL(scores, cell) \
  scores[CELL_ROW(cell) / 2 * KEY_TILES + (cell) / 2 % KEY_TILES].x[CELL_ROW(cell) % 2 * 2 + (cell) % 2]

Row OwnRow(const Problem* p, const Row* first, const long r) {
  Row row = *first;
  row.t = p->first + r;
  row.r = r;
  row.own = row.t + p->own_shift;
  return row;
}

#ifdef ROW_RANGES
// Finds the first and the last key before `end` that a row looks at, counted from `key`. Windows are only compared,
// never added, since they may have any length.
INLINE void FindRange(const Problem* p, const Inputs* in, const Row* row, const long key, const long end, long* first,
                      long* last) {
  const long own = row->own - key;
  *first = 0, *last = end - key - 1;
  if (in->lengths && row->r < p->rows) *last = min(*last, in->lengths[row->b * p->queries + row->t] - 1 - key);
  if (p->causal) *last = min(*last, own);
  if (p->window_left >= 0 && own > p->window_left) *first = own - p->window_left;
  if (p->window_right >= 0 && *last - own > p->window_right) *last = own + p->window_right;
}

// Hides the cells whose keys are outside of the range of their row.
INLINE void HideOutside(const Problem* p, const Inputs* in, const Row* head, const long first, const long key,
                        const long end, Sums* scores) {
  REPEAT(i, ROWS) {
    const Row row = OwnRow(p, head, first + 8 * i);
    long begin, last;
    FindRange(p, in, &row, key, end, &begin, &last);
    // These count from the lane's first key, so that all cells have constants.
    const int first_seen = (int)min(begin, (long)TILE_KEYS) - LanePair() * 2;
    const int last_seen = (int)clamp(last, -1L, (long)TILE_KEYS) - LanePair() * 2;
    REPEAT(cell, ROW_CELLS) {
      const int s = cell / 2 * 8 + cell % 2;
      if (s < first_seen || s > last_seen) CELL(scores, i * ROW_CELLS + cell) = LOWEST;
    }
  }
}

bool SeesAny(const Problem* p, const Inputs* in, const Row* row, const long begin, const long end) {
  long first, last;
  FindRange(p, in, row, begin, end, &first, &last);
  return first <= last;
}
#else
// Returns a bit for each cell that is hidden, for whatever reason.
INLINE ulong CellsHidden(const Problem* p, const Inputs* in, const Row* head, const long first, const long key,
                         const long end) {
  ulong hidden = 0;
#pragma unroll 1
  for (int cell = 0; cell < CELLS; ++cell) {
    const Row row = OwnRow(p, head, first + 8 * CELL_ROW(cell));
    const long s = key + CELL_KEY(cell);
    hidden |= (ulong)(row.r >= p->rows || s >= end || IsHidden(p, in, &row, s)) << cell;
  }
  return hidden;
}
#endif

#ifdef CHANGES_SCORES
// Scales, caps and biases scores. The bits of `hidden` are of cells that have no biases.
INLINE void Change(const Problem* p, const Inputs* in, const Row* head, const long first, const long key,
                   const ulong hidden, Sums* scores) {
  REPEAT(cell, CELLS) CELL(scores, cell) *= p->scale;
  // The cap and the biases, in either order.
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    REPEAT(cell, CELLS) {
      const Row row = OwnRow(p, head, first + 8 * CELL_ROW(cell));
      if (pass == p->cap_after_bias) {
        CELL(scores, cell) = Cap(p, CELL(scores, cell));
      } else if (row.r < p->rows && (hidden >> cell & 1) == 0) {
        CELL(scores, cell) = AddBiases(p, in, &row, key + CELL_KEY(cell), CELL(scores, cell));
      }
    }
  }
}
#endif

// Returns the factor that makes scores exponents of two. Without changes the sign of q makes sure that it is not
// negative.
float Factor(const Problem* p) {
#ifdef CHANGES_SCORES
  return LOG2_E / p->temperature;
#else
  return fabs(p->scale / p->temperature) * LOG2_E;
#endif
}

// Loads rows of q as left matrices. Each lane reads what it keeps.
INLINE void LoadQueries(const Problem* p, __global const float* q, const long first, PAIR pairs[][LEFT_PAIRS]) {
#ifdef CHANGES_SCORES
  const float sign = 1.0f;
#else
  const float sign = p->scale < 0.0f ? -1.0f : 1.0f;
#endif
  REPEAT(i, LEFTS * WIDTH_STEPS) {
    REPEAT(j, LEFT_PAIRS) {
      const long r = first + i / WIDTH_STEPS * 16 + j % 2 * 8;
      const int d = i % WIDTH_STEPS * STEP + (LanePair() + j / 2 * 4) * 2;
      const float2 x = sign * LoadTwo(q + r * p->q.row + d, r < p->rows ? p->width - d : 0, false);
      pairs[i][j] = MakePair(x.x, x.y);
    }
  }
}

// Starts to copy the first `count` rows of k or v from p on, at most TILE_KEYS, and zeros after them.
INLINE void BringRows(__global const Number* p, const long row, const int count, const int width, __local Number* tile,
                      const int tile_row) {
  REPEAT(i, TILE_KEYS * WIDTH / CHUNK / ITEMS) {
    const int chunk = get_local_id(0) + i * ITEMS, s = chunk / (WIDTH / CHUNK), d = chunk % (WIDTH / CHUNK) * CHUNK;
    Bring(tile + s * tile_row + d, p + s * row + d, s < count ? clamp(width - d, 0, CHUNK) : 0);
  }
}

INLINE void Clear(Sums* sums, const int count) {
  REPEAT(i, count) { REPEAT(e, 4) sums[i].x[e] = 0.0f; }
}

// Shrinks what is blended, and adds the products of a tile's weights and values.
#ifdef TF32X3
// These are sums by themselves, which are then added with rounding (see AddProducts).
INLINE void Blend(__local const Number* v_tile, const Sums* weights, const float* shrink, Sums* blended,
                  __local uint* exchange) {
  Left left[TILE_KEYS / STEP][LEFTS];
  REPEAT(step, TILE_KEYS / STEP) {
    REPEAT(i, LEFTS) left[step][i] = LeftOfSums(weights + i * KEY_TILES + step * STEP_TILES);
  }
  REPEAT(j, WIDTH_TILES / 2) {
    Sums part[LEFTS * 2];
    Clear(part, LEFTS * 2);
    REPEAT(step, TILE_KEYS / STEP) {
      Right right[2];
      LoadRightsOfColumns(v_tile + step * STEP * VALUE_ROW + j * 16, VALUE_ROW, right);
      Accumulate(part, 2, left[step], LEFTS, right, 2, exchange);
    }
    REPEAT(n, LEFTS * 8) {
      const int i = n / 8, c = n / 4 % 2, e = n % 4;
      float* const sum = &blended[i * WIDTH_TILES + j * 2 + c].x[e];
      *sum = fma(*sum, shrink[i * 2 + e / 2], part[i * 2 + c].x[e]);
    }
  }
}
#else
INLINE void Blend(__local const Number* v_tile, const Sums* weights, const float* shrink, Sums* blended,
                  __local uint* exchange) {
  REPEAT(i, LEFTS * WIDTH_TILES) { REPEAT(e, 4) blended[i].x[e] *= shrink[i / WIDTH_TILES * 2 + e / 2]; }
  REPEAT(step, TILE_KEYS / STEP) {
    Left left[LEFTS];
    REPEAT(i, LEFTS) left[i] = LeftOfSums(weights + i * KEY_TILES + step * STEP_TILES);
    REPEAT(j, WIDTH_TILES / 2) {
      Right right[2];
      LoadRightsOfColumns(v_tile + step * STEP * VALUE_ROW + j * 16, VALUE_ROW, right);
      Accumulate(blended + j * 2, WIDTH_TILES, left, LEFTS, right, 2, exchange);
    }
  }
}
#endif

// Computes the same as AttendOnline in online.cl, with TILE_ROWS rows to a tile. k and v are Numbers.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void AttendOnlineMma(
    const Problem problem, INPUT_PARAMETERS, __global const float* sinks, __global const float* head_mask,
    __global const float* q, __global const Number* k, __global const Number* v, __global const long* ranges,
    __global float* output, __global float* lse, __global uint* unusual) {
  const Problem* p = &problem;
  TILE(k_tiles, 2 * TILE_KEYS * KEY_ROW);
  TILE(v_tiles, 2 * TILE_KEYS * VALUE_ROW);
  EXCHANGE(exchange, WARPS, LEFTS, 2);
  const Inputs in = INPUTS;
  // The last rows go first, since under a causal mask they have most to do.
  long id = get_group_id(0);
  const long tiles = (p->rows + TILE_ROWS - 1) / TILE_ROWS, tile = tiles - 1 - Next(&id, tiles), z = id;
  const long first = tile * TILE_ROWS + get_local_id(0) / WARP * WARP_ROWS + LaneRow();
  const Row head = RowAt(p, z, 0);
  ranges += (head.b * tiles + tile) * 4;
  const long begin = ranges[0];
  // Keys count from the first that the tile looks at: so they fit into one register.
  const int end = (int)(ranges[1] - begin), plain_begin = (int)(ranges[2] - begin),
            plain_end = (int)(ranges[3] - begin);
  const long k_row = p->k.row, v_row = p->v.row;
  const int width = (int)p->width, value_width = (int)p->value_width;
  k += Begin(p->k, p->heads, z) + begin * k_row;
  v += Begin(p->v, p->heads, z) + begin * v_row;
  const float factor = Factor(p);
  BringRows(k, k_row, end, width, k_tiles, KEY_ROW);
  BringRows(v, v_row, end, value_width, v_tiles, VALUE_ROW);
  PAIR queries[LEFTS * WIDTH_STEPS][LEFT_PAIRS];
  LoadQueries(p, q + Begin(p->q, p->heads, z), first, queries);
  Sums blended[LEFTS * WIDTH_TILES];
  Clear(blended, LEFTS * WIDTH_TILES);
  float maxima[ROWS], sums[ROWS];
#ifndef ROW_RANGES
  float least = INFINITY;  // of all visible scores
#endif
  REPEAT(i, ROWS) {
    maxima[i] = LOWEST;
    sums[i] = 0.0f;
  }
  int buffer = 0;
  for (int key = 0; key < end; key += TILE_KEYS) {
    __local const Number *k_tile = k_tiles + buffer * (TILE_KEYS * KEY_ROW),
                         *v_tile = v_tiles + buffer * (TILE_KEYS * VALUE_ROW);
    Arrived();
    barrier(CLK_LOCAL_MEM_FENCE);  // no warp reads the other tiles any more
    buffer = 1 - buffer;
    k += TILE_KEYS * k_row;
    v += TILE_KEYS * v_row;
    BringRows(k, k_row, end - key - TILE_KEYS, width, k_tiles + buffer * (TILE_KEYS * KEY_ROW), KEY_ROW);
    BringRows(v, v_row, end - key - TILE_KEYS, value_width, v_tiles + buffer * (TILE_KEYS * VALUE_ROW), VALUE_ROW);
    Sums scores[LEFTS * KEY_TILES];
    Clear(scores, LEFTS * KEY_TILES);
    REPEAT(step, WIDTH_STEPS) {
      Left left[LEFTS];
      REPEAT(i, LEFTS) left[i] = MakeLeft(queries[i * WIDTH_STEPS + step]);
      REPEAT(j, KEY_TILES / 2) {
        Right right[2];
        LoadRightsOfRows(k_tile + j * 16 * KEY_ROW + step * STEP, KEY_ROW, right);
        Accumulate(scores + j * 2, KEY_TILES, left, LEFTS, right, 2, exchange);
      }
    }
    const bool hides_none = plain_begin <= key && key + TILE_KEYS <= plain_end;
#ifdef ROW_RANGES
#ifdef CHANGES_SCORES
    Change(p, &in, &head, first, begin + key, 0, scores);
#endif
    if (!hides_none) HideOutside(p, &in, &head, first, begin + key, begin + end, scores);
#else
    const ulong hidden = hides_none ? 0 : CellsHidden(p, &in, &head, first, begin + key, begin + end);
#ifdef CHANGES_SCORES
    Change(p, &in, &head, first, begin + key, hidden, scores);
#endif
    REPEAT(cell, CELLS) {
      const bool seen = (hidden >> cell & 1) == 0;
      least = seen ? fmin(least, CELL(scores, cell)) : least;
      CELL(scores, cell) = seen ? CELL(scores, cell) : LOWEST;
    }
#endif
    float most[ROWS];
    REPEAT(i, ROWS) {
      most[i] = maxima[i];
      REPEAT(cell, ROW_CELLS) most[i] = fmax(most[i], CELL(scores, i * ROW_CELLS + cell));
    }
    CombineRows(most, ROWS, /*largest=*/true, exchange);
    float shrink[ROWS];
    REPEAT(i, ROWS) {
      // A row without a visible key so far takes 0 as its origin, from which LOWEST is as good as −∞.
      const float origin = most[i] == LOWEST ? 0.0f : most[i] * factor;
      shrink[i] = Exp2(fma(maxima[i], factor, -origin));
      maxima[i] = most[i];
      sums[i] *= shrink[i];
      REPEAT(cell, ROW_CELLS) {
        const float e = Exp2(fma(CELL(scores, i * ROW_CELLS + cell), factor, -origin));
        CELL(scores, i * ROW_CELLS + cell) = e;
        sums[i] += e;
      }
    }
    Blend(v_tile, scores, shrink, blended, exchange);
  }
  CombineRows(sums, ROWS, /*largest=*/false, exchange);
#ifdef ROW_RANGES
  bool good = true;
#else
  bool good = least > LOWEST;
#endif
  output += Begin(p->output, p->heads, z);
  REPEAT(i, ROWS) {
    const long r = first + 8 * i;
    if (r < p->rows) {
      good = good && sums[i] < INFINITY;  // nor NaN: where all scores are, none is the largest
#ifdef ROW_RANGES
      // Scores of −∞ are below those of hidden cells: where all are, the row would seem to see nothing.
      const Row own = OwnRow(p, &head, r);
      good = good && (maxima[i] != LOWEST || !SeesAny(p, &in, &own, begin, begin + end));
#endif
      const RowEnd row = EndRow(p, sinks, head_mask, z, maxima[i] == LOWEST ? LOWEST : maxima[i] * factor, sums[i]);
      REPEAT(j, WIDTH_TILES * 2) {
        const int d = j / 2 * 8 + LanePair() * 2 + j % 2;
        const float x = blended[i / 2 * WIDTH_TILES + j / 2].x[i % 2 * 2 + j % 2];
        const float value = row.factor == 0.0f ? 0.0f : x * row.factor;
        if (d < value_width) output[r * p->output.row + d] = value;
        good = good && isfinite(value);
      }
      if (lse && LanePair() == 0) lse[z * p->rows + r] = row.lse;
    }
  }
  if (!good) atomic_or(unusual, 1u);
}
