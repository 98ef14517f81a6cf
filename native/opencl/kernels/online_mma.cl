// SPDX-License-Identifier: Apache-2.0
// What AttendOnline in online.cl computes, on matrix units: each warp keeps whole rows of scores and of the output in
// its registers, so that only keys and values go through local memory (Dao 2023). Build options: those of mma.cl;
// WIDTH, a multiple of 32 that holds the head width and the values' width; WARPS of a work-group; LEFTS, how many times
// 16 rows a warp has; TILE_KEYS, 16 or a multiple of 32; CHANGES_SCORES, when there is a soft cap, or a bias or an
// additive mask: each score then takes many more instructions, and registers.

#define ITEMS (WARPS * WARP)
#define WARP_ROWS (LEFTS * 16)
#define TILE_ROWS (WARPS * WARP_ROWS)
#define KEY_TILES (TILE_KEYS / 8)
#define WIDTH_TILES (WIDTH / 8)
#define WIDTH_STEPS (WIDTH / STEP)
#define KEY_ROW (WIDTH / 2 + PAD_DEPTH)         // PAIRs from one key to the next, which are pairs of columns
#define VALUE_ROW (WIDTH + PAD_ROW)             // PAIRs from one pair of keys to the next
#define RIGHTS (KEY_TILES < 4 ? KEY_TILES : 4)  // right matrices at a time: more would not fit the registers
#define ROWS (2 * LEFTS)                        // of each lane: its row i is LaneRow() + 8 i of the warp's
#define LOWEST (-FLT_MAX)                       // a masked score: smaller than all others, and still a number
#define LOG2_E 1.44269504f

// Cell `cell` of a lane: its row, and the key in the tile.
#define ROW_CELLS (KEY_TILES * 2)
#define CELLS (ROWS * ROW_CELLS)
#define CELL_ROW(cell) ((cell) / ROW_CELLS)
#define CELL_KEY(cell) ((cell) / 2 % KEY_TILES * 8 + LanePair() * 2 + (cell) % 2)
#define CELL(scores, cell) \
  scores[CELL_ROW(cell) / 2 * KEY_TILES + (cell) / 2 % KEY_TILES].x[CELL_ROW(cell) % 2 * 2 + (cell) % 2]

// Which cells a tile of scores hides: none; those outside a range of keys in each row; any.
enum { kNone, kOutside, kAny };

// Whether all of a block's masks leave a range of keys to each row, and its biases nothing to add.
bool HidesRanges(const Problem* p, const Inputs* in) {
  return !in->boolean && !in->additive && !in->padding && !in->prefixes && !in->key_documents && !in->biases &&
         !in->global_tokens && p->dilation == 1;
}

// What is hidden among keys [key, key + TILE_KEYS) and rows [row, row + TILE_ROWS); keys end at `end`.
int Hides(const Problem* p, const Inputs* in, const long row, const long key, const long end) {
  const long last_key = key + TILE_KEYS - 1, own = p->first + row + p->own_shift, last_own = own + TILE_ROWS - 1;
  if (!HidesRanges(p, in) || (end > p->maskable && last_key >= p->maskable)) return kAny;
  if (last_key >= end || in->lengths || (p->causal && last_key > own)) return kOutside;
  if (p->window_left >= 0 && last_own - key > p->window_left) return kOutside;
  return p->window_right >= 0 && last_key - own > p->window_right ? kOutside : kNone;
}

Row OwnRow(const Problem* p, const Row* first, const long r) {
  Row row = *first;
  row.t = p->first + r;
  row.r = r;
  row.own = row.t + p->own_shift;
  return row;
}

// A bit for each cell that is hidden because its key is outside what its row may look at.
INLINE ulong CellsOutside(const Problem* p, const Inputs* in, const Row* head, const long first, const long key,
                          const long end) {
  ulong hidden = 0;
  REPEAT(i, ROWS) {
    const Row row = OwnRow(p, head, first + 8 * i);
    // From the tile's first key on. Windows can be as long as they like: they are not added to anything.
    const long own = row.own - key;
    long begin = 0, last = min(end - key, (long)TILE_KEYS) - 1;
    if (in->lengths && row.r < p->rows) last = min(last, in->lengths[row.b * p->queries + row.t] - 1 - key);
    if (p->causal) last = min(last, own);
    if (p->window_left >= 0 && own > p->window_left) begin = own - p->window_left;
    if (p->window_right >= 0 && last - own > p->window_right) last = own + p->window_right;
    REPEAT(cell, ROW_CELLS) {
      const int s = CELL_KEY(cell);
      hidden |= (ulong)(s < begin || s > last) << (i * ROW_CELLS + cell);
    }
  }
  return hidden;
}

// A bit for each cell that is hidden, for whatever reason.
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

