// SPDX-License-Identifier: Apache-2.0
/// The maps of a problem's heads, computed when they are looked at: any part of a map in full or pooled to a smaller
/// picture, without ever holding a whole map.
#ifndef HEADLENS_ATTENTION_MAPS_H_
#define HEADLENS_ATTENTION_MAPS_H_

#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "headlens/attention.h"
#include "headlens/backend.h"

namespace headlens {

/// A part of a map: queries [row_begin, row_end) and keys [col_begin, col_end). An end may be kAll, for the map's own.
struct MapWindow {
  static constexpr Index kAll = std::numeric_limits<Index>::max();
  Index row_begin = 0, row_end = kAll, col_begin = 0, col_end = kAll;

  Index rows() const { return row_end - row_begin; }
  Index columns() const { return col_end - col_begin; }
};

/// The facts about a whole row of a map that a part of it does not show.
struct RowSummary {
  float lse;          ///< ln Σ exp of the masked scores, as AttentionResults::lse
  float largest;      ///< the largest weight
  std::int32_t keys;  ///< the number of keys that the query may look at
};

/// The maps of an attention problem's heads. Once the rows of a part have been summarised, another part of these rows
/// takes only the scores of its own cells. Several threads may use one object.
class AttentionMaps {
 public:
  /// Borrows `backend` and all tensors of `problem`, which needs no v. Throws as Backend::Attention does.
  AttentionMaps(const AttentionProblem& problem, const Backend& backend);

  Index batches() const { return problem_.q.shape[0]; }
  Index heads() const { return problem_.q.shape[1]; }
  Index queries() const { return problem_.q.shape[2]; }
  Index keys() const { return problem_.k.shape[2]; }

  /// Computes the weights of a part of the map of head `h` in batch `b` into `weights` [rows, columns]. Throws kValue
  /// for a head or a part that does not exist, and kShape for weights of another size.
  void Map(Index b, Index h, const MapWindow& window, DeviceView<float, 2> weights) const;

  /// Computes the part as a smaller map `pooled`, over blocks that are equal in size to within one cell. Throws as Map,
  /// and kValue when `pooled` is empty or has more rows or columns than the part. With kMax, whole rows are summarised.
  void Pooled(Index b, Index h, const MapWindow& window, PoolKind kind, DeviceView<float, 2> pooled) const;

  /// The problem of a part of the map of head `h` in batch `b` alone, with one batch, one head and no v. Borrows what
  /// the whole problem does.
  AttentionProblem Problem(Index b, Index h, const MapWindow& window) const;

  /// The summaries of rows [row_begin, row_end). Those that no call has made yet are made now.
  std::vector<RowSummary> Summaries(Index b, Index h, Index row_begin, Index row_end) const;

 private:
  struct Head {
    Index b, h;
  };

  std::size_t Number(const Head& head) const { return static_cast<std::size_t>(head.b * heads() + head.h); }
  MapWindow Checked(const Head& head, MapWindow window) const;
  AttentionProblem Part(const Head& head, const MapWindow& window) const;
  void Compute(const Head& head, const MapWindow& window, DeviceView<float, 2> weights, float* lse) const;
  void ComputeWholeRows(const Head& head, const MapWindow& window, DeviceView<float, 2> weights) const;
  void ComputeColumns(const Head& head, const MapWindow& window, View<float, 2> weights) const;
  void CopyColumns(const Head& head, const MapWindow& window, View<float, 2> weights) const;
  void CutColumns(const Head& head, const MapWindow& window, View<float, 2> weights) const;
  bool CanCutColumns() const;
  template <class F>
  void EachRun(const Head& head, const MapWindow& window, const F& f) const;
  std::vector<RowSummary> Known(const Head& head, const MapWindow& window) const;
  void Remember(const Head& head, Index row_begin, std::span<const RowSummary> made) const;

  AttentionProblem problem_;
  const Backend& backend_;
  mutable std::mutex mutex_;
  mutable std::vector<std::vector<RowSummary>> summaries_;  // of each head of each batch; some or all are still unknown
};

}  // namespace headlens

#endif  // HEADLENS_ATTENTION_MAPS_H_
