// SPDX-License-Identifier: Apache-2.0
// NVIDIA's matrix units multiply fragments, the parts of small matrices that the lanes of a warp (32 work-items in a
// row) hold in registers. Layouts are those of mma.m16n8k8 and mma.m16n8k16 in the PTX ISA. Build options: the
// precision, one of TF32X3, FP16 and BF16; EMULATE, to compute the same through local memory on any device. All
// work-items must then pass together wherever an exchange is passed.

#if defined(TF32X3) + defined(FP16) + defined(BF16) != 1
#error "mma.cl is built for one of TF32X3, FP16 and BF16"
#endif
#define WARP 32

// Registers have no addresses, so loops over arrays of them must be written out.
#ifdef EMULATE
#define REPEAT(i, count) for (int i = 0; i < (count); ++i)
#define INLINE static  // inlined functions are more than Oclgrind can do
#else
#define REPEAT(i, count) _Pragma("unroll") for (int i = 0; i < (count); ++i)
#define INLINE static __attribute__((always_inline))
#endif

// STEP is the depth of one instruction. Tiles of local memory hold rows of Numbers as the instructions take them, and a
// PAIR is two neighbours of them in depth.
#ifdef TF32X3
// x is big + small, both with 11 significant bits, of which the first is rounded and the second cut off: x·y is
// small·big + big·small + big·big, to 5·2^-22 |x||y|.
#define STEP 8
#define PARTS 2
#define PRODUCTS 3
#define MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
typedef float Number;
typedef float2 PAIR;
#else
#define STEP 16
#define PARTS 1
#define PRODUCTS 1
#ifdef FP16
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define TO_PAIR "cvt.rn.f16x2.f32"
#else
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#define TO_PAIR "cvt.rn.bf16x2.f32"
#endif
typedef ushort Number;
typedef uint PAIR;
#endif
#define STEP_TILES (STEP / 8)
#define LEFT_PAIRS (2 * STEP_TILES)
#define RIGHT_PAIRS STEP_TILES
#define LEFT_WORDS (4 * PARTS)
#define RIGHT_WORDS (2 * PARTS)
#define MOST_RIGHTS 8  // that a warp multiplies at once

// Numbers are read and copied in chunks of 16 bytes.
#define CHUNK (16 / (int)sizeof(Number))
// This padding, in Numbers after each row of a tile, keeps the lanes out of each other's memory banks, for pairs along
// the rows and for pairs across them.
#define PAD_ALONG 8
#ifdef TF32X3
#define PAD_ACROSS 4
#else
#define PAD_ACROSS 8
#endif
#define TILE(name, size) __local Number name[size] __attribute__((aligned(16)))

// A lane's parts of a left matrix [16, STEP], of a right one [STEP, 8], and of their product [16, 8]: x[0] and x[1] are
// neighbours in the lane's upper row, x[2] and x[3] in the row 8 further down.
typedef struct {
  uint words[LEFT_WORDS];
} Left;
typedef struct {
  uint words[RIGHT_WORDS];
} Right;
typedef struct {
  float x[4];
} Sums;

int Lane() { return get_local_id(0) % WARP; }
// The upper of a lane's rows in a left matrix or a product, and its column of a right matrix.
int LaneRow() { return Lane() / 4; }
// The first of a lane's pairs in depth, or of neighbouring columns in a product.
int LanePair() { return Lane() % 4; }

#ifdef EMULATE
// The words that Accumulate and the reductions need for each warp, by its numbers of left and right fragments.
#define EXCHANGE_WORDS(lefts, rights) (WARP * ((lefts) * LEFT_WORDS + (rights) * RIGHT_WORDS))
#define EXCHANGE(name, warps, lefts, rights)                          \
  __local uint name##_words[(warps) * EXCHANGE_WORDS(lefts, rights)]; \
  __local uint* const name = name##_words + get_local_id(0) / WARP * EXCHANGE_WORDS(lefts, rights)
#else
#define EXCHANGE(name, warps, lefts, rights) __local uint* const name = 0
#endif