// q · k → scores; LOWEST where they are hidden. Returns the smallest that is not.
INLINE float Score(const Problem* p, const Inputs* in, const Row* head, const long first, const long key,
                   const ulong hidden, Sums* scores) {
  const float unit = 1.0f / p->temperature;
  float least = INFINITY;
#ifdef CHANGES_SCORES
  REPEAT(cell, CELLS) CELL(scores, cell) *= p->scale;
  // The cap and the biases, in either order.
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    REPEAT(cell, CELLS) {
      const Row row = OwnRow(p, head, first + 8 * CELL_ROW(cell));
      if (pass == p->cap_after_bias) {
        CELL(scores, cell) = Cap(p, CELL(scores, cell));
      } else if ((hidden >> cell & 1) == 0) {
        CELL(scores, cell) = AddBiases(p, in, &row, key + CELL_KEY(cell), CELL(scores, cell));
      }
    }
  }
  REPEAT(cell, CELLS) CELL(scores, cell) *= unit;
#else
  REPEAT(cell, CELLS) CELL(scores, cell) *= p->scale * unit;
#endif
  REPEAT(cell, CELLS) {
    const bool seen = (hidden >> cell & 1) == 0;
    least = seen ? fmin(least, CELL(scores, cell)) : least;
    CELL(scores, cell) = seen ? CELL(scores, cell) : LOWEST;
  }
  return least;
}

// Rows of q as left matrices: a lane reads what it keeps.
INLINE void LoadQueries(const Problem* p, __global const float* q, const long first, PAIR pairs[][LEFT_PAIRS]) {
  REPEAT(i, LEFTS * WIDTH_STEPS) {
    REPEAT(j, LEFT_PAIRS) {
      const long r = first + i / WIDTH_STEPS * 16 + j % 2 * 8;
      const int d = i % WIDTH_STEPS * STEP + (LanePair() + j / 2 * 4) * 2;
      const float2 x = LoadTwo(q + r * p->q.row + d, r < p->rows ? p->width - d : 0, false);
      pairs[i][j] = MakePair(x.x, x.y);
    }
  }
}

// Keys [key, end) of k and v, at most TILE_KEYS, and nothing but 0 after them.
INLINE void LoadKeys(const Problem* p, __global const float* k, __global const float* v, const long key, const long end,
                     const bool k_aligned, const bool v_aligned, __local PAIR* k_tile, __local PAIR* v_tile) {
  const long k_row = p->k.row, v_row = p->v.row;
  const int width = (int)p->width, value_width = (int)p->value_width, count = (int)min(end - key, (long)TILE_KEYS);
  k += key * k_row;
  v += key * v_row;
  REPEAT(i, TILE_KEYS * WIDTH / 4 / ITEMS) {
    const int quad = get_local_id(0) + i * ITEMS, s = quad / (WIDTH / 4), d = quad % (WIDTH / 4) * 4;
    const float4 x = LoadFour(k + s * k_row + d, s < count ? width - d : 0, k_aligned);
    k_tile[s * KEY_ROW + d / 2] = MakePair(x.x, x.y);
    k_tile[s * KEY_ROW + d / 2 + 1] = MakePair(x.z, x.w);
  }
  REPEAT(i, TILE_KEYS * WIDTH / 4 / ITEMS) {
    const int quad = get_local_id(0) + i * ITEMS, s = quad / (WIDTH / 2) * 2, d = quad % (WIDTH / 2) * 2;
    const float2 x = LoadTwo(v + s * v_row + d, s < count ? value_width - d : 0, v_aligned);
    const float2 y = LoadTwo(v + (s + 1) * v_row + d, s + 1 < count ? value_width - d : 0, v_aligned);
    v_tile[s / 2 * VALUE_ROW + d] = MakePair(x.x, y.x);
    v_tile[s / 2 * VALUE_ROW + d + 1] = MakePair(x.y, y.y);
  }
}

INLINE void Clear(Sums* sums, const int count) {
  REPEAT(i, count) { REPEAT(e, 4) sums[i].x[e] = 0.0f; }
}

