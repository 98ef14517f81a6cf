// SPDX-License-Identifier: Apache-2.0
// Attention of the few rows that a group of heads has while a model writes text. It computes what AttendOnline in
// online.cl computes, but keys and values are only used for a few rows here, so that all depends on how fast they come
// from memory. They go straight to registers: a team of work-items reads whole rows, of each of which an item has one
// piece, and every item reads several pieces before it uses the first. Only scores and weights go through local memory:
// there each item has some cells, so that nothing is computed twice. Teams have their own softmax.
//
// Build options: WIDTH, which holds the head width and the values' width, a power of two; ROWS, which holds the rows of
// a group; ITEMS of a work-group; LOADS, the pieces that an item reads ahead, a multiple of four; PIECE, the elements
// of a piece, 4, or 8 of 16 bits; LOCAL_BYTES that the host counts with; ROW_RANGES, where masks leave a range of keys
// to each row and nothing else changes scores; those of scores.cl. All rows are whole pieces, and begin at multiples of
// them.

#define LANES (WIDTH / PIECE)            // the items of a team
#define TEAMS (ITEMS / LANES)            // of a work-group
#define KEYS (TEAMS * LOADS)             // of a block, which are dealt to the teams one by one
#define STRIDE (LANES + kFewPadding)     // of as many floats is one whose lanes' shares of scores lie together
#define SHARES (ROWS * KEYS * STRIDE)    // [ROWS, KEYS, STRIDE]
#define BLENDS (ROWS * TEAMS * WIDTH)    // [ROWS, TEAMS, WIDTH], which is in the same memory later
#define FOURS (PIECE / 4)
#define CELLS ((ROWS * KEYS + ITEMS - 1) / ITEMS)  // of an item

// The arrays that are passed to these functions stay in registers.
#ifdef UNROLLED
#define INLINE static __attribute__((always_inline))
#else
#define INLINE static
#endif

// Everything that a work-group has in local memory.
typedef struct {
  float4 shares[(SHARES > BLENDS ? SHARES : BLENDS) / 4];
  float4 scores[ROWS * KEYS / 4];   // [ROWS, TEAMS, LOADS], as the next
  float4 weights[ROWS * KEYS / 4];  // at the end each item's sums of them
  float shrinks[ROWS * TEAMS];      // of earlier blends; at the end the largest scores
  float4 q[ROWS * WIDTH / 4];      // [ROWS, WIDTH]
  Row origin;                      // of the group's first head
  long first;                      // where the first row is among those of all parts
  int members;                     // of a group
  int2 seen[ROWS];                 // with ROW_RANGES: the first key that a row looks at, and the one after the last
  float factors[ROWS];             // of the rows' results
} Shared;
typedef char SharedFitsItsBytes[sizeof(Shared) <= LOCAL_BYTES ? 1 : -1];  // no such array is there where it does not

// Numbers of 16 bits are pairs in registers, since each alone would take a register.
#if defined(ALIGNED_FLOATS)
typedef float4 Piece;
float4 FloatsOf(const Piece piece, const int four) { return piece; }
#else
#if FOURS == 2
typedef uint4 Piece;
#define PAIRS(piece, four) ((four) == 0 ? (piece).lo : (piece).hi)
#else
typedef uint2 Piece;
#define PAIRS(piece, four) (piece)
#endif
float4 FloatsOf(const Piece piece, const int four) {
  const uint2 pairs = PAIRS(piece, four);
#if defined(HALVES)
  return vload_half4(0, (const half*)&pairs);
#else
  return as_float4((uint4)(pairs.x << 16, pairs.x & 0xffff0000u, pairs.y << 16, pairs.y & 0xffff0000u));
#endif
}
#endif