// Makes a PAIR of two elements, as the matrix units take them.
INLINE PAIR MakePair(const float x, const float y) {
#ifdef TF32X3
  return (float2)(x, y);
#elif !defined(EMULATE)
  uint pair;
  asm(TO_PAIR " %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
  return pair;
#elif defined(FP16)
  ushort low, high;
  vstore_half_rte(x, 0, (half*)&low);
  vstore_half_rte(y, 0, (half*)&high);
  return low | (uint)high << 16;
#else
  const uint2 bits = as_uint2((float2)(x, y)), even = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return (isnan(x) ? 0x7fffu : even.x) | (isnan(y) ? 0x7fffu : even.y) << 16;
#endif
}

#ifdef TF32X3
// `big` is the nearest number of 11 significant bits, and of two the one further from 0. A NaN may come out as a
// number; then the small part is NaN. The instruction itself leaves out all bits of the small part after its first 11.
INLINE void Split(const float x, uint* big, uint* small) {
  *big = (as_uint(x) + 0x1000u) & 0xffffe000u;
  *small = as_uint(x - as_float(*big));
}
#endif

// Fragments of the pairs that a lane looks after: of its upper and lower row in turn, or of its column. As sums do not
// depend on the order of their terms, a pair takes places 4 apart in the depth of m16n8k8: so a product's pairs, which
// are neighbours, are those of a left matrix too.
INLINE Left MakeLeft(const PAIR* pairs) {
  Left left;
#ifdef TF32X3
  REPEAT(i, 2) {
    Split(pairs[i].x, &left.words[i], &left.words[i + 4]);
    Split(pairs[i].y, &left.words[i + 2], &left.words[i + 6]);
  }
#else
  REPEAT(i, LEFT_WORDS) left.words[i] = pairs[i];
#endif
  return left;
}

INLINE Right MakeRight(const PAIR* pairs) {
  Right right;
#ifdef TF32X3
  Split(pairs[0].x, &right.words[0], &right.words[2]);
  Split(pairs[0].y, &right.words[1], &right.words[3]);
#else
  REPEAT(i, RIGHT_WORDS) right.words[i] = pairs[i];
#endif
  return right;
}

// Four matrices of 8 × 8 at once: each lane says where one of their rows begins.
#ifndef EMULATE
#define LOAD_MATRICES(words, row, transposed)                                                   \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" transposed ".shared.b16 {%0, %1, %2, %3}, [%4];" \
               : "=r"((words)[0]), "=r"((words)[1]), "=r"((words)[2]), "=r"((words)[3])         \
               : "r"((uint)(size_t)(row))                                                       \
               : "memory")
#endif

// Pairs of floats are read one by one.
#if defined(LOAD_MATRICES) && !defined(TF32X3)
#define LOADS_MATRICES
#endif

// Loads the left matrix of a tile's first 16 rows, which are `stride` apart.
INLINE Left LoadLeft(__local const Number* tile, const int stride) {
#ifdef LOADS_MATRICES
  Left left;
  LOAD_MATRICES(left.words, tile + Lane() % 16 * stride + Lane() / 16 * 8, "");
  return left;
#else
  PAIR pairs[LEFT_PAIRS];
  REPEAT(i, LEFT_PAIRS) {
    pairs[i] = *(__local const PAIR*)(tile + (LaneRow() + i % 2 * 8) * stride + LanePair() * 2 + i / 2 * 8);
  }
  return MakeLeft(pairs);
#endif
}

// Loads the two right matrices whose columns are the first 16 rows of a tile.
INLINE void LoadRightsOfRows(__local const Number* tile, const int stride, Right* rights) {
#ifdef LOADS_MATRICES
  uint words[4];
  LOAD_MATRICES(words, tile + (Lane() / 16 * 8 + Lane() % 8) * stride + Lane() / 8 % 2 * 8, "");
  REPEAT(i, 4) rights[i / 2].words[i % 2] = words[i];
#else
  REPEAT(j, 2) {
    PAIR pairs[RIGHT_PAIRS];
    REPEAT(i, RIGHT_PAIRS) {
      pairs[i] = *(__local const PAIR*)(tile + (j * 8 + LaneRow()) * stride + LanePair() * 2 + i * 8);
    }
    rights[j] = MakeRight(pairs);
  }
#endif
}

