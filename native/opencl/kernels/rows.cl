// SPDX-License-Identifier: Apache-2.0
// Turns whole rows of cells in memory from q · k into weights, stage by stage. Build options: GROUP_ITEMS, a power
// of two; NORMALIZER, a kNormalize… of gpu/kernel_arguments.h; BY_CELL, 1 where the normaliser's cells stand by
// themselves; ROW_CELLS, when no row has more, so that local memory holds one. Each normaliser is a program of its own,
// since compilers for CPUs take long where work-items wait for each other in many places.

#ifdef ROW_CELLS
#define CELLS __local
#else
#define CELLS __global
#endif

// Loops over the cells of one row. Each work-item touches those from its own number on, in steps of GROUP_ITEMS, and no
// others.
#ifdef ROW_CELLS
#define EACH(s, count) for (int s = get_local_id(0); s < (int)(count); s += GROUP_ITEMS)
#else
#define EACH(s, count) for (long s = get_local_id(0); s < (count); s += GROUP_ITEMS)
#endif

// A work-group reduces in this local memory: first some work-items combine parts, then all of them combine the parts.
#define PARTS (GROUP_ITEMS >= 16 ? GROUP_ITEMS / 16 : 1)
#define PART_ITEMS (GROUP_ITEMS / PARTS)
typedef union {
  float real;
  uint whole;
} Value;
typedef struct {
  Value items[GROUP_ITEMS], parts[PARTS];
} Scratch;

// Two barriers are enough: an item that reads the parts has passed the second one, and writes items only.
#define REDUCE(name, type, field, combine)                                                                    \
  type name(__local Scratch* scratch, const type value) {                                                     \
    const int item = get_local_id(0);                                                                         \
    scratch->items[item].field = value;                                                                       \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                             \
    if (item < PARTS) {                                                                                       \
      type part = scratch->items[item * PART_ITEMS].field;                                                    \
      for (int i = 1; i < PART_ITEMS; ++i) part = combine(part, scratch->items[item * PART_ITEMS + i].field); \
      scratch->parts[item].field = part;                                                                      \
    }                                                                                                         \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                             \
    type all = scratch->parts[0].field;                                                                       \
    for (int i = 1; i < PARTS; ++i) all = combine(all, scratch->parts[i].field);                              \
    return all;                                                                                               \
  }
#define PLUS(a, b) ((a) + (b))
#define OR(a, b) ((a) | (b))
REDUCE(Sum, float, real, PLUS)
REDUCE(Max, float, real, fmax)
REDUCE(Count, uint, whole, PLUS)
REDUCE(Least, uint, whole, min)
REDUCE(Any, uint, whole, OR)