// Brings the queries to local memory, and which of the part's `count` keys from `begin` on each row looks at. Rows
// count through the members of a query first. Those that are not there have queries of 0, and see nothing.
void Prepare(const Problem* p, __global const Element* q, __global const int* row_ranges, const long head,
             const long begin, const int count, __local Shared* shared) {
  const int item = get_local_id(0), members = (int)p->heads.members;
  for (int i = item; i < ROWS * WIDTH / 4; i += ITEMS) {
    const int r = i / (WIDTH / 4), d = i % (WIDTH / 4) * 4, t = r / members;
    Raw values = 0;
    if (t < p->rows && d < p->width)
      values = RAW(q + Begin(p->q, p->heads, head + r % members) + t * p->q.row + d);
    shared->q[i] = FOUR(values);
  }
  if (item == 0) shared->origin = RowAt(p, head, 0), shared->members = members;
#ifdef ROW_RANGES
  for (int r = item; r < ROWS; r += ITEMS) {
    const long t = r / members;
    __global const int* const range = row_ranges + (RowAt(p, head, 0).b * p->rows + t) * 2;
    shared->seen[r] = (int2)(0, 0);
    if (t < p->rows) shared->seen[r] = (int2)((int)(range[0] - begin), (int)min(range[1] - begin, (long)count));
  }
#endif
}

// Reads pieces of every TEAMS-th key or value from number `first` on. In place of those after `last` it reads that one
// again, so that no load waits for a branch. `row` is in bytes.
INLINE void ReadPieces(__global const char* from, const int row, const int first, const int last, Piece* pieces) {
  UNROLL for (int n = 0; n < LOADS; ++n) pieces[n] =
      *(__global const Piece*)(from + (long)min(first + n * TEAMS, last) * row);
}

// Leaves this item's shares of its team's scores in local memory.
INLINE void MultiplyKeys(const Piece* keys, const int team, const int lane, __local Shared* shared) {
  __local const float4* const queries = shared->q + lane * FOURS;
  __local float* const to = (__local float*)shared->shares + team * STRIDE + lane;
  UNROLL for (int r = 0; r < ROWS; ++r) {
    float4 q[FOURS];
    UNROLL for (int f = 0; f < FOURS; ++f) q[f] = queries[r * (WIDTH / 4) + f];
    UNROLL for (int n = 0; n < LOADS; ++n) {
      float sum = 0.0f;
      UNROLL for (int f = 0; f < FOURS; ++f) {
        const float4 key = FloatsOf(keys[n], f);
        sum = fma(q[f].w, key.w, fma(q[f].z, key.z, fma(q[f].y, key.y, fma(q[f].x, key.x, sum))));
      }
      to[(r * KEYS + n * TEAMS) * STRIDE] = sum;
    }
  }
}

// Makes scores of the shares of a block: its first key is number `done` of the part's `count`, which begin with key
// `begin`. Returns the least of them, and of `least`.
float AddShares(const Problem* p, const Inputs* in, const long begin, const int done, const int count,
                const float factor, float least, __local Shared* shared) {
  for (int cell = get_local_id(0); cell < ROWS * KEYS; cell += ITEMS) {
    const int r = cell / KEYS, in_block = cell % KEYS, s = done + in_block;
    float4 sums = 0.0f;
    UNROLL_SOME for (int i = 0; i < LANES / 4; ++i) sums += shared->shares[cell * (STRIDE / 4) + i];
    float score = (sums.x + sums.y) + (sums.z + sums.w);
#ifdef ROW_RANGES
    const int2 seen = shared->seen[r];
    score = s >= seen.x && s < seen.y ? score * factor : LOWEST;
#else
    const Row row = RowOf(p, &shared->origin, r % shared->members, r / shared->members);
    score = row.r < p->rows && s < count ? Score(p, in, &row, begin + s, score) : LOWEST;
#endif
    least = fmin(least, score);
    ((__local float*)shared->scores)[(r * TEAMS + in_block % TEAMS) * LOADS + in_block / TEAMS] = score;
  }
  return least;
}

