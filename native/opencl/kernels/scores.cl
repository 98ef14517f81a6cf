// SPDX-License-Identifier: Apache-2.0
// The kernels that keep no cells in memory share this (online.cl, few.cl): how they read q, k and v, and the score of a
// cell. Build options: FLOATS, ALIGNED_FLOATS, HALVES or BFLOATS: what q, k and v are in memory; UNROLLED, for GPUs.

// Arrays of a GPU's work-item stay in registers only when all indices into them are constants.
#ifdef UNROLLED
#define UNROLL _Pragma("unroll")
#define UNROLL_SOME _Pragma("unroll 4")  // more would take registers for what is read ahead
#else
#define UNROLL
#define UNROLL_SOME
#endif

// Raw is four elements as they are in memory, and FOUR makes floats of them.
#if defined(HALVES)
typedef half Element;
typedef ushort4 Raw;
#define RAW(p) *(__global const ushort4*)(p)
#define FOUR(raw) vload_half4(0, (const half*)&(raw))
#elif defined(BFLOATS)
typedef ushort Element;
typedef ushort4 Raw;
#define RAW(p) *(__global const ushort4*)(p)
#define FOUR(raw) as_float4(convert_uint4(raw) << 16)
#else
typedef float Element;
typedef float4 Raw;
#define RAW(p) *(__global const float4*)(p)
#define FOUR(raw) (raw)
#endif

// Returns a row of a member of the group whose first head has `origin`.
Row RowOf(const Problem* p, __local const Row* origin, const int member, const long r) {
  const Row row = {
      origin->b,      origin->h + member * (p->interleaved ? p->heads.groups : 1), origin->t + r, origin->z + member, r,
      origin->own + r};
  return row;
}

// Returns the score of a cell, to base 2: LOWEST where it is hidden, and −∞ where it could not be told from that.
float Score(const Problem* p, const Inputs* in, const Row* row, const long s, float score) {
  if (IsHidden(p, in, row, s)) return LOWEST;
  score *= p->scale;
  if (!p->cap_after_bias) score = Cap(p, score);
  score = AddBiases(p, in, row, s, score);
  if (p->cap_after_bias) score = Cap(p, score);
  score = score / p->temperature * M_LOG2E_F;
  return score == LOWEST ? -INFINITY : score;
}