// Loads the two right matrices whose columns are the first 16 columns of a tile.
INLINE void LoadRightsOfColumns(__local const Number* tile, const int stride, Right* rights) {
#ifdef LOADS_MATRICES
  uint words[4];
  LOAD_MATRICES(words, tile + Lane() % 16 * stride + Lane() / 16 * 8, ".trans");
  REPEAT(i, 4) rights[i / 2].words[i % 2] = words[i];
#else
  REPEAT(j, 2) {
    PAIR pairs[RIGHT_PAIRS];
    REPEAT(i, RIGHT_PAIRS) {
      __local const Number* at = tile + (LanePair() * 2 + i * 8) * stride + j * 8 + LaneRow();
#ifdef TF32X3
      pairs[i] = (float2)(at[0], at[stride]);
#else
      pairs[i] = at[0] | (uint)at[stride] << 16;
#endif
    }
    rights[j] = MakeRight(pairs);
  }
#endif
}

// Makes a left matrix of STEP columns of products, of which STEP_TILES lie next to each other.
INLINE Left LeftOfSums(const Sums* sums) {
  PAIR pairs[LEFT_PAIRS];
  REPEAT(i, LEFT_PAIRS) pairs[i] = MakePair(sums[i / 2].x[i % 2 * 2], sums[i / 2].x[i % 2 * 2 + 1]);
  return MakeLeft(pairs);
}

#ifdef EMULATE
// Element `depth` of row or column `line` among a fragment's words in the exchange: `further` is the word that has what
// lies half a STEP deeper.
float Exchanged(__local const uint* words, const int line, const int depth, const int further) {
#ifdef TF32X3
  return as_float(words[depth / 4 * further * WARP + line * 4 + depth % 4] & 0xffffe000u);
#else
  const uint word = words[depth / 8 * further * WARP + line * 4 + depth % 8 / 2];
  const ushort bits = depth % 2 == 0 ? word : word >> 16;
#ifdef FP16
  return vload_half(0, (const half*)&bits);
#else
  return as_float((uint)bits << 16);
#endif
#endif
}

// Returns x + y without the bits that a float has no room for, as the matrix units add.
float CutSum(const float x, const float y) {
#ifdef cl_khr_fp64
  return convert_float_rtz((double)x + y);
#else
  return x + y;
#endif
}