// Makes weights of the scores. Each item keeps, for each of its cells, the largest score of the cell's row and team so
// far, and the sum of the cell's weights, which are measured from there.
INLINE void WeighScores(float* maxima, float* sums, __local Shared* shared) {
  UNROLL for (int i = 0; i < CELLS; ++i) {
    const int cell = i * ITEMS + get_local_id(0);
    if (cell >= ROWS * KEYS) continue;
    float most = maxima[i];
    UNROLL for (int n = 0; n < LOADS / 4; ++n) {
      const float4 scores = shared->scores[cell / LOADS * (LOADS / 4) + n];
      most = fmax(most, fmax(fmax(scores.x, scores.y), fmax(scores.z, scores.w)));
    }
    // Of a row that sees nothing yet, all exponents must be far below 0.
    const float shrink = exp2(maxima[i] - most), origin = most == LOWEST ? 0.0f : most;
    const float weight = exp2(((__local float*)shared->scores)[cell] - origin);
    maxima[i] = most;
    sums[i] = fma(sums[i], shrink, weight);
    ((__local float*)shared->weights)[cell] = weight;
    if (cell % LOADS == 0) shared->shrinks[cell / LOADS] = shrink;
  }
}

// Blends the team's values of a block by their weights.
INLINE void BlendValues(const Piece* values, const int team, __local const Shared* shared, float4 (*blended)[FOURS]) {
  __local const float4* const all = shared->weights + team * (LOADS / 4);
  UNROLL for (int r = 0; r < ROWS; ++r) {
    float weights[LOADS];
    UNROLL for (int n = 0; n < LOADS; n += 4) vstore4(all[(r * KEYS + n) / 4], 0, weights + n);
    UNROLL for (int f = 0; f < FOURS; ++f) {
      blended[r][f] *= shared->shrinks[r * TEAMS + team];
      UNROLL for (int n = 0; n < LOADS; ++n) blended[r][f] =
          fma((float4)(weights[n]), FloatsOf(values[n], f), blended[r][f]);
    }
  }
}