// Returns the n-th number of Philox4x32-10 (Salmon et al. 2011).
uint Philox(const ulong seed, const ulong n) {
  const ulong counter = n / 4;
  uint4 x = (uint4)((uint)counter, (uint)(counter >> 32), 0, 0);
  uint2 key = (uint2)((uint)seed, (uint)(seed >> 32));
  for (int round = 0; round < 10; ++round) {
    const uint a = 0xD2511F53u, b = 0xCD9E8D57u;
    x = (uint4)(mul_hi(b, x.z) ^ x.y ^ key.x, b * x.z, mul_hi(a, x.x) ^ x.w ^ key.y, a * x.x);
    key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  const uint lane = (uint)(n % 4);
  return lane == 0 ? x.x : lane == 1 ? x.y : lane == 2 ? x.z : x.w;
}

bool Keeps(const Problem* p, const Row* row, const long s) {
  if (!p->drops) return true;
  const ulong number =
      ((row->b * (ulong)(p->heads.groups * p->heads.members) + row->h) * p->queries + row->t) * p->keys + s;
  return Philox(p->seed, number) > p->highest_dropped;
}

// Returns exp(x − max), and 0 for a masked cell.
float Exponential(const float x, const float max) { return x == -INFINITY ? 0.0f : exp(x - max); }

// Returns ln Σ exp of a row whose largest score is `max`, with a sink if it is finite.
float LogSum(__local Scratch* scratch, CELLS const float* cells, const long keys, const float max,
             const float sink) {
  const float top = fmax(max, sink);
  float sum = 0.0f;
  EACH(s, keys) sum += Exponential(cells[s], top);
  return top + log(Sum(scratch, sum) + Exponential(sink, top));
}

// Each kind of normaliser makes weights of masked scores. `max` is the row's largest score, which is finite; `sink` is
// −∞ where there is none.

// Returns ln Σ exp, as LogSum does.
float Softmax(__local Scratch* scratch, CELLS float* cells, const long keys, const float max, const float sink) {
  const float top = fmax(max, sink);
  float sum = 0.0f;
  EACH(s, keys) sum += Exponential(cells[s], top);
  sum = Sum(scratch, sum) + Exponential(sink, top);
  const float share = 1.0f / sum;  // the sum is at least 1
  EACH(s, keys) cells[s] = Exponential(cells[s], top) * share;
  return top + log(sum);
}

// Newton's method on Σ max(x − τ, 0) = 1 from below: it rises, and stops when no cell leaves the support any more.
void Sparsemax(__local Scratch* scratch, CELLS float* cells, const long keys, const float max) {
  float tau = -1.0f;
  uint support = 0;
  while (true) {
    float sum = 0.0f;
    uint count = 0;
    EACH(s, keys) {
      const float above = cells[s] - max - tau;
      sum += fmax(above, 0.0f);
      count += above > 0.0f;
    }
    sum = Sum(scratch, sum);
    count = Count(scratch, count);
    if (count == support || count == 0) break;
    support = count;
    const float next = tau + (sum - 1.0f) / (float)count;
    if (!(next > tau)) break;
    tau = next;
  }
  EACH(s, keys) cells[s] = fmax(cells[s] - max - tau, 0.0f);
}

// Newton's method on Σ max(x/2 − τ, 0)² = 1 from below.
void Entmax15(__local Scratch* scratch, CELLS float* cells, const long keys, const float max) {
  float tau = -1.0f;
  for (int step = 0; step < 64; ++step) {
    float sum = 0.0f, squares = 0.0f;
    EACH(s, keys) {
      const float above = fmax((cells[s] - max) * 0.5f - tau, 0.0f);
      sum += above;
      squares += above * above;
    }
    sum = Sum(scratch, sum);
    squares = Sum(scratch, squares);
    const float next = tau + (squares - 1.0f) / (2.0f * sum);
    if (!(next > tau)) break;
    tau = next;
  }
  float sum = 0.0f;
  EACH(s, keys) {
    const float above = fmax((cells[s] - max) * 0.5f - tau, 0.0f);
    cells[s] = above * above;
    sum += cells[s];
  }
  sum = Sum(scratch, sum);  // 1, but for the rounding of τ
  EACH(s, keys) cells[s] /= sum;
}

void Sigmoid(CELLS float* cells, const long keys, const float bias) {
  EACH(s, keys) cells[s] = cells[s] == -INFINITY ? 0.0f : 1.0f / (1.0f + exp(-cells[s] - bias));
}

// Returns whole numbers that have the order of the floats. Both zeros are one number.
uint Ordered(const float x) {
  const uint bits = as_uint(x == 0.0f ? 0.0f : x);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

// Masks the cells that are smaller than the k-th largest, which is found by halving: at least k cells are `least` or
// larger, and fewer are larger than `most`. (An early return here, before a loop with barriers, breaks in PoCL 3.1.)
void KeepLargest(__local Scratch* scratch, CELLS float* cells, const long keys, const long k) {
  const long kept = min(k, keys);
  uint least = 0, most = UINT_MAX;
  while (least < most) {
    const uint middle = most - (most - least) / 2;
    uint count = 0;
    EACH(s, keys) count += Ordered(cells[s]) >= middle;
    count = Count(scratch, count);
    if (count >= kept) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  EACH(s, keys) if (Ordered(cells[s]) < least) cells[s] = -INFINITY;
}

void Hard(__local Scratch* scratch, CELLS float* cells, const long keys, const float max) {
  uint first = UINT_MAX;
  EACH(s, keys) if (cells[s] == max) first = min(first, (uint)s);
  first = Least(scratch, first);
  EACH(s, keys) cells[s] = s == first ? 1.0f : 0.0f;
}

// Divides by the number of cells that are not masked.
void Relu(__local Scratch* scratch, CELLS float* cells, const long keys) {
  uint seen = 0;
  EACH(s, keys) seen += cells[s] != -INFINITY;
  seen = Count(scratch, seen);
  EACH(s, keys) cells[s] = cells[s] < 0.0f ? 0.0f : cells[s] / (float)seen;
}

// Puts weights in place of scores, and returns ln Σ exp of these.
float Normalize(const Problem* p, __local Scratch* scratch, CELLS float* cells, const float max, const float sink) {
  if (NORMALIZER == kNormalizeSoftmax) return Softmax(scratch, cells, p->keys, max, sink);
  const float log_sum = LogSum(scratch, cells, p->keys, max, sink);
  switch (NORMALIZER) {
    case kNormalizeTopK:
      KeepLargest(scratch, cells, p->keys, p->top_k);
      Softmax(scratch, cells, p->keys, max, sink);
      break;
    case kNormalizeSparsemax:
      Sparsemax(scratch, cells, p->keys, max);
      break;
    case kNormalizeEntmax15:
      Entmax15(scratch, cells, p->keys, max);
      break;
    case kNormalizeSigmoid:
      Sigmoid(cells, p->keys, p->sigmoid_bias);
      break;
    case kNormalizeHard:
      Hard(scratch, cells, p->keys, max);
      break;
    default:
      Relu(scratch, cells, p->keys);
  }
  return log_sum;
}

// Bits for what is found in a row while it is scored.
enum { kSeesAny = 1, kHasNan = 2 };

// Sets every cell of the row to `value`, but hidden ones to 0 unless they count.
void Fill(const Problem* p, const Inputs* in, const Row* row, CELLS float* cells, const float value,
          const bool hidden_counts) {
  EACH(s, p->keys) cells[s] = hidden_counts || !IsHidden(p, in, row, s) ? value : 0.0f;
}

// Puts the row's weights in place of its masked scores, whose largest is `max`, and returns ln Σ exp. A NaN reaches all
// visible cells; where masks do not hold it, it reaches every cell. Scores of +∞ share the weight; where all are −∞, a
// sink takes it, or what is visible shares it. All rows go the same way, the unusual ones too, with other cells at its
// end: PoCL 3.1 miscompiles some barriers that only some work-groups reach.
float Weigh(const Problem* p, const Inputs* in, const Row* row, __local Scratch* scratch, CELLS float* cells,
            const float max, const uint found, const float sink) {
  bool by_cell = BY_CELL;  // if it were const, compilers would warn of constant conditions
  const bool sees_nan = (found & kHasNan) != 0;
  const float lse = !found ? -INFINITY : sees_nan ? NAN : max / p->temperature;
  const bool sink_takes_all = found && !by_cell && lse == -INFINITY && sink != -INFINITY;
  const bool fills = !found || sink_takes_all || (sees_nan && !by_cell);
  // When the temperature would make the largest score infinite, it is subtracted from all scores before they are
  // divided.
  const bool shares = isinf(max) && !by_cell, far = isfinite(max) && isinf(lse) && !by_cell;
  const float origin = far ? max : 0.0f;
  const bool changes = fills || shares || far || p->temperature != 1.0f;
  if (changes) EACH(s, p->keys) {
    if (fills) {
      cells[s] = 0.0f;
    } else if (shares) {
      cells[s] = cells[s] == max && !IsHidden(p, in, row, s) ? 0.0f : -INFINITY;
    } else {
      cells[s] = (cells[s] - origin) / p->temperature;
    }
  }
  const bool from_zero = fills || shares || far;
  const float largest = from_zero ? 0.0f : lse, near_sink = from_zero ? -INFINITY : sink;
  const float log_sum = Normalize(p, scratch, cells, largest, near_sink);
  if (fills) {
    const float masked = p->fully_masked == kFullyMaskedZero  ? 0.0f
                         : p->fully_masked == kFullyMaskedNan ? NAN
                                                              : 1.0f / (float)p->keys;
    Fill(p, in, row, cells, !found ? masked : sink_takes_all ? 0.0f : NAN, !found || p->spreads);
  }
  return sink_takes_all ? sink : isfinite(lse) ? log_sum : lse;
}

// Each work-group takes a row: the cells [heads, rows, S], which lie at `place`, are q · k and become the weights. The
// stages on the way are written to the others, which are [heads, rows, S] too, and to `lse` [heads, rows]; each is null
// when it is not asked for. `dropped` multiplies the values. With marks_hidden it is −0 where a value must not even be
// looked at, and only there.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void NormalizeRows(
    const Problem problem, INPUT_PARAMETERS, __global const float* sinks, __global const float* head_mask,
    __global float* all_cells, const Place place, __global float* scaled, __global float* capped, __global float* biased,
    __global float* masked, __global float* dropout_mask, __global float* dropped, __global float* lse) {
  __local Scratch scratch;
  const Problem* p = &problem;
  const Inputs in = INPUTS;
  long id = get_group_id(0);
  const long r = Next(&id, p->rows), z = id, begin = (z * p->rows + r) * p->keys;
  const Row row = RowAt(p, z, r);
  __global float* const own_cells = all_cells + Begin(place, p->heads, z) + r * place.row;
#ifdef ROW_CELLS
  __local float cells[ROW_CELLS];
#pragma unroll 8
  EACH(s, p->keys) cells[s] = own_cells[s];  // by itself, so that an item asks for many cells at once
#else
  __global float* const cells = own_cells;
#endif
  const bool changes = p->hides_any || p->changes_scores || scaled || capped || biased || masked;
  float max = -INFINITY;
  uint found = changes || p->keys == 0 ? 0 : kSeesAny;
  if (!changes) EACH(s, p->keys) {
    const float x = cells[s] * p->scale;
    found |= isnan(x) ? kHasNan : 0;
    max = fmax(max, x);
    cells[s] = x;
  }
  if (changes) EACH(s, p->keys) {
    float x = cells[s] * p->scale;
    if (scaled) scaled[begin + s] = x;
    if (!p->cap_after_bias) x = Cap(p, x);
    if (capped && !p->cap_after_bias) capped[begin + s] = x;
    x = AddBiases(p, &in, &row, s, x);
    if (biased) biased[begin + s] = x;
    if (p->cap_after_bias) x = Cap(p, x);
    if (capped && p->cap_after_bias) capped[begin + s] = x;
    const bool hidden = p->hides_any && IsHidden(p, &in, &row, s);
    if (hidden) x = p->spreads && !(x < INFINITY) ? NAN : -INFINITY;
    if (masked) masked[begin + s] = x;
    found |= (hidden ? 0 : kSeesAny) | (isnan(x) ? kHasNan : 0);
    max = fmax(max, x);
    cells[s] = x;
  }
  found = Any(&scratch, found);
  max = Max(&scratch, max);
  const float sum = Weigh(p, &in, &row, &scratch, cells, max, found, sinks ? sinks[row.h] : -INFINITY);
#ifdef ROW_CELLS
  EACH(s, p->keys) own_cells[s] = cells[s];
#endif
  if (lse && get_local_id(0) == 0) lse[z * p->rows + r] = sum;
  if (dropout_mask) EACH(s, p->keys) dropout_mask[begin + s] = Keeps(p, &row, s) ? 1.0f : 0.0f;
  if (!dropped) return;
  const float factor = head_mask ? head_mask[z] : 1.0f;
  const bool blends_hidden = p->spreads || (!found && p->fully_masked != kFullyMaskedZero);
  EACH(s, p->keys) {
    float x = Keeps(p, &row, s) ? cells[s] * p->keep_factor : 0.0f;
    x = factor == 0.0f ? 0.0f : x * factor;
    const bool skipped = factor == 0.0f || (!blends_hidden && IsHidden(p, &in, &row, s));
    dropped[begin + s] = x != 0.0f ? x : p->marks_hidden && skipped ? -0.0f : 0.0f;
  }
}

// mean [rows, S] becomes the average of the weights [heads, rows, S] over the heads.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void AverageHeads(__global const float* weights,
                                                                                    const long heads, const long cells,
                                                                                    __global float* mean) {
  const long i = get_global_id(0);
  if (i >= cells) return;
  float sum = 0.0f;
  for (long z = 0; z < heads; ++z) sum += weights[z * cells + i];
  mean[i] = sum / (float)heads;
}

// output = weights [heads, rows, S] · v. Values behind a weight of −0, which may not be finite, are left out.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void BlendVisible(const Problem problem,
                                                                                    __global const float* weights,
                                                                                    __global const float* v,
                                                                                    __global float* output,
                                                                                    const long count) {
  const Problem* p = &problem;
  const long i = get_global_id(0);
  if (i >= count) return;
  const long column = i % p->value_width, row = i / p->value_width, z = row / p->rows;
  v += Begin(p->v, p->heads, z) + column;
  float sum = 0.0f;
  for (long s = 0; s < p->keys; ++s) {
    const float weight = weights[row * p->keys + s];
    if (as_uint(weight) != 0x80000000u) sum = fma(weight, v[s * p->v.row], sum);
  }
  output[Begin(p->output, p->heads, z) + row % p->rows * p->output.row + column] = sum;
}