// Returns what one instruction adds to element (row, column) of a product.
float Product(__local const uint* left, __local const uint* right, const int row, const int column) {
  float sum = 0.0f;
  for (int depth = 0; depth < STEP; ++depth)
    sum += Exchanged(left + row / 8 * WARP, row % 8, depth, 2) * Exchanged(right, column, depth, 1);
  return sum;
}
#else
INLINE void Multiply16x8(Sums* sums, const uint* left, const uint* right) {
  asm volatile(MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sums->x[0]), "+f"(sums->x[1]), "+f"(sums->x[2]), "+f"(sums->x[3])
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
#endif

// Adds every left matrix · every right one to sums [lefts, rights], whose rows are `stride` apart.
INLINE void Accumulate(Sums* sums, const int stride, const Left* left, const int lefts, const Right* right,
                       const int rights, __local uint* exchange) {
#ifdef EMULATE
  __local uint* const right_words = exchange + lefts * LEFT_WORDS * WARP;
  const int lane = Lane();
  for (int i = 0; i < lefts * LEFT_WORDS; ++i) exchange[i * WARP + lane] = left[i / LEFT_WORDS].words[i % LEFT_WORDS];
  for (int i = 0; i < rights * RIGHT_WORDS; ++i)
    right_words[i * WARP + lane] = right[i / RIGHT_WORDS].words[i % RIGHT_WORDS];
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  // Sums of the small parts first, and none twice in a row: each has to wait for itself.
  REPEAT(product, PRODUCTS) {
    const int small_left = PARTS == 2 && product == 0, small_right = PARTS == 2 && product == 1;
    REPEAT(i, lefts) {
      REPEAT(j, rights) {
#ifdef EMULATE
        __local const uint* l = exchange + (i * LEFT_WORDS + small_left * 4) * WARP;
        __local const uint* r = right_words + (j * RIGHT_WORDS + small_right * 2) * WARP;
        for (int e = 0; e < 4; ++e) {
          float* const sum = &sums[i * stride + j].x[e];
          *sum = CutSum(*sum, Product(l, r, LaneRow() + e / 2 * 8, LanePair() * 2 + e % 2));
        }
#else
        Multiply16x8(&sums[i * stride + j], left[i].words + small_left * 4, right[j].words + small_right * 2);
#endif
      }
    }
  }
#ifdef EMULATE
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

// Adds as Accumulate does, and again and again. Matrix units cut off what does not fit into their sums, so that the
// errors of long sums add up (Ootomo & Yokota 2022, "Recovering single precision accuracy from Tensor Cores"). Where
// these would be larger than those of the numbers, the sum of each call is therefore added to the others with rounding.
INLINE void AddProducts(Sums* sums, const int stride, const Left* left, const int lefts, const Right* right,
                        const int rights, __local uint* exchange) {
#ifdef TF32X3
  REPEAT(i, lefts) {
    Sums parts[MOST_RIGHTS];
    REPEAT(j, rights) { REPEAT(e, 4) parts[j].x[e] = 0.0f; }
    Accumulate(parts, rights, left + i, 1, right, rights, exchange);
    REPEAT(j, rights) { REPEAT(e, 4) sums[i * stride + j].x[e] += parts[j].x[e]; }
  }
#else
  Accumulate(sums, stride, left, lefts, right, rights, exchange);
#endif
}

#ifndef EMULATE
INLINE float FromLane(const float x, const int distance) {
  float y;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(y) : "f"(x), "r"(distance));
  return y;
}
#endif

float Combine(const float x, const float y, const bool largest) { return largest ? fmax(x, y) : x + y; }

// Combines x[count] among the four lanes that have the same rows: each becomes the largest, or else the sum.
INLINE void CombineRows(float* x, const int count, const bool largest, __local uint* exchange) {
#ifdef EMULATE
  const int lane = Lane();
  for (int i = 0; i < count; ++i) exchange[i * WARP + lane] = as_uint(x[i]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < count; ++i) {
    __local const float* row = (__local const float*)exchange + i * WARP + LaneRow() * 4;
    x[i] = Combine(Combine(row[0], row[1], largest), Combine(row[2], row[3], largest), largest);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#else
  REPEAT(i, count) {
    x[i] = Combine(x[i], FromLane(x[i], 1), largest);
    x[i] = Combine(x[i], FromLane(x[i], 2), largest);
  }
#endif
}

// Returns 2^x, at most 2 ulps off, where exp2 may be off by 3 in OpenCL.
INLINE float Exp2(const float x) {
#ifdef EMULATE
  return exp2(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}

// Brings a CHUNK to local memory: its first `count` Numbers come from p, and zeros follow. With ALIGNED p is at a
// multiple of 16 bytes. The numbers are there after Arrived() and a barrier.
INLINE void Bring(__local Number* to, __global const Number* p, const int count) {
#if defined(ALIGNED) && !defined(EMULATE)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"((uint)(size_t)to), "l"((ulong)p), "r"(count * (int)sizeof(Number))
               : "memory");
#else
  REPEAT(i, CHUNK) to[i] = i < count ? p[i] : 0;
#endif
}

INLINE void Arrived() {
#ifndef EMULATE
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Numbers that were brought since the last Commit() are a group. AwaitAllBut(n) waits until all but the last n groups
// are there.
INLINE void Commit() {
#ifndef EMULATE
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
#ifdef EMULATE
#define AwaitAllBut(groups)
#else
#define AwaitAllBut(groups) asm volatile("cp.async.wait_group %0;" : : "n"(groups) : "memory")
#endif

// Stores four numbers in a tile, as its instructions take them.
INLINE void StoreFour(__local Number* to, const float4 x) {
#ifdef TF32X3
  *(__local float4*)to = x;
#else
  *(__local uint2*)to = (uint2)(MakePair(x.x, x.y), MakePair(x.z, x.w));
#endif
}

// Loads floats p[0] to p[count - 1], and zeros from there on. `aligned` says that p is at a multiple of four floats,
// and in LoadTwo of two.
INLINE float4 LoadFour(__global const float* p, const long count, const bool aligned) {
  if (aligned && count >= 4) return *(__global const float4*)p;
  return (float4)(count > 0 ? p[0] : 0.0f, count > 1 ? p[1] : 0.0f, count > 2 ? p[2] : 0.0f, count > 3 ? p[3] : 0.0f);
}

INLINE float2 LoadTwo(__global const float* p, const long count, const bool aligned) {
  if (aligned && count >= 2) return *(__global const float2*)p;
  return (float2)(count > 0 ? p[0] : 0.0f, count > 1 ? p[1] : 0.0f);
}
