// SPDX-License-Identifier: Apache-2.0
// Attention whose cells are never in memory: softmax over blocks of keys with a running maximum (Milakov & Gimelshein
// 2018; Dao et al. 2022). Build option: WIDTH, a multiple of 16 that holds the head width and the values' width.

#define TILE_ROWS 64
#define TILE_KEYS 32
#define TILE_DEPTH 16
#define ITEMS 256
#define SIDE 16                        // work-items stand in a square: (x, y)
#define ROW_PARTS (ITEMS / TILE_ROWS)  // work-items that look after one row
#define LOWEST (-FLT_MAX)              // a masked score: smaller than all others, and still a number

// output, and lse [heads, rows], of q, k and v, which are where the problem says. `ranges` [B, tiles of rows, 2]: the
// keys that a tile may look at. `unusual` is set where a visible score or an output is not finite: then nothing that
// was written counts.
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void AttendOnline(
    const Problem problem, INPUT_PARAMETERS, __global const float* sinks, __global const float* head_mask,
    __global const float* q, __global const float* k, __global const float* v, __global const long* ranges,
    __global float* output, __global float* lse, __global uint* unusual) {
  const Problem* p = &problem;
  __local float q_tile[TILE_DEPTH][TILE_ROWS + 1];
  __local float k_tile[TILE_DEPTH][TILE_KEYS + 1];
  __local float cells[TILE_ROWS][TILE_KEYS + 1];
  __local float v_tile[TILE_KEYS][WIDTH];
  __local float parts[TILE_ROWS][ROW_PARTS];
  __local float maxima[TILE_ROWS], sums[TILE_ROWS], shrinks[TILE_ROWS];
  const Inputs in = INPUTS;
  const int x = get_local_id(0), y = get_local_id(1), item = y * SIDE + x;
  const int own_row = item / ROW_PARTS, part = item % ROW_PARTS;
  const long z = get_group_id(1), tile = get_group_id(0), tiles = get_num_groups(0), first = tile * TILE_ROWS;
  const long range = (RowAt(p, z, 0).b * tiles + tile) * 2, end = ranges[range + 1];
  const long width = p->width, value_width = p->value_width;
  q += Begin(p->q, p->heads, z);
  k += Begin(p->k, p->heads, z);
  v += Begin(p->v, p->heads, z);
  output += Begin(p->output, p->heads, z);
  float blended[TILE_ROWS / SIDE][WIDTH / SIDE];
  bool good = true;
  for (int i = 0; i < TILE_ROWS / SIDE; ++i)
    for (int j = 0; j < WIDTH / SIDE; ++j) blended[i][j] = 0.0f;
  if (item < TILE_ROWS) {
    maxima[item] = LOWEST;
    sums[item] = 0.0f;
  }
  for (long key = ranges[range]; key < end; key += TILE_KEYS) {
    float scores[TILE_ROWS / SIDE][TILE_KEYS / SIDE];
    for (int i = 0; i < TILE_ROWS / SIDE; ++i)
      for (int j = 0; j < TILE_KEYS / SIDE; ++j) scores[i][j] = 0.0f;
    for (long depth = 0; depth < width; depth += TILE_DEPTH) {
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = item; i < TILE_ROWS * TILE_DEPTH; i += ITEMS) {
        const int r = i / TILE_DEPTH, d = i % TILE_DEPTH;
        q_tile[d][r] = first + r < p->rows && depth + d < width ? q[(first + r) * p->q.row + depth + d] : 0.0f;
      }
      for (int i = item; i < TILE_KEYS * TILE_DEPTH; i += ITEMS) {
        const int s = i / TILE_DEPTH, d = i % TILE_DEPTH;
        k_tile[d][s] = key + s < end && depth + d < width ? k[(key + s) * p->k.row + depth + d] : 0.0f;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int d = 0; d < TILE_DEPTH; ++d)
        for (int i = 0; i < TILE_ROWS / SIDE; ++i)
          for (int j = 0; j < TILE_KEYS / SIDE; ++j)
            scores[i][j] = fma(q_tile[d][y + i * SIDE], k_tile[d][x + j * SIDE], scores[i][j]);
    }
    for (int i = 0; i < TILE_ROWS / SIDE; ++i)
      for (int j = 0; j < TILE_KEYS / SIDE; ++j) {
        const int r = y + i * SIDE, c = x + j * SIDE;
        float score = LOWEST;
        if (first + r < p->rows && key + c < end) {
          const Row row = RowAt(p, z, first + r);
          if (!IsHidden(p, &in, &row, key + c)) {
            score = scores[i][j] * p->scale;
            if (!p->cap_after_bias) score = Cap(p, score);
            score = AddBiases(p, &in, &row, key + c, score);
            if (p->cap_after_bias) score = Cap(p, score);
            score /= p->temperature;
            good = good && score > LOWEST && score < INFINITY;
          }
        }
        cells[r][c] = score;
      }
    for (int i = item; i < TILE_KEYS * WIDTH; i += ITEMS) {
      const int s = i / WIDTH, d = i % WIDTH;
      v_tile[s][d] = key + s < end && d < value_width ? v[(key + s) * p->v.row + d] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float most = LOWEST;
    for (int c = part; c < TILE_KEYS; c += ROW_PARTS) most = fmax(most, cells[own_row][c]);
    parts[own_row][part] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float before = maxima[own_row];
    most = before;
    for (int i = 0; i < ROW_PARTS; ++i) most = fmax(most, parts[own_row][i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int c = part; c < TILE_KEYS; c += ROW_PARTS) {
      const float score = cells[own_row][c], e = score == LOWEST ? 0.0f : exp(score - most);
      cells[own_row][c] = e;
      sum += e;
    }
    parts[own_row][part] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (part == 0) {
      const float shrink = before == LOWEST ? 0.0f : exp(before - most);
      sum = sums[own_row] * shrink;
      for (int i = 0; i < ROW_PARTS; ++i) sum += parts[own_row][i];
      sums[own_row] = sum;
      maxima[own_row] = most;
      shrinks[own_row] = shrink;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE_ROWS / SIDE; ++i)
      for (int j = 0; j < WIDTH / SIDE; ++j) blended[i][j] *= shrinks[y + i * SIDE];
    for (int s = 0; s < TILE_KEYS; ++s)
      for (int i = 0; i < TILE_ROWS / SIDE; ++i) {
        const float weight = cells[y + i * SIDE][s];
        for (int j = 0; j < WIDTH / SIDE; ++j) blended[i][j] = fma(weight, v_tile[s][x + j * SIDE], blended[i][j]);
      }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < TILE_ROWS / SIDE; ++i) {
    const int r = y + i * SIDE;
    if (first + r >= p->rows) continue;
    const float max = maxima[r], head_factor = head_mask ? head_mask[z] : 1.0f;
    const float sink = sinks ? sinks[RowAt(p, z, 0).h] : LOWEST, top = fmax(max, sink);
    const float share = exp(max - top), sum = sums[r] * share + (sinks ? exp(sink - top) : 0.0f);
    const bool sees_any = max != LOWEST;
    const float factor = sees_any ? share / sum * head_factor : 0.0f;
    for (int j = 0; j < WIDTH / SIDE; ++j) {
      const int d = x + j * SIDE;
      const float value = factor == 0.0f ? 0.0f : blended[i][j] * factor;
      if (d < value_width) output[(first + r) * p->output.row + d] = value;
      good = good && isfinite(value);
    }
    if (lse && x == 0) lse[z * p->rows + first + r] = sees_any ? top + log(sum) : -INFINITY;
  }
  if (!good) atomic_or(unusual, 1u);
}
