// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_METRICS_HEAD_PROBE_H_
#define HEADLENS_SRC_METRICS_HEAD_PROBE_H_

#include "headlens/head_finder.h"

namespace headlens {

class HeadProbe {
 public:
  explicit HeadProbe(const TextHeads& text) : text_(text) {}

  /// Goes to a head; what is known of its layer stays known while the layer does.
  void Seek(Index layer, Index head) {
    if (layer != layer_) importance_.reset();
    ablation_.reset();
    layer_ = layer;
    head_ = head;
  }

  Index length() const { return text_.length; }

  HeadImportance Importance() {
    if (!text_.importance) return {};
    if (!importance_) importance_ = text_.importance(layer_);
    return (*importance_)[static_cast<std::size_t>(head_)];
  }

  const Ablation& WithoutHead() {
    if (!ablation_) ablation_ = text_.ablate ? text_.ablate(layer_, head_) : Ablation{};
    return *ablation_;
  }

 private:
  const TextHeads& text_;
  Index layer_ = -1, head_ = -1;
  std::optional<std::vector<HeadImportance>> importance_;
  std::optional<Ablation> ablation_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_METRICS_HEAD_PROBE_H_