// Puts together what the teams found. Leaves the teams' blends of each row where their shares were, measured from the
// row's largest score.
INLINE void MergeTeams(const float* maxima, const float* sums, float4 (*blended)[FOURS], const int team, const int lane,
                       __local Shared* shared) {
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (int i = 0; i < CELLS; ++i) {
    const int cell = i * ITEMS + get_local_id(0);
    if (cell < ROWS * KEYS) ((__local float*)shared->weights)[cell] = sums[i];
    if (cell < ROWS * KEYS && cell % LOADS == 0) shared->shrinks[cell / LOADS] = maxima[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  __local float4* const to = shared->shares + team * (WIDTH / 4) + lane * FOURS;
  UNROLL for (int r = 0; r < ROWS; ++r) {
    float most = LOWEST;
    for (int i = 0; i < TEAMS; ++i) most = fmax(most, shared->shrinks[r * TEAMS + i]);
    const float share = exp2(shared->shrinks[r * TEAMS + team] - most);
    UNROLL for (int f = 0; f < FOURS; ++f) to[r * TEAMS * (WIDTH / 4) + f] = blended[r][f] * share;
  }
}

// Returns a row's largest score, and the sum of its exponentials, from what MergeTeams left.
float2 TotalOf(const int r, __local const Shared* shared) {
  float most = LOWEST, sum = 0.0f;
  for (int i = 0; i < TEAMS; ++i) most = fmax(most, shared->shrinks[r * TEAMS + i]);
  for (int i = r * KEYS; i < (r + 1) * KEYS; ++i)
    sum = fma(((__local const float*)shared->weights)[i], exp2(shared->shrinks[i / LOADS] - most), sum);
  return (float2)(most, sum);
}

// Stores the rows that MergeTeams left: to `blends`, or where that is null to `output`. Returns whether all are finite.
bool Store(const Problem* p, __local const Shared* shared, __global float* blends, __global float* output) {
  const int members = shared->members, rows = (int)p->rows * members, width = (int)p->value_width;
  bool good = true;
  for (int i = get_local_id(0); i < rows * WIDTH; i += ITEMS) {
    const int r = i / WIDTH, column = i % WIDTH;
    if (column >= width) continue;
    float blend = 0.0f;
    for (int n = 0; n < TEAMS; ++n) blend += ((__local const float*)shared->shares)[(r * TEAMS + n) * WIDTH + column];
    const float factor = shared->factors[r], value = factor == 0.0f ? 0.0f : blend * factor;
    if (blends) {
      blends[(shared->first + r) * width + column] = value;
    } else {
      output[Begin(p->output, p->heads, shared->origin.z + r % members) + r / members * p->output.row + column] = value;
    }
    good = good && isfinite(value);
  }
  return good;
}

// Computes the same as AttendOnline in online.cl, from a single tile that has all rows.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void AttendFew(
    const Problem problem, INPUT_PARAMETERS, __global const float* sinks, __global const float* head_mask,
    __global const Element* q, __global const Element* k, __global const Element* v, __global const long* ranges,
    __global const int* row_ranges, const long groups, const long tiles, const long parts, const float factor,
    __global float* output, __global float* lse, __global float* sums, __global float* blends, __global uint* unusual) {
  const Problem* p = &problem;
  __local Shared shared;
  const Inputs in = INPUTS;
  const int item = get_local_id(0), lane = item % LANES, team = item / LANES, members = (int)p->heads.members;
  const long id = get_group_id(0), group = id % groups, part = id / groups, head = group * members;
  ranges += RowAt(p, head, 0).b * tiles * 4;
  const long blocks = (ranges[1] - ranges[0] + KEYS - 1) / KEYS;
  const long begin = ranges[0] + blocks * part / parts * KEYS;
  const int count = (int)(min(ranges[1], ranges[0] + blocks * (part + 1) / parts * KEYS) - begin);
  Prepare(p, q, row_ranges, head, begin, count, &shared);
  if (item == 0) shared.first = (group * parts + part) * p->rows * members;
  // Lanes past the end of a row read its end again: their queries are 0, and nobody takes their blends.
  k += Begin(p->k, p->heads, head) + begin * p->k.row + min(lane * PIECE, (int)p->width - PIECE);
  v += Begin(p->v, p->heads, head) + begin * p->v.row + min(lane * PIECE, (int)p->value_width - PIECE);
  const int k_row = (int)p->k.row * (int)sizeof(Element), v_row = (int)p->v.row * (int)sizeof(Element);
  float maxima[CELLS], totals[CELLS], least = INFINITY;
  float4 blended[ROWS][FOURS];
  UNROLL for (int i = 0; i < CELLS; ++i) maxima[i] = LOWEST, totals[i] = 0.0f;
  UNROLL for (int r = 0; r < ROWS; ++r) UNROLL for (int f = 0; f < FOURS; ++f) blended[r][f] = 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  Piece pieces[LOADS];
  if (count > 0) ReadPieces((__global const char*)k, k_row, team, count - 1, pieces);
  for (int done = 0; done < count; done += KEYS) {
    MultiplyKeys(pieces, team, lane, &shared);
    // Values come while scores are made, and the next keys while other work-groups compute.
    ReadPieces((__global const char*)v, v_row, done + team, count - 1, pieces);
    barrier(CLK_LOCAL_MEM_FENCE);
    least = AddShares(p, &in, begin, done, count, factor, least, &shared);
    barrier(CLK_LOCAL_MEM_FENCE);
    WeighScores(maxima, totals, &shared);
    barrier(CLK_LOCAL_MEM_FENCE);
    BlendValues(pieces, team, &shared, blended);
    if (done + KEYS < count) ReadPieces((__global const char*)k, k_row, done + KEYS + team, count - 1, pieces);
  }
  // A score of NaN or +∞ makes its sum so, and one of −∞ is below the score of a hidden cell.
  bool good = least >= LOWEST;
  UNROLL for (int i = 0; i < CELLS; ++i) good = good && isfinite(totals[i]);
  MergeTeams(maxima, totals, blended, team, lane, &shared);
  if (item < p->rows * shared.members) {
    const float2 total = TotalOf(item, &shared);
    if (parts > 1) {
      vstore2(total, shared.first + item, sums);
      shared.factors[item] = 1.0f;
    } else {
      const long z = shared.origin.z + item % shared.members;
      const RowEnd row = EndRow(p, sinks, head_mask, z, total.x, total.y);
      if (lse) lse[z * p->rows + item / shared.members] = row.lse;
      shared.factors[item] = row.factor;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  good = Store(p, &shared, parts > 1 ? blends : NULL, output) && good;
  if (!good) atomic_or(unusual, 1u);
}