// As AttendOnline in online.cl, with TILE_ROWS rows to a tile.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void AttendOnlineMma(
    const Problem problem, INPUT_PARAMETERS, __global const float* sinks, __global const float* head_mask,
    __global const float* q, __global const float* k, __global const float* v, __global const long* ranges,
    __global float* output, __global float* lse, __global uint* unusual) {
  const Problem* p = &problem;
  __local PAIR k_tile[TILE_KEYS * KEY_ROW], v_tile[TILE_KEYS / 2 * VALUE_ROW];
  EXCHANGE(exchange, WARPS, LEFTS, RIGHTS);
  const Inputs in = INPUTS;
  // The last rows first: under a causal mask these have most to do.
  long id = get_group_id(0);
  const long tiles = (p->rows + TILE_ROWS - 1) / TILE_ROWS, tile = tiles - 1 - Next(&id, tiles), z = id;
  const long first = tile * TILE_ROWS + get_local_id(0) / WARP * WARP_ROWS + LaneRow();
  const Row head = RowAt(p, z, 0);
  const long range = (head.b * tiles + tile) * 4, end = ranges[range + 1];
  const long k_begin = Begin(p->k, p->heads, z), v_begin = Begin(p->v, p->heads, z);
  const bool k_aligned = (k_begin | p->k.row) % 4 == 0, v_aligned = (v_begin | p->v.row) % 2 == 0;
  PAIR queries[LEFTS * WIDTH_STEPS][LEFT_PAIRS];
  LoadQueries(p, q + Begin(p->q, p->heads, z), first, queries);
  Sums blended[LEFTS * WIDTH_TILES];
  Clear(blended, LEFTS * WIDTH_TILES);
  float maxima[ROWS], sums[ROWS], least = INFINITY;
  REPEAT(i, ROWS) {
    maxima[i] = LOWEST;
    sums[i] = 0.0f;
  }
  for (long key = ranges[range]; key < end; key += TILE_KEYS) {
    barrier(CLK_LOCAL_MEM_FENCE);
    LoadKeys(p, k + k_begin, v + v_begin, key, end, k_aligned, v_aligned, k_tile, v_tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    Sums scores[LEFTS * KEY_TILES];
    Clear(scores, LEFTS * KEY_TILES);
    REPEAT(step, WIDTH_STEPS) {
      Left left[LEFTS];
      REPEAT(i, LEFTS) left[i] = MakeLeft(queries[i * WIDTH_STEPS + step]);
      REPEAT(part, KEY_TILES / RIGHTS) {
        Right right[RIGHTS];
        REPEAT(j, RIGHTS) {
          right[j] = LoadRight(k_tile + (part * RIGHTS + j) * 8 * KEY_ROW + step * STEP_PAIRS, KEY_ROW, 1);
        }
        Accumulate(scores + part * RIGHTS, KEY_TILES, left, LEFTS, right, RIGHTS, exchange);
      }
    }
    const int hides = Hides(p, &in, tile * TILE_ROWS, key, end);
    ulong hidden = 0;
    if (hides == kOutside) hidden = CellsOutside(p, &in, &head, first, key, end);
    if (hides == kAny) hidden = CellsHidden(p, &in, &head, first, key, end);
    least = fmin(least, Score(p, &in, &head, first, key, hidden, scores));
    float most[ROWS];
    REPEAT(i, ROWS) {
      most[i] = maxima[i];
      REPEAT(cell, ROW_CELLS) most[i] = fmax(most[i], CELL(scores, i * ROW_CELLS + cell));
    }
    CombineRows(most, ROWS, /*largest=*/true, exchange);
    REPEAT(i, ROWS) {
      // Without any visible key so far everything counts nothing: from 0, LOWEST is as good as −∞.
      const float origin = most[i] == LOWEST ? 0.0f : most[i] * LOG2_E;
      const float shrink = exp2(fma(maxima[i], LOG2_E, -origin));
      maxima[i] = most[i];
      sums[i] *= shrink;
      REPEAT(cell, ROW_CELLS) {
        const float e = exp2(fma(CELL(scores, i * ROW_CELLS + cell), LOG2_E, -origin));
        CELL(scores, i * ROW_CELLS + cell) = e;
        sums[i] += e;
      }
      REPEAT(j, WIDTH_TILES) { REPEAT(e, 2) blended[i / 2 * WIDTH_TILES + j].x[i % 2 * 2 + e] *= shrink; }
    }
    REPEAT(step, TILE_KEYS / STEP) {
      Left left[LEFTS];
      REPEAT(i, LEFTS) left[i] = LeftOfSums(scores + i * KEY_TILES + step * STEP_TILES);
      REPEAT(part, WIDTH_TILES / RIGHTS) {
        Right right[RIGHTS];
        REPEAT(j, RIGHTS) {
          right[j] = LoadRight(v_tile + step * STEP_PAIRS * VALUE_ROW + (part * RIGHTS + j) * 8, 1, VALUE_ROW);
        }
        Accumulate(blended + part * RIGHTS, WIDTH_TILES, left, LEFTS, right, RIGHTS, exchange);
      }
    }
  }
  CombineRows(sums, ROWS, /*largest=*/false, exchange);
  bool good = least > LOWEST;
  output += Begin(p->output, p->heads, z);
  const float head_factor = head_mask ? head_mask[z] : 1.0f, sink = sinks ? sinks[head.h] : LOWEST;
  REPEAT(i, ROWS) {
    const long r = first + 8 * i;
    if (r < p->rows) {
      const float top = fmax(maxima[i], sink), share = exp(maxima[i] - top);
      const float sum = sums[i] * share + (sinks ? exp(sink - top) : 0.0f);
      const bool sees_any = maxima[i] != LOWEST;
      const float factor = sees_any ? share / sum * head_factor : 0.0f;
      REPEAT(j, WIDTH_TILES * 2) {
        const int d = j / 2 * 8 + LanePair() * 2 + j % 2;
        const float x = blended[i / 2 * WIDTH_TILES + j / 2].x[i % 2 * 2 + j % 2];
        const float value = factor == 0.0f ? 0.0f : x * factor;
        if (d < p->value_width) output[r * p->output.row + d] = value;
        good = good && isfinite(value);
      }
      if (lse && LanePair() == 0) lse[z * p->rows + r] = sees_any ? top + log(sum) : -INFINITY;
    }
  }
  if (!good) atomic_or(unusual, 1u);
}
