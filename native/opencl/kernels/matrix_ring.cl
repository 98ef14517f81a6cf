// SPDX-License-Identifier: Apache-2.0
// Computes large matrix products on matrix units. Slices of the operands arrive in a ring of tiles in local memory
// while earlier ones are multiplied. Build options: those of mma_results.cl and ALIGNED; STEPS, the depth of a slice in
// steps, 1 or 2; STAGES, the slices of the ring.

#define SLICE (STEPS * STEP)
// The chunks of a row that lies along the depth, and of a row of B.
#define ALONG (SLICE / CHUNK)
#ifdef B_COLUMNS
#define B_WIDTH ALONG
#else
#define B_WIDTH (TILE_N / CHUNK)
#endif
#define A_CHUNKS (TILE_M * ALONG)
#define B_CHUNKS (TILE_N * ALONG)
#define STAGE ((A_CHUNKS + B_CHUNKS) * CHUNK)
// Rows of tiles whose work-groups run side by side, so that the columns that they share are in the cache.
#define BAND 8

// Fragments as they lie in memory: those of floats are not split yet.
typedef struct {
  uint left[LEFTS][4], right[RIGHTS][2];
} Fragments;

// Returns where a chunk of a tile's row begins, in Numbers. The chunks of each row change places, so that those which a
// warp reads at once lie in different memory banks. `width` is the number of chunks in a row.
INLINE int At(const int row, const int chunk, const int width) {
#ifdef TF32X3
  const int swap = width < 8 ? row / (8 / width) % width : row * 2 % 8;
#else
  const int swap = width < 8 ? row / (8 / width) % width : row % 8;
#endif
  return (row * width + (chunk ^ swap)) * CHUNK;
}

// Brings a tile of `chunks` chunks from rows that are `stride` apart, of which there are `rows` with `columns` Numbers;
// zeros stand for all others.
INLINE void BringTile(__local Number* tile, __global const Number* from, const long stride, const int rows,
                      const int columns, const int width, const int chunks) {
  const int item = get_local_id(0), row = item / width, chunk = item % width;
  const int count = clamp(columns - chunk * CHUNK, 0, CHUNK);
  // Rows that all work-items bring at once end where chunks lie as in the first.
  __local Number* const to = tile + At(row, chunk, width);
  from += row * stride + chunk * CHUNK;
  REPEAT(i, chunks / ITEMS) {
    const int further = i * (ITEMS / width);
    Bring(to + i * ITEMS * CHUNK, from + further * stride, row + further < rows ? count : 0);
  }
}

// Loads four matrices of 8 rows and a chunk: below each other, and then those to the right of them.
INLINE void LoadMatrices(uint* words, __local const Number* tile, const int chunk) {
#ifdef EMULATE
  for (int i = 0; i < 4; ++i) {
    const int at = At(i % 2 * 8 + LaneRow(), chunk + i / 2, ALONG);
    words[i] = ((__local const uint*)(tile + at))[LanePair()];
  }
#else
  LOAD_MATRICES(words, tile + At(Lane() % 16, chunk + Lane() / 16, ALONG), "");
#endif
}

#ifdef B_COLUMNS
INLINE void LoadRights(Fragments* fragments, __local const Number* b, const int side, const int step) {
  REPEAT(j, RIGHTS / 2) {
    uint words[4];
    LoadMatrices(words, b + (side + j * 16) * (ALONG * CHUNK), step * (STEP / CHUNK));
    REPEAT(i, 4) fragments->right[j * 2 + i % 2][i / 2] = words[i];
  }
}
#elif defined(TF32X3)
INLINE void LoadRights(Fragments* fragments, __local const Number* b, const int side, const int step) {
  REPEAT(j, RIGHTS) {
    REPEAT(i, 2) {
      const int at = At(step * STEP + i * 4 + LanePair(), side / CHUNK + j * 2 + LaneRow() / CHUNK, B_WIDTH);
      fragments->right[j][i] = as_uint(b[at + LaneRow() % CHUNK]);
    }
  }
}
#else
INLINE void LoadRights(Fragments* fragments, __local const Number* b, const int side, const int step) {
  REPEAT(j, RIGHTS / 2) {
    uint words[4];
    const int row = step * STEP, chunk = side / CHUNK + j * 2;
#ifdef EMULATE
    for (int i = 0; i < 4; ++i) {
      const int upper = row + i % 2 * 8 + LanePair() * 2;
      words[i] = b[At(upper, chunk + i / 2, B_WIDTH) + LaneRow()] |
                 (uint)b[At(upper + 1, chunk + i / 2, B_WIDTH) + LaneRow()] << 16;
    }
#else
    LOAD_MATRICES(words, b + At(row + Lane() % 16, chunk + Lane() / 16, B_WIDTH), ".trans");
#endif
    REPEAT(i, 4) fragments->right[j * 2 + i / 2][i % 2] = words[i];
  }
}
#endif

// Loads the fragments of a warp for one step of a slice.
INLINE void Load(Fragments* fragments, __local const Number* stage, const int top, const int side, const int step) {
  REPEAT(i, LEFTS) {
    LoadMatrices(fragments->left[i], stage + (top + i * 16) * (ALONG * CHUNK), step * (STEP / CHUNK));
  }
  LoadRights(fragments, stage + A_CHUNKS * CHUNK, side, step);
}

