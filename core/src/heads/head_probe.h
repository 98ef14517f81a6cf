// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_HEADS_HEAD_PROBE_H_
#define HEADLENS_SRC_HEADS_HEAD_PROBE_H_

#include <algorithm>

#include "headlens/head_finder.h"

namespace headlens {

class HeadProbe {
 public:
  explicit HeadProbe(const TextHeads& text)
      : text_(text),
        rows_(text.length - std::count_if(text.padding.begin(), text.padding.end(), [](auto x) { return x; })) {}

  /// Moves to a head. Results for the layer are kept while the layer stays the same.
  void Seek(Index layer, Index head) {
    if (layer != layer_) importance_.reset();
    ablation_.reset();
    layer_ = layer;
    head_ = head;
  }

  /// The number of tokens that are not padding.
  Index rows() const { return rows_; }

  HeadImportance Importance() { return text_.importance ? Layer()[static_cast<std::size_t>(head_)] : HeadImportance(); }

  /// The head's output_change divided by the l2 norm over the heads of its layer.
  std::optional<double> NormalizedChange() {
    if (!Importance().output_change) return std::nullopt;
    std::vector<double> changes;
    for (const HeadImportance& head : Layer()) changes.push_back(head.output_change.value_or(0.0));
    NormalizeImportance(changes);
    return changes[static_cast<std::size_t>(head_)];
  }

  std::optional<double> Copying() { return text_.copying ? text_.copying(layer_, head_) : std::nullopt; }

  const Ablation& WithoutHead() {
    if (!ablation_) ablation_ = text_.ablate ? text_.ablate(layer_, head_) : Ablation{};
    return *ablation_;
  }

 private:
  const std::vector<HeadImportance>& Layer() {
    if (!importance_) importance_ = text_.importance(layer_);
    return *importance_;
  }

  const TextHeads& text_;
  Index rows_;
  Index layer_ = -1, head_ = -1;
  std::optional<std::vector<HeadImportance>> importance_;
  std::optional<Ablation> ablation_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_HEADS_HEAD_PROBE_H_
