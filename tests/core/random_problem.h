// SPDX-License-Identifier: Apache-2.0
/// Random attention problems with all options, and plain attention to compare with: a second implementation, cell by
/// cell in fp64, that shares nothing with the engine but the problem.
#ifndef HEADLENS_TESTS_CORE_RANDOM_PROBLEM_H_
#define HEADLENS_TESTS_CORE_RANDOM_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "headlens/attention.h"
#include "support.h"

namespace headlens::testing {

/// A problem with everything that it borrows.
struct RandomProblem {
  Tensor q, k, v, additive, head_mask, sinks, slopes, relative, t5;
  std::vector<std::uint8_t> boolean, padding, global;
  std::vector<std::int32_t> lengths, prefix, query_documents, key_documents;
  AttentionProblem problem;
  /// True when all scores are exact in fp32, so that equal scores are equal on every backend.
  bool exact = false;

  Index batch() const { return problem.q.shape[0]; }
  Index heads() const { return problem.q.shape[1]; }
  Index queries() const { return problem.q.shape[2]; }
  Index keys() const { return problem.k.shape[2]; }
};

/// A neighborhood on a grid that `places` tokens and patches fill.
void DrawNeighborhood(Random& random, Index places, Mask& mask);

/// Every kind of normaliser there is.
std::vector<NormalizerKind> NormalizerKinds();

struct ProblemSizes {
  Index batch, groups, heads, queries, keys, width, value_width;
};

/// Draws small sizes, and sometimes one beyond a block or a panel of the kernels.
ProblemSizes DrawSizes(Random& random);

/// Inputs of these sizes without options. Heads lie next to each other in rows, as after a projection.
RandomProblem PlainProblem(Random& random, const ProblemSizes& sizes);

/// A problem of one head, all of whose scores are larger by `step` for every `tile` keys.
RandomProblem RisingProblem(Random& random, Index queries, Index keys, Index tile, float step);

/// Adds some of the masks, including those that count positions when `positional`.
void DrawMasks(Random& random, RandomProblem& r, bool positional);
void DrawBiases(Random& random, RandomProblem& r);
void DrawNormalizer(Random& random, RandomProblem& r);
/// A problem with some of all options.
RandomProblem DrawProblem(Random& random, const ProblemSizes& sizes);

/// Returns true when a cell is masked, by the definition of each mask.
bool PlainHidden(const AttentionProblem& problem, Index b, Index h, Index t, Index s);

/// Every result of a problem.
struct AllResults {
  explicit AllResults(const AttentionProblem& problem);
  AttentionResults views() const;

  enum Map { kWeights, kDropoutMask, kDropped, kScores, kScaled, kCapped, kBiased, kMasked, kMaps };
  std::array<Index, 4> sizes;  // [B, H, T, S]
  Tensor maps[kMaps];
  Tensor output, lse, mean;
};

/// All results by the formulas, for problems without NaN and infinite scores.
AllResults PlainAttention(const AttentionProblem& problem);

/// The tolerances of fp32 results against fp64. A score is a sum of d rounded terms, and errors of scores become
/// relative errors of weights.
struct Tolerances {
  Tolerances(const RandomProblem& r, const AllResults& expected);
  double scores, scaled, weights, dropped, output, lse;
};

/// Compares all results with the expected ones.
void CheckResults(const RandomProblem& r, const AllResults& got, const AllResults& expected);

/// Returns true when rounding may change which cells a hard or top-k row keeps.
bool RoundingDecides(const RandomProblem& r, const AllResults& expected);

}  // namespace headlens::testing

#endif  // HEADLENS_TESTS_CORE_RANDOM_PROBLEM_H_
