// SPDX-License-Identifier: Apache-2.0
#include "headlens/transformer.h"

#include "base/checks.h"
#include "base/views.h"
#include "layers/block.h"

namespace headlens {
namespace {

const TransformerLayerConfig& Validated(const TransformerLayerConfig& config) {
  Validate(config.attention);
  if (config.dim_feedforward < 1 || config.dim_feedforward > kMaxWidth) {
    throw Wrong(ErrorCode::kShape, "`dim_feedforward`", "is", config.dim_feedforward, {"1 to ", kMaxWidth});
  }
  return config;
}

/// Loads `linear1.*` and `linear2.*`.
FeedForwardWeights LoadFeedForward(const StateDict& state, Index width, Index hidden, Activation activation, bool bias,
                                   const Backend& backend) {
  const bool gated = IsGated(activation);
  const Index rows = gated ? 2 * hidden : hidden;
  const Tensor offset = bias ? Parameter(state, "linear1.bias", {rows}) : Tensor();
  const TakenTensor weight = TakeParameter(state, "linear1.weight", {rows, width});
  const auto part = [&](Index first) {
    const std::span<const float> all = offset.values();
    const auto at = static_cast<std::size_t>(first), count = static_cast<std::size_t>(hidden);
    return PackRows(backend, weight, /*transposed=*/false, first, hidden, bias ? all.subspan(at, count) : all);
  };
  FeedForwardWeights weights;
  if (gated) weights.gate = part(0);
  weights.up = part(rows - hidden);
  weights.down = LinearParameter(backend, state, "linear2", width, hidden, bias);
  return weights;
}

BlockForm FormOf(const TransformerLayerConfig& config) {
  return {config.norm, config.layer_norm_eps, config.norm_first, config.activation, /*parallel=*/false};
}

Block LoadBlock(const TransformerLayerConfig& config, const StateDict& state, const Backend& backend) {
  const MultiheadConfig& attention = config.attention;
  const Shape width = {attention.embed_dim};
  const auto norm = [&](const std::string& name) -> Norm {
    const bool bias = attention.bias && config.norm == NormKind::kLayerNorm;
    return {Parameter(state, name + ".weight", width), bias ? Parameter(state, name + ".bias", width) : Tensor()};
  };
  Block block;
  block.feed_forward =
      LoadFeedForward(state, attention.embed_dim, config.dim_feedforward, config.activation, attention.bias, backend);
  block.attention_norm = norm("norm1");
  if (config.cross_attention) block.cross_attention_norm = norm("norm2");
  block.feed_forward_norm = norm(config.cross_attention ? "norm3" : "norm2");
  return block;
}

}  // namespace

FeedForward::FeedForward(const StateDict& state, Index width, Index hidden, Activation activation, bool bias,
                         const Backend& backend)
    : activation_(activation),
      backend_(backend),
      weights_(LoadFeedForward(state, width, hidden, activation, bias, backend)) {}

void FeedForward::Forward(DeviceView<const float, 2> x, DeviceView<float, 2> y) const {
  RunFeedForward(backend_, activation_, weights_, x, y);
}

TransformerLayer::TransformerLayer(const TransformerLayerConfig& config, const StateDict& state, const Backend& backend)
    : config_(Validated(config)),
      backend_(backend),
      self_attention_(config.attention, WithPrefix(state, "self_attn."), backend),
      block_(std::make_shared<const Block>(LoadBlock(config, state, backend))) {
  if (!config.cross_attention) return;
  cross_attention_ =
      std::make_unique<MultiheadAttention>(config.attention, WithPrefix(state, "multihead_attn."), backend);
}

Index TransformerLayer::ParameterCount(const TransformerLayerConfig& config) {
  Validated(config);
  const Index blocks = config.cross_attention ? 2 : 1, d = config.attention.embed_dim,
              bias = config.attention.bias ? 1 : 0,
              inner = config.dim_feedforward * (IsGated(config.activation) ? 2 : 1);
  const Index norm = d * (config.norm == NormKind::kLayerNorm ? 1 + bias : 1);
  return blocks * MultiheadAttention::ParameterCount(config.attention) + d * (inner + config.dim_feedforward) +
         bias * (inner + d) + (blocks + 1) * norm;
}

void TransformerLayer::Forward(DeviceView<const float, 3> x, MultiheadInputs self, MultiheadInputs cross,
                               const MultiheadResults& self_results, const MultiheadResults& cross_results) const {
  const Index rows = x.shape[0] * x.shape[1], width = config_.attention.embed_dim;
  ExpectSizes("input of the layer", {x.shape[2]}, {width});
  ExpectSizes("output of the layer", SizesOf(self_results.output), SizesOf(x));

  // The residual stream, batch-first.
  const DeviceTensor stream = backend_.Allocate({rows, width});
  const DeviceView<float, 3> stream3 = DenseView(stream.data(), x.shape);
  backend_.Copy(BatchOfOne(x), BatchOfOne(stream3));

  const auto attend = [&](const MultiheadAttention& attention, const MultiheadInputs& inputs, MultiheadResults into) {
    DeviceTensor change = backend_.Allocate({rows, width});
    into.output = DenseView(change.data(), x.shape);
    attention.Forward(inputs, into);
    return change;
  };
  const BlockStep self_step = [&](DeviceView<const float, 2> from) {
    self.query = self.key = self.value = DenseView(from.data, x.shape);
    return attend(self_attention_, self, self_results);
  };
  const BlockStep cross_step = [&](DeviceView<const float, 2> from) {
    cross.query = DenseView(from.data, x.shape);
    return attend(*cross_attention_, cross, cross_results);
  };
  RunBlock(backend_, FormOf(config_), *block_, stream.view<2>(), self_step,
           cross_attention_ ? cross_step : BlockStep());
  backend_.Copy(BatchOfOne(stream3), BatchOfOne(self_results.output));
}

}  // namespace headlens
