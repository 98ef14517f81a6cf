// SPDX-License-Identifier: Apache-2.0
#include "layers/block.h"

#include <algorithm>

#include "base/views.h"

namespace headlens {
namespace {

/// Adds one of a block's two or three steps to the stream: x + step(norm(x)), or norm(x + step(x)).
void AddStep(const Backend& backend, const BlockForm& form, const Norm& norm, DeviceView<float, 2> stream,
             const BlockStep& step) {
  DeviceTensor normal;
  DeviceView<const float, 2> x = stream;
  if (form.norm_first && norm) {
    normal = backend.Allocate(SizesOf(stream));
    Normalize(backend, form, norm, x, normal.view<2>());
    x = normal.view<2>();
  }
  const DeviceTensor change = step(x);
  backend.Add(Elements(stream), change.values());
  if (!form.norm_first) Normalize(backend, form, norm, stream, stream);
}

}  // namespace

void Normalize(const Backend& backend, const BlockForm& form, const Norm& norm, DeviceView<const float, 2> x,
               DeviceView<float, 2> y) {
  if (form.norm == NormKind::kRmsNorm) return backend.RmsNorm(x, norm.weight.values(), form.norm_eps, y);
  backend.LayerNorm(x, norm.weight.values(), norm.bias.values(), form.norm_eps, y);
}

void Activate(const Backend& backend, Activation activation, DeviceView<float, 1> x, DeviceView<const float, 1> up) {
  switch (activation) {
    case Activation::kRelu:
      return backend.Relu(x);
    case Activation::kGelu:
    case Activation::kGeluTanh:
      return backend.Gelu(x, activation == Activation::kGeluTanh);
    case Activation::kSilu:
      return backend.Silu(x);
    case Activation::kSwiGlu:
      backend.Silu(x);
      return backend.Multiply(x, up);
    case Activation::kGeGlu:
      backend.Gelu(x, /*tanh_approximation=*/true);
      return backend.Multiply(x, up);
  }
}

DeviceTensor Project(const Backend& backend, DeviceView<const float, 2> x, const LinearWeights& weights) {
  DeviceTensor y = backend.Allocate({x.shape[0], weights.out_features()});
  backend.Linear(x, weights, y.view<2>());
  return y;
}

void RunFeedForward(const Backend& backend, Activation activation, const FeedForwardWeights& weights,
                    DeviceView<const float, 2> x, DeviceView<float, 2> y) {
  const DeviceTensor inner = Project(backend, x, weights.gate ? *weights.gate : *weights.up);
  const DeviceTensor up = weights.gate ? Project(backend, x, *weights.up) : DeviceTensor();
  Activate(backend, activation, inner.values(), up.values());
  backend.Linear(inner.view<2>(), *weights.down, y);
}

void RunFeedForwardStep(const Backend& backend, const BlockForm& form, const Block& block, DeviceView<float, 2> stream,
                        DeviceView<float, 2> kept) {
  AddStep(backend, form, block.feed_forward_norm, stream, [&](DeviceView<const float, 2> x) {
    DeviceTensor change = backend.Allocate(SizesOf(x));
    RunFeedForward(backend, form.activation, block.feed_forward, x, change.view<2>());
    if (const Norm& norm = block.feed_forward_output_norm)
      Normalize(backend, form, norm, change.view<2>(), change.view<2>());
    const std::array<Index, 4> all = {1, 1, x.shape[0], x.shape[1]};
    if (kept) backend.Copy(DenseView(change.data(), all), DenseView(kept.data, all));
    return change;
  });
}

void RunBlock(const Backend& backend, const BlockForm& form, const Block& block, DeviceView<float, 2> stream,
              const BlockStep& attention, const BlockStep& cross_attention) {
  AddStep(backend, form, block.attention_norm, stream, attention);
  if (cross_attention) AddStep(backend, form, block.cross_attention_norm, stream, cross_attention);
  // Runs in strips of rows, since the inner width is the largest of all.
  const Index rows = stream.shape[0], strip = backend.strip_rows();
  for (Index row = 0; row < rows; row += strip) {
    RunFeedForwardStep(backend, form, block, Rows(stream, row, std::min(strip, rows - row)));
  }
}

}  // namespace headlens
