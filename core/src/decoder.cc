// SPDX-License-Identifier: Apache-2.0
#include "headlens/decoder.h"

#include <algorithm>
#include <cmath>

#include "nlohmann/json.hpp"

namespace headlens {
namespace {

using nlohmann::json;

// No published model comes near; beyond, a size is a mistake or an attack.
constexpr Index kMaxSize = Index{1} << 24;

Index ReadSize(const json& config, const char* key, Index fallback) {
  const auto it = config.find(key);
  if (it == config.end() || it->is_null()) {
    if (fallback > 0) return fallback;
    throw Error(ErrorCode::kFormat, std::string("config.json has no ") + key);
  }
  if (!it->is_number_integer() || it->get<std::int64_t>() < 1 || it->get<std::int64_t>() > kMaxSize) {
    throw Error(ErrorCode::kValue, std::string("config.json: ") + key + " is " + it->dump() +
                                       ", expected a whole number from 1 to " + std::to_string(kMaxSize));
  }
  return it->get<Index>();
}

double ReadPositive(const json& config, const char* key, double fallback) {
  const auto it = config.find(key);
  if (it == config.end() || it->is_null()) return fallback;
  if (!it->is_number() || !(it->get<double>() > 0.0) || !std::isfinite(it->get<double>())) {
    throw Error(ErrorCode::kValue,
                std::string("config.json: ") + key + " is " + it->dump() + ", expected a positive number");
  }
  return it->get<double>();
}

void RequireLlama(const json& config) {
  const auto text = [&](const char* key, const char* expected) {
    const auto it = config.find(key);
    if (it == config.end() || *it == expected) return;
    throw Error(ErrorCode::kUnsupported,
                std::string("config.json: ") + key + " is " + it->dump() + ", supported is \"" + expected + "\"");
  };
  if (!config.contains("model_type")) throw Error(ErrorCode::kFormat, "config.json has no model_type");
  text("model_type", "llama");
  text("hidden_act", "silu");
  for (const char* key : {"rope_scaling", "attention_bias", "mlp_bias"}) {
    const auto it = config.find(key);
    if (it != config.end() && !it->is_null() && *it != false) {
      throw Error(ErrorCode::kUnsupported,
                  std::string("config.json: ") + key + " is " + it->dump() + ", supported is none");
    }
  }
}

/// Angles of the rotary positions (Su et al. 2021): position · theta^(−2i/d).
struct Angles {
  Tensor cosine, sine;  // [T, d/2]
};

Angles RotaryAngles(Index length, Index head_dim, double theta) {
  const Index half = head_dim / 2;
  Angles angles{Tensor({length, half}), Tensor({length, half})};
  for (Index i = 0; i < half; ++i) {
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    for (Index t = 0; t < length; ++t) {
      angles.cosine.view<2>()(t, i) = static_cast<float>(std::cos(static_cast<double>(t) * frequency));
      angles.sine.view<2>()(t, i) = static_cast<float>(std::sin(static_cast<double>(t) * frequency));
    }
  }
  return angles;
}

/// [T, H·d] rows as [T, H, d] and as [1, H, T, d].
View<float, 3> AsPositions(const Tensor& rows, Index heads) {
  return DenseView(rows.data(), std::array<Index, 3>{rows.shape()[0], heads, rows.shape()[1] / heads});
}
View<float, 4> AsHeads(const Tensor& rows, Index heads) {
  return SplitHeads(DenseView(rows.data(), std::array<Index, 3>{1, rows.shape()[0], rows.shape()[1]}), heads);
}

/// Where part `i` of `parts` equal parts of [0, n) begins.
Index PartBegin(Index i, Index n, Index parts) { return i * n / parts; }

}  // namespace

DecoderConfig ParseDecoderConfig(std::string_view text) {
  const json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (config.is_discarded() || !config.is_object()) throw Error(ErrorCode::kFormat, "config.json is not a JSON object");
  RequireLlama(config);
  DecoderConfig result;
  result.vocab_size = ReadSize(config, "vocab_size", 0);
  result.hidden_size = ReadSize(config, "hidden_size", 0);
  result.intermediate_size = ReadSize(config, "intermediate_size", 0);
  result.layers = ReadSize(config, "num_hidden_layers", 0);
  result.heads = ReadSize(config, "num_attention_heads", 0);
  result.kv_heads = ReadSize(config, "num_key_value_heads", result.heads);
  result.head_dim = ReadSize(config, "head_dim", std::max<Index>(result.hidden_size / result.heads, 1));
  result.max_positions = ReadSize(config, "max_position_embeddings", 2048);
  result.rms_norm_eps = static_cast<float>(ReadPositive(config, "rms_norm_eps", 1e-6));
  result.rope_theta = ReadPositive(config, "rope_theta", 10000.0);
  const auto tied = config.find("tie_word_embeddings");
  result.tie_word_embeddings = tied != config.end() && tied->is_boolean() && tied->get<bool>();
  if (result.heads % result.kv_heads != 0 || result.head_dim % 2 != 0) {
    throw Error(ErrorCode::kValue, "config.json: num_attention_heads " + std::to_string(result.heads) +
                                       " must be a multiple of num_key_value_heads " + std::to_string(result.kv_heads) +
                                       ", and head_dim " + std::to_string(result.head_dim) + " even");
  }
  return result;
}

Decoder::Decoder(const DecoderConfig& config, const StateDict& state, const Backend& backend)
    : config_(config), backend_(backend) {
  const Index width = config.hidden_size, q_width = config.heads * config.head_dim,
              kv_width = config.kv_heads * config.head_dim;
  embedding_ = Parameter(state, "model.embed_tokens.weight", {config.vocab_size, width});
  for (Index i = 0; i < config.layers; ++i) {
    const StateDict layer = WithPrefix(state, "model.layers." + std::to_string(i) + ".");
    const auto linear = [&](const char* name, Index out, Index in) {
      return LinearParameter(backend, layer, name, out, in, false);
    };
    layers_.push_back({Parameter(layer, "input_layernorm.weight", {width}),
                       Parameter(layer, "post_attention_layernorm.weight", {width}),
                       linear("self_attn.q_proj", q_width, width), linear("self_attn.k_proj", kv_width, width),
                       linear("self_attn.v_proj", kv_width, width), linear("self_attn.o_proj", width, q_width),
                       linear("mlp.gate_proj", config.intermediate_size, width),
                       linear("mlp.up_proj", config.intermediate_size, width),
                       linear("mlp.down_proj", width, config.intermediate_size)});
  }
  final_norm_ = Parameter(state, "model.norm.weight", {width});
  lm_head_ = config.tie_word_embeddings ? backend.PackLinear(embedding_.view<2>(), {})
                                        : LinearParameter(backend, state, "lm_head", config.vocab_size, width, false);
}

DecoderAttention Decoder::Attend(std::span<const std::int32_t> ids) const {
  const auto length = static_cast<Index>(ids.size());
  if (length < 1 || length > config_.max_positions) {
    throw Error(ErrorCode::kValue, "got " + std::to_string(length) + " tokens, expected 1 to " +
                                       std::to_string(config_.max_positions) +
                                       " (the model's max_position_embeddings)");
  }
  DecoderAttention attention(*this);
  attention.length_ = length;
  Tensor hidden({length, config_.hidden_size});
  for (Index t = 0; t < length; ++t) {
    const std::int32_t id = ids[static_cast<std::size_t>(t)];
    if (id < 0 || id >= config_.vocab_size) {
      throw Error(ErrorCode::kValue, "token " + std::to_string(t) + " is " + std::to_string(id) + ", expected 0 to " +
                                         std::to_string(config_.vocab_size - 1));
    }
    std::copy_n(embedding_.view<2>().at(id), config_.hidden_size, hidden.view<2>().at(t));
  }
  const Angles angles = RotaryAngles(length, config_.head_dim, config_.rope_theta);
  for (const Layer& layer : layers_) {
    attention.layers_.emplace_back();
    RunLayer(layer, angles.cosine, angles.sine, attention.layers_.back(), hidden);
  }
  attention.hidden_ = std::move(hidden);
  return attention;
}

void Decoder::RunLayer(const Layer& layer, const Tensor& cosine, const Tensor& sine, DecoderAttention::Layer& kept,
                       Tensor& hidden) const {
  const Index length = hidden.shape()[0];
  const Tensor normal({length, config_.hidden_size}), change({length, config_.hidden_size});
  const auto project = [&](const Tensor& x, const LinearWeights& weights) {
    Tensor y({length, weights.out_features()});
    backend_.Linear(x.view<2>(), weights, y.view<2>());
    return y;
  };

  backend_.RmsNorm(hidden.view<2>(), layer.input_norm.values(), config_.rms_norm_eps, normal.view<2>());
  kept.q = project(normal, *layer.q);
  kept.k = project(normal, *layer.k);
  const Tensor v = project(normal, *layer.v);
  backend_.Rotary(AsPositions(kept.q, config_.heads), cosine.view<2>(), sine.view<2>(), RotaryPairs::kHalf);
  backend_.Rotary(AsPositions(kept.k, config_.kv_heads), cosine.view<2>(), sine.view<2>(), RotaryPairs::kHalf);

  const Tensor heads({length, config_.heads * config_.head_dim});
  AttentionProblem problem;
  problem.q = AsHeads(kept.q, config_.heads);
  problem.k = AsHeads(kept.k, config_.kv_heads);
  problem.v = AsHeads(v, config_.kv_heads);
  problem.scale = DefaultScale(config_.head_dim);
  problem.mask.causal = true;
  AttentionResults results;
  results.output = AsHeads(heads, config_.heads);
  backend_.Attention(problem, results);
  backend_.Linear(heads.view<2>(), *layer.o, change.view<2>());
  backend_.Add(hidden.values(), change.values());

  backend_.RmsNorm(hidden.view<2>(), layer.post_attention_norm.values(), config_.rms_norm_eps, normal.view<2>());
  const Tensor gate = project(normal, *layer.gate), up = project(normal, *layer.up);
  backend_.SwiGlu(gate.values(), up.values());
  backend_.Linear(gate.view<2>(), *layer.down, change.view<2>());
  backend_.Add(hidden.values(), change.values());
}

void DecoderAttention::Map(Index layer, Index head, Index row_begin, Index row_end, View<float, 2> weights) const {
  const DecoderConfig& config = decoder_->config_;
  if (layer < 0 || layer >= config.layers || head < 0 || head >= config.heads) {
    throw Error(ErrorCode::kValue, "layer " + std::to_string(layer) + ", head " + std::to_string(head) +
                                       " is not there: the model has " + std::to_string(config.layers) + " layers of " +
                                       std::to_string(config.heads) + " heads");
  }
  if (row_begin < 0 || row_end > length_ || row_begin > row_end) {
    throw Error(ErrorCode::kValue, "rows " + std::to_string(row_begin) + " to " + std::to_string(row_end) +
                                       " are not there: the map has " + std::to_string(length_) + " rows");
  }
  const Index rows = row_end - row_begin;
  const Layer& kept = layers_[static_cast<std::size_t>(layer)];
  const View<float, 4> q = AsHeads(kept.q, config.heads), k = AsHeads(kept.k, config.kv_heads);
  const Index group = head / (config.heads / config.kv_heads);
  AttentionProblem problem;
  problem.q = {q.at(0, head, row_begin), {1, 1, rows, config.head_dim}, q.strides};
  problem.k = {k.at(0, group), {1, 1, length_, config.head_dim}, k.strides};
  problem.scale = DefaultScale(config.head_dim);
  problem.mask.causal = true;
  problem.query_offset = row_begin;
  AttentionResults results;
  results.weights = {
      weights.data, {1, 1, weights.shape[0], weights.shape[1]}, {0, 0, weights.strides[0], weights.strides[1]}};
  decoder_->backend_.Attention(problem, results);
}

void DecoderAttention::PooledMap(Index layer, Index head, Index row_begin, Index row_end, View<float, 2> pooled) const {
  const Index rows = row_end - row_begin;
  if (pooled.shape[0] < 1 || pooled.shape[1] < 1 || pooled.shape[0] > rows || pooled.shape[1] > length_) {
    throw Error(ErrorCode::kValue, "cannot pool " + ToString({rows, length_}) + " weights to " +
                                       ToString({pooled.shape[0], pooled.shape[1]}));
  }
  for (Index i = 0; i < pooled.shape[0]; ++i) {
    const Index first = row_begin + PartBegin(i, rows, pooled.shape[0]),
                last = row_begin + PartBegin(i + 1, rows, pooled.shape[0]);
    const Tensor strip({last - first, length_});
    Map(layer, head, first, last, strip.view<2>());
    for (Index j = 0; j < pooled.shape[1]; ++j) {
      const Index left = PartBegin(j, length_, pooled.shape[1]), right = PartBegin(j + 1, length_, pooled.shape[1]);
      double sum = 0.0;
      for (Index t = 0; t < last - first; ++t)
        for (Index s = left; s < right; ++s) sum += double{strip.view<2>()(t, s)};
      pooled(i, j) = static_cast<float>(sum / static_cast<double>((last - first) * (right - left)));
    }
  }
}

Tensor DecoderAttention::Logits() const {
  const Decoder& decoder = *decoder_;
  const Tensor normal(hidden_.shape());
  decoder.backend_.RmsNorm(hidden_.view<2>(), decoder.final_norm_.values(), decoder.config_.rms_norm_eps,
                           normal.view<2>());
  Tensor logits({length_, decoder.config_.vocab_size});
  decoder.backend_.Linear(normal.view<2>(), *decoder.lm_head_, logits.view<2>());
  return logits;
}

}  // namespace headlens
