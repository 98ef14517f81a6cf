// SPDX-License-Identifier: Apache-2.0
/// Allocates the results of a problem that are asked for, by name.
#ifndef HEADLENS_SRC_BY_NAME_RESULTS_H_
#define HEADLENS_SRC_BY_NAME_RESULTS_H_

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "attention/stages.h"
#include "base/views.h"
#include "by_name/call_options.h"
#include "by_name/inputs.h"
#include "headlens/attention.h"
#include "headlens/problem.h"

namespace headlens {

/// The results of one attention, which are allocated in `results` when they are wanted, with `prefix` before their
/// names. `lead` are the caller's dimensions before that of queries: (B, H), (H), ….
class ResultSet {
 public:
  ResultSet(Results& results, const char* prefix, const CallOptions& options, const Sizes& n, Index key_columns,
            Shape lead, Shape mean_lead)
      : results_(results),
        prefix_(prefix),
        options_(options),
        n_(n),
        columns_(key_columns),
        lead_(std::move(lead)),
        mean_lead_(std::move(mean_lead)) {}

  AttentionResults Attention(Index value_width) {
    AttentionResults r;
    for (const Stage& stage : Stages()) {
      if (stage.cells && options_.Wants(stage.name)) r.*stage.cells = PerHead(stage.name, n_.queries, columns_);
    }
    const bool per_head = options_.Wants("weights") || (options_.need_weights && !options_.average_weights);
    if (per_head) r.weights = PerHead("weights", n_.queries, columns_);
    if (options_.need_weights && !per_head) {
      Shape shape = mean_lead_;
      shape.insert(shape.end(), {n_.queries, columns_});
      r.mean_weights = DenseView(Make("weights", shape), std::array<Index, 3>{n_.batch, n_.queries, columns_});
    }
    if (options_.Wants("lse")) {
      Shape shape = lead_;
      shape.push_back(n_.queries);
      r.lse = DenseView(Make("lse", shape), std::array<Index, 3>{n_.batch, n_.heads, n_.queries});
    }
    if (options_.Wants("head_outputs")) r.output = PerHead("head_outputs", n_.queries, value_width);
    return r;
  }

  View<float, 4> PerHead(std::string_view name, Index rows, Index columns) {
    return PerHead(name, n_.heads, rows, columns);
  }

  /// A result with `heads` heads, in the caller's dimensions otherwise.
  View<float, 4> PerHead(std::string_view name, Index heads, Index rows, Index columns) {
    Shape shape = lead_;
    if (heads != n_.heads) shape.back() = heads;
    shape.insert(shape.end(), {rows, columns});
    return DenseView(Make(name, shape), std::array<Index, 4>{n_.batch, heads, rows, columns});
  }

  /// Copies `from` [B, heads, rows, columns], whose rows are dense, to the result of this name when it is wanted.
  void CopyIfWanted(std::string_view name, const KeyValueView& from) {
    if (!options_.Wants(name)) return;
    const View<float, 4> to = PerHead(name, from.shape[1], from.shape[2], from.shape[3]);
    if (from.dtype == DType::kF32) return Copy(from.floats().host(), to);
    Copy<float>(ToFloat(from).view<4>(), to);
  }

  /// Results that were made before stay at their addresses.
  float* Make(std::string_view name, Shape shape) {
    Tensor& tensor = results_[prefix_ + std::string(name)];
    if (!tensor.data() || tensor.shape() != shape) tensor = Tensor(std::move(shape));
    return tensor.data();
  }

 private:
  Results& results_;
  std::string prefix_;
  const CallOptions& options_;
  Sizes n_;
  Index columns_;
  Shape lead_, mean_lead_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_RESULTS_H_
