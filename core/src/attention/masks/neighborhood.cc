// SPDX-License-Identifier: Apache-2.0
/// The mask of patches on a grid, each of which sees those around it (Ramachandran et al. 2019, §3). The neighborhood
/// is cut off at the border of the grid. In Neighborhood Attention (Hassani et al. 2023) it moves inwards there
/// instead, and keeps its size.
#include <algorithm>
#include <limits>

#include "attention/masks/mask_rule.h"

namespace headlens {
namespace {

constexpr Field<Mask> kNeighborhoodFields[] = {
    field::Count<&Mask::neighborhood_rows>("neighborhood_rows", 0,
                                           "The number of rows of the grid that a patch may look up and down "
                                           "(Ramachandran et al. 2019). When absent, there "
                                           "is no limit."),
    field::Count<&Mask::neighborhood_columns>(
        "neighborhood_columns", 0,
        "The number of columns of the grid that a patch may look to either side. When absent, there is no limit."),
    field::Count<&Mask::grid_rows>("grid_rows", 1,
                                   "The number of rows of the grid of patches, which a neighborhood needs. The keys "
                                   "are the grid's tokens and then "
                                   "its patches, row by row; with `is_causal` they may be the first of these."),
    field::Count<&Mask::grid_columns>("grid_columns", 1, "The number of columns of that grid."),
    field::Count<&Mask::grid_tokens>("grid_tokens", 0,
                                     "The number of tokens before the patches, such as a class token. They see every "
                                     "key, and every query sees them, "
                                     "in spite of neighborhoods."),
};

/// The number of tokens and patches for which the grid has places, or the largest Index when it would overflow.
Index Places(const Mask& mask) {
  const Index most = std::numeric_limits<Index>::max() - mask.grid_tokens;
  if (mask.grid_rows > most / mask.grid_columns) return std::numeric_limits<Index>::max();
  return mask.grid_tokens + mask.grid_rows * mask.grid_columns;
}

void Validate(const AttentionProblem& p) {
  const Mask& m = p.mask;
  if (m.neighborhood_rows < 0 && m.neighborhood_columns < 0) {
    throw Error(ErrorCode::kOption,
                "`grid_rows`, `grid_columns` and `grid_tokens` need `neighborhood_rows` or `neighborhood_columns`");
  }
  if (m.grid_rows < 1 || m.grid_columns < 1) {
    throw Error(ErrorCode::kOption,
                "`neighborhood_rows` and `neighborhood_columns` need `grid_rows` and `grid_columns`, at least 1");
  }
  if (m.grid_tokens < 0) {
    throw ValueError("`grid_tokens`", m.grid_tokens, "at least 0");
  }
  const Phrase grid = {"`grid_rows` is ",        m.grid_rows,   ", `grid_columns` is ",  m.grid_columns,
                       " and `grid_tokens` is ", m.grid_tokens, ", expected places for "};
  const Index places = Places(m), keys = p.key_offset + MaskableKeys(p), queries = p.q.shape[2];
  // A picture that is made patch by patch only has its first patches so far.
  if (m.causal ? keys > places : keys != places) {
    throw Error(ErrorCode::kShape, {grid, m.causal ? "at least " : "", keys, " keys"});
  }
  if (queries > 0 && (QueryPosition(p, 0) < 0 || QueryPosition(p, queries - 1) >= places)) {
    throw Error(ErrorCode::kShape, {grid, "queries ", QueryPosition(p, 0), " to ", QueryPosition(p, queries - 1)});
  }
}

/// The keys around one patch.
class Neighborhood {
 public:
  Neighborhood(const AttentionProblem& p, Index patch)
      : first_key_(p.mask.grid_tokens - p.key_offset), columns_(p.mask.grid_columns) {
    const Index row = patch / columns_, column = patch % columns_;
    const auto& [up, aside] = std::pair(p.mask.neighborhood_rows, p.mask.neighborhood_columns);
    // Compares rows before it adds them, because a neighborhood may be so large that the sum would overflow.
    const Index patches = MaskableKeys(p) - first_key_, last_row = patches > 0 ? (patches - 1) / columns_ : -1;
    top_ = up < 0 || up >= row ? 0 : row - up;
    bottom_ = up < 0 || up >= last_row - row ? last_row : row + up;
    left_ = aside < 0 || aside >= column ? 0 : column - aside;
    right_ = std::min(aside < 0 || aside >= columns_ - column ? columns_ : column + aside + 1, patches);
  }

  Index top() const { return top_; }
  Index bottom() const { return bottom_; }
  /// The key of the first patch of the grid. Below 0 where a cache has dropped keys.
  Index first_key() const { return first_key_; }
  KeyRange Row(Index row) const {
    const Index begin = first_key_ + row * columns_;
    return {begin + left_, begin + right_};
  }

 private:
  Index first_key_, columns_, top_ = 0, bottom_ = 0, left_ = 0, right_ = 0;
};

/// The patch of a query; below 0 for one of the tokens before them.
Index PatchOf(const AttentionProblem& p, Index t) { return QueryPosition(p, t) - p.mask.grid_tokens; }

KeyRange Range(const AttentionProblem& p, Index, Index t) {
  const Index patch = PatchOf(p, t), keys = MaskableKeys(p);
  if (patch < 0) return {0, keys};
  const Neighborhood around(p, patch);
  const Index tokens = std::max<Index>(around.first_key(), 0);
  if (around.top() > around.bottom()) return {0, std::min(tokens, keys)};
  return {tokens > 0 ? 0 : std::max<Index>(around.Row(around.top()).begin, 0),
          std::clamp<Index>(around.Row(around.bottom()).end, 0, keys)};
}

/// Marks what lies between the tokens and the first row that is seen, and between such rows.
void Mark(const AttentionProblem& p, const RowIndex& at, RowMarks& marks) {
  const Index patch = PatchOf(p, at.t);
  if (patch < 0) return;
  const Neighborhood around(p, patch);
  Index end = around.first_key();
  for (Index row = around.top(); row <= around.bottom(); ++row) {
    marks.Inside({end, around.Row(row).begin});
    end = around.Row(row).end;
  }
}

}  // namespace

extern const MaskRule kNeighborhood = {
    .fields = kNeighborhoodFields,
    .group = MaskGroup::kLocality,
    .present =
        [](const Mask& mask) {
          return mask.neighborhood_rows >= 0 || mask.neighborhood_columns >= 0 || mask.grid_rows != 0 ||
                 mask.grid_columns != 0 || mask.grid_tokens != 0;
        },
    .validate = Validate,
    .range = Range,
    .mark = Mark,
};

}  // namespace headlens
