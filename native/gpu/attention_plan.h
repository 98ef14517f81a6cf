// SPDX-License-Identifier: Apache-2.0
/// The work of an attention call on a GPU, and the pieces in which it is done. B, H, T, S and the other letters
/// are those of headlens/attention.h; a group is a key/value head with the query heads that read it, its members.
#ifndef HEADLENS_NATIVE_GPU_ATTENTION_PLAN_H_
#define HEADLENS_NATIVE_GPU_ATTENTION_PLAN_H_

#include <vector>

#include "backends/parts.h"
#include "gpu/place.h"
#include "headlens/attention.h"

namespace headlens::gpu {

/// Query head `h` of sequence `b`.
struct Head {
  Index b, h;
};

/// Queries [first, first + count).
struct QueryRange {
  Index first, count;
};

/// Some groups, counted through the batch, that a device works on at a time.
struct Pass {
  Index groups;             ///< how many they are
  Heads launched;           ///< their query heads, as kernels count them
  std::vector<Head> heads;  ///< the same heads in that order

  Index head_count() const { return static_cast<Index>(heads.size()); }
  /// The key/value heads alone, as kernels count them.
  Heads key_heads() const { return {launched.first, launched.groups, 1}; }
};

/// All that follows from a problem and the results that are wanted. Borrows both.
class AttentionPlan {
 public:
  AttentionPlan(const AttentionProblem& problem, const AttentionResults& results);

  const AttentionProblem& problem() const { return p_; }
  const AttentionResults& results() const { return r_; }
  const MaskSet& masks() const { return masks_; }

  Index batch() const { return p_.q.shape[0]; }
  Index queries() const { return p_.q.shape[2]; }
  Index keys() const { return p_.k.shape[2]; }
  Index width() const { return p_.q.shape[3]; }
  /// 0 where no output is wanted.
  Index value_width() const { return r_.output ? p_.v.shape[3] : 0; }
  /// Key/value heads of a sequence, and the query heads that read each of them.
  Index groups() const { return p_.k.shape[1]; }
  Index members() const { return p_.q.shape[1] / groups(); }

  /// Returns true when nothing needs a tensor of cells [H, T, S] in memory, as long as all numbers are finite.
  bool suits_online() const { return suits_online_; }
  /// Returns true when a score is more than scale · q · k where no mask hides it.
  bool ChangesScores() const { return p_.softcap > 0.0f || p_.mask.additive || has_biases_; }
  /// Returns true when a key may be hidden.
  bool HidesAny() const { return masks_.any() || p_.mask.additive; }
  /// Returns true when all that masks do is to leave a range of keys to each row.
  bool HidesOnlyRanges() const { return !masks_.has_marks() && !p_.mask.additive; }
  /// Returns true when, beyond that, nothing else happens to scores, and 32 bits hold the ranges.
  bool NeedsOnlyRowRanges() const;
  /// Returns true when weights are a softmax of such scores, and nothing else, as long as all numbers are finite.
  bool SuitsBlockSums() const;
  /// Returns true when matrix units gain something, and can tell a hidden score from all others.
  bool SuitsMatrixUnits() const;

  /// The number of groups that are on a device at a time, where a step may take `step_memory` bytes: all of one
  /// sequence where its weights are averaged.
  Index GroupsTogether(Index step_memory) const;
  /// Groups [first, end), counted through the batch.
  Pass PassOf(Index first, Index end) const;
  /// The number of queries of a pass that are computed at a time: as many as the memory for a step holds, of cells
  /// where there are any, and of what else belongs to a row.
  Index RowsTogether(const Pass& pass, bool has_cells, Index step_memory) const;
  /// The number of queries of a pass whose cells fit into the memory for a step.
  Index CellRowsTogether(const Pass& pass, Index step_memory) const;

  /// The place of queries [B, H, T, width] in a buffer, the first of which is at element `first`.
  template <class T>
  Place QueryPlace(Index first, const DeviceView<T, 4>& view) const {
    const bool in_blocks = p_.gqa_order == GqaOrder::kBlock;
    const Index group = in_blocks ? members() : 1, member = in_blocks ? 1 : groups();
    return {first, view.strides[0], group * view.strides[1], member * view.strides[1], view.strides[2]};
  }

 private:
  bool KnowsMaskedRows() const;
  bool EveryRowSeesKeys() const;
  Index CellTensors() const;
  Index CellRowBytes() const;

  const AttentionProblem& p_;
  const AttentionResults& r_;
  MaskSet masks_;
  bool has_biases_, suits_online_;
};

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_ATTENTION_PLAN_H_
