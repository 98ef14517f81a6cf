// SPDX-License-Identifier: Apache-2.0
#include "headlens/transformer.h"

#include "base/checks.h"
#include "layers/blocks.h"

namespace headlens {
namespace {

const TransformerLayerConfig& Validated(const TransformerLayerConfig& config) {
  Validate(config.attention);
  if (config.dim_feedforward < 1 || config.dim_feedforward > kMaxWidth) {
    throw Error(ErrorCode::kShape, "dim_feedforward is " + std::to_string(config.dim_feedforward) +
                                       ", expected from 1 to " + std::to_string(kMaxWidth));
  }
  return config;
}

/// The two halves of a row.
std::pair<std::span<float>, std::span<float>> Halves(const Tensor& rows, Index row) {
  const auto width = static_cast<std::size_t>(rows.shape()[1]);
  const std::span<float> all(rows.view<2>().at(row), width);
  return {all.first(width / 2), all.last(width / 2)};
}

}  // namespace

FeedForward::FeedForward(const StateDict& state, Index width, Index hidden, Activation activation, bool bias,
                         const Backend& backend)
    : activation_(activation),
      backend_(backend),
      linear1_(LinearParameter(backend, state, "linear1", activation == Activation::kSwiGlu ? 2 * hidden : hidden,
                               width, bias)),
      linear2_(LinearParameter(backend, state, "linear2", width, hidden, bias)) {}

void FeedForward::Forward(View<const float, 2> x, View<float, 2> y) const {
  const Tensor hidden = backend_.Allocate({x.shape[0], linear1_->out_features()});
  backend_.Linear(x, *linear1_, hidden.view<2>());
  View<const float, 2> inner = hidden.view<2>();
  inner.shape[1] = linear2_->in_features();
  if (activation_ == Activation::kSwiGlu) {
    for (Index row = 0; row < inner.shape[0]; ++row) {
      const auto [gate, up] = Halves(hidden, row);
      Activate(backend_, activation_, gate, up);
    }
  } else {
    Activate(backend_, activation_, hidden.values(), {});
  }
  backend_.Linear(inner, *linear2_, y);
}

TransformerLayer::TransformerLayer(const TransformerLayerConfig& config, const StateDict& state, const Backend& backend)
    : config_(Validated(config)),
      backend_(backend),
      self_attention_(config.attention, WithPrefix(state, "self_attn."), backend),
      feed_forward_(state, config.attention.embed_dim, config.dim_feedforward, config.activation, config.attention.bias,
                    backend) {
  if (config.cross_attention) {
    cross_attention_ =
        std::make_unique<MultiheadAttention>(config.attention, WithPrefix(state, "multihead_attn."), backend);
  }
  const Index width = config.attention.embed_dim;
  for (int i = 1; i <= (config.cross_attention ? 3 : 2); ++i) {
    const std::string name = "norm" + std::to_string(i);
    norms_.push_back(
        {Parameter(state, name + ".weight", {width}), config.attention.bias && config.norm == NormKind::kLayerNorm
                                                          ? Parameter(state, name + ".bias", {width})
                                                          : Tensor()});
  }
}

Index TransformerLayer::ParameterCount(const TransformerLayerConfig& config) {
  Validated(config);
  const Index blocks = config.cross_attention ? 2 : 1, d = config.attention.embed_dim,
              bias = config.attention.bias ? 1 : 0,
              inner = config.dim_feedforward * (config.activation == Activation::kSwiGlu ? 2 : 1);
  const Index norm = d * (config.norm == NormKind::kLayerNorm ? 1 + bias : 1);
  return blocks * MultiheadAttention::ParameterCount(config.attention) + d * (inner + config.dim_feedforward) +
         bias * (inner + d) + (blocks + 1) * norm;
}

void TransformerLayer::Normalize(const Norm& norm, View<const float, 2> x, View<float, 2> y) const {
  headlens::Normalize(backend_, config_.norm, norm.weight, norm.bias, config_.layer_norm_eps, x, y);
}

void TransformerLayer::Forward(View<const float, 3> x, MultiheadInputs self, MultiheadInputs cross,
                               const MultiheadResults& self_results, const MultiheadResults& cross_results) const {
  const Index rows = x.shape[0] * x.shape[1], width = config_.attention.embed_dim;
  ExpectSizes("input of the layer", {x.shape[2]}, {width});
  ExpectSizes("output of the layer", SizesOf(self_results.output), SizesOf(x));

  // Batch-first copies: the residual stream, what goes into a block, and what comes out of it.
  const Tensor stream = backend_.Allocate({rows, width}), input = backend_.Allocate({rows, width}),
               change = backend_.Allocate({rows, width});
  const View<float, 3> stream3 = DenseView(stream.data(), x.shape), input3 = DenseView(input.data(), x.shape);
  backend_.Copy(BatchOfOne(x), BatchOfOne(stream3));

  // norm_first: x + block(norm(x)); otherwise norm(x + block(x)).
  const auto residual = [&](const Norm& norm, const auto& block) {
    if (config_.norm_first) {
      Normalize(norm, stream.view<2>(), input.view<2>());
    } else {
      backend_.Copy(BatchOfOne<const float>(stream3), BatchOfOne(input3));
    }
    block();
    backend_.Add(stream.values(), change.values());
    if (!config_.norm_first) Normalize(norm, stream.view<2>(), stream.view<2>());
  };
  const auto attend = [&](const MultiheadAttention& attention, MultiheadInputs& inputs, MultiheadResults into) {
    inputs.query = input3;
    into.output = DenseView(change.data(), x.shape);
    attention.Forward(inputs, into);
  };
  residual(norms_[0], [&] {
    self.key = self.value = input3;
    attend(self_attention_, self, self_results);
  });
  if (cross_attention_) residual(norms_[1], [&] { attend(*cross_attention_, cross, cross_results); });
  residual(norms_.back(), [&] { feed_forward_.Forward(input.view<2>(), change.view<2>()); });
  backend_.Copy(BatchOfOne<const float>(stream3), BatchOfOne(self_results.output));
}

}  // namespace headlens
