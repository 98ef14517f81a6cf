// SPDX-License-Identifier: Apache-2.0
/// The layers that are measured, everywhere the same.
#ifndef HEADLENS_NATIVE_BENCH_WORKLOAD_H_
#define HEADLENS_NATIVE_BENCH_WORKLOAD_H_

#include <memory>
#include <span>
#include <string_view>

#include "headlens/multihead.h"

namespace headlens::bench {

/// Self-attention with input and output projections and biases, batch 1.
struct Workload {
  std::string_view name;
  Index tokens, width, heads;  // T, D, H

  /// 8·T·D² for the four projections, 4·H·T·T·d = 4·T²·D for the scores and the blend.
  double operations() const {
    const auto t = static_cast<double>(tokens), d = static_cast<double>(width);
    return 8.0 * t * d * d + 4.0 * t * t * d;
  }
};

/// "bert": T 128, D 768, H 12; "tutorial": T 16, D 64, H 4.
std::span<const Workload> Workloads();

/// A layer with random parameters, and an input for it.
class LayerRun {
 public:
  LayerRun(const Workload& workload, const Backend& backend);

  /// One call as a user makes it: results are allocated anew.
  void Forward(bool maps) const;

 private:
  Workload workload_;
  Tensor x_;
  std::unique_ptr<MultiheadAttention> layer_;
};

}  // namespace headlens::bench

#endif  // HEADLENS_NATIVE_BENCH_WORKLOAD_H_