// Splits words where a number has two parts, of which the small ones come last.
INLINE void PartsOf(const uint* words, uint* parts, const int count) {
  REPEAT(i, count) {
#ifdef TF32X3
    Split(as_float(words[i]), &parts[i], &parts[i + count]);
#else
    parts[i] = words[i];
#endif
  }
}

// Where the slices of a work-group come from.
typedef struct {
  __global const Number *a, *b;
  long a_row, b_row, k;
  int rows, columns;
} Slices;

// Brings the slice at this depth. Those past the end are zeros, so that each is a group of copies like all others.
INLINE void BringSlice(__local Number* stage, const Slices* from, const long depth) {
  const int left = clamp(from->k - depth, 0L, (long)SLICE);
  BringTile(stage, from->a + depth, from->a_row, from->rows, left, ALONG, A_CHUNKS);
  __local Number* const b = stage + A_CHUNKS * CHUNK;
#ifdef B_COLUMNS
  BringTile(b, from->b + depth, from->b_row, from->columns, left, B_WIDTH, B_CHUNKS);
#else
  BringTile(b, from->b + depth * from->b_row, from->b_row, left, from->columns, B_WIDTH, B_CHUNKS);
#endif
  Commit();
}

// Adds the product of all slices. While a step's fragments are multiplied those of the next are loaded. After the
// barrier nobody reads the slice of this step any more, so a new one takes its place. All that does not multiply is
// done between multiplications, so that the matrix units have something to do meanwhile.
INLINE void AddSlices(Sums* sums, __local Number* ring, const Slices* from, const int top, const int side,
                      __local uint* exchange) {
  REPEAT(i, STAGES) BringSlice(ring + i * STAGE, from, i * SLICE);
  AwaitAllBut(STAGES - 1);
  barrier(CLK_LOCAL_MEM_FENCE);
  Fragments fragments[2];
  Load(&fragments[0], ring, top, side, 0);
  int stage = 0;
#pragma unroll 1
  for (long depth = 0; depth < from->k; depth += 2 * STEP) {
    REPEAT(step, 2) {
      const int next = (step + 1) % STEPS;
      __local Number* const old = ring + stage * STAGE;
      Right right[RIGHTS];
      REPEAT(j, RIGHTS) PartsOf(fragments[step].right[j], right[j].words, 2);
      REPEAT(i, LEFTS) {
        Left left;
        PartsOf(fragments[step].left[i], left.words, 4);
        AddProducts(sums + i * RIGHTS, RIGHTS, &left, 1, right, RIGHTS, exchange);
        if (i == 0 && next == 0) {
          AwaitAllBut(STAGES - 2);
          barrier(CLK_LOCAL_MEM_FENCE);
          stage = stage + 1 < STAGES ? stage + 1 : 0;
        }
        if (i == 0) Load(&fragments[1 - step], ring + stage * STAGE, top, side, next);
        if (i == 1 && next == 0) BringSlice(old, from, depth + (step + 1 - STEPS) * STEP + STAGES * SLICE);
      }
    }
  }
}

// C [m, n] = A [m, k] · B + bias [n], as matrix.cl has it. `left` and `right` are A and B in Numbers, with rows that
// begin at multiples of 16 bytes.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void MultiplyRing(
    __global const Number* left, __global const Number* right, const Place left_place, const Place right_place,
    __global const float* a, __global const ELEMENT* b, __global float* c, __global const float* bias,
    const Place a_place, const Place b_place, const Place c_place, const Heads heads, const long m, const long n,
    const long k) {
  TILE(ring, STAGES * STAGE);
  EXCHANGE(exchange, WARPS_M * WARPS_N, 1, RIGHTS);
  const int warp = get_local_id(0) / WARP, top = warp / WARPS_N * (LEFTS * 16), side = warp % WARPS_N * (RIGHTS * 8);
  const long down = (m + TILE_M - 1) / TILE_M, across = (n + TILE_N - 1) / TILE_N;
  long z = get_group_id(0);
  long number = Next(&z, down * across), band = number;
  number = Next(&band, BAND * across);
  const long height = min((long)BAND, down - band * BAND);
  const long row = (band * BAND + Next(&number, height)) * TILE_M, column = number * TILE_N;
  const long rows = m - row, columns = n - column;
#ifdef B_COLUMNS
#define B_BEGIN(place) (Begin(place, heads, z) + column * place.row)
#else
#define B_BEGIN(place) (Begin(place, heads, z) + column)
#endif
  const Slices slices = {left + Begin(left_place, heads, z) + row * left_place.row,
                         right + B_BEGIN(right_place),
                         left_place.row,
                         right_place.row,
                         k,
                         (int)min(rows, (long)TILE_M),
                         (int)min(columns, (long)TILE_N)};
  Sums sums[LEFTS * RIGHTS];
  REPEAT(i, LEFTS * RIGHTS) { REPEAT(e, 4) sums[i].x[e] = 0.0f; }
  AddSlices(sums, ring, &slices, top, side, exchange);
  const Results results = {a + Begin(a_place, heads, z) + row * a_place.row,
                           b + B_BEGIN(b_place),
                           c + Begin(c_place, heads, z) + row * c_place.row + column,
                           a_place.row,
                           b_place.row,
                           c_place.row,
                           k,
                           rows,
                           columns,
                           bias ? bias + column : 0};
  StoreSums(sums, top, side, &results);
}
