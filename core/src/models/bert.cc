// SPDX-License-Identifier: Apache-2.0
/// BERT (Devlin et al. 2019): every token looks at every other, and norms follow the residual sums.
#include "models/family.h"

namespace headlens::models {
namespace {

Architecture Parse(const JsonField& config) {
  config["position_embedding_type"].Require("absolute");
  config["is_decoder"].Require(false);
  config["add_cross_attention"].Require(false);
  Architecture a;
  ModelInfo& info = a.info;
  info.causal = false;
  info.vocab_size = Size(config["vocab_size"]);
  info.hidden_size = Size(config["hidden_size"]);
  info.layers = Size(config["num_hidden_layers"]);
  info.heads = info.kv_heads = Size(config["num_attention_heads"]);
  info.head_dim = HeadDim(config, "hidden_size", "num_attention_heads");
  info.max_positions = Size(config["max_position_embeddings"], 512);
  info.segments = Size(config["type_vocab_size"], 2);
  a.intermediate_size = Size(config["intermediate_size"]);
  a.block.norm_eps = static_cast<float>(config["layer_norm_eps"].Positive(1e-12));
  a.block.norm_first = false;
  a.block.activation = config["hidden_act"].Choice<Activation>(
      "gelu", {{"gelu", Activation::kGelu}, {"gelu_new", Activation::kGeluTanh}, {"relu", Activation::kRelu}});
  a.attention_scale = DefaultScale(info.head_dim);
  a.tied = config["tie_word_embeddings"].Flag(true);
  return a;
}

/// The oldest files call a norm's weight and bias gamma and beta.
Norm LoadBertNorm(const StateDict& state, const std::string& name, Index width) {
  if (!state.Has(name + ".gamma")) return LoadNorm(state, name, width, true);
  return {Parameter(state, name + ".gamma", {width}), Parameter(state, name + ".beta", {width})};
}

Layer LoadLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size;
  const auto linear = [&](const char* name, Index out, Index in) {
    return LinearParameter(backend, state, name, out, in, true);
  };
  Layer layer;
  layer.q = linear("attention.self.query", width, width);
  layer.k = linear("attention.self.key", width, width);
  layer.v = linear("attention.self.value", width, width);
  layer.o = linear("attention.output.dense", width, width);
  layer.attention_norm = LoadBertNorm(state, "attention.output.LayerNorm", width);
  layer.feed_forward.up = linear("intermediate.dense", inner, width);
  layer.feed_forward.down = linear("output.dense", width, inner);
  layer.feed_forward_norm = LoadBertNorm(state, "output.LayerNorm", width);
  return layer;
}

/// Loads the head of the masked language model. Other heads that such files may have give no logits of single tokens.
std::optional<Head> LoadHead(const Architecture& a, const StateDict& state, const Backend& backend) {
  const StateDict predictions = WithPrefix(state, "cls.predictions.");
  if (!predictions.Has("transform.dense.weight")) return std::nullopt;
  const Index width = a.info.hidden_size, vocab = a.info.vocab_size;
  Head head;
  head.transform = LinearParameter(backend, predictions, "transform.dense", width, width, true);
  head.transform_norm = LoadBertNorm(predictions, "transform.LayerNorm", width);
  head.bias = Parameter(predictions, predictions.Has("bias") ? "bias" : "decoder.bias", {vocab});
  if (!a.tied) head.decoder = LinearParameter(backend, predictions, "decoder", vocab, width, false);
  return head;
}

Parameters Load(const Architecture& a, const StateDict& state, const Backend& backend) {
  const ModelInfo& info = a.info;
  const StateDict base = UnderPrefix(state, "bert.", "embeddings.word_embeddings.weight");
  const StateDict embeddings = WithPrefix(base, "embeddings.");
  Parameters p;
  p.tokens = LinearParameter(backend, embeddings, "word_embeddings", info.vocab_size, info.hidden_size, false);
  p.positions = Parameter(embeddings, "position_embeddings.weight", {info.max_positions, info.hidden_size});
  p.segments = LinearParameter(backend, embeddings, "token_type_embeddings", info.segments, info.hidden_size, false);
  p.embedding_norm = LoadBertNorm(embeddings, "LayerNorm", info.hidden_size);
  for (Index i = 0; i < info.layers; ++i)
    p.layers.push_back(LoadLayer(a, WithPrefix(base, "encoder.layer." + std::to_string(i) + "."), backend));
  p.head = LoadHead(a, state, backend);
  return p;
}

}  // namespace

extern const Family kBert = {"bert", {"bert"}, Parse, Load};

}  // namespace headlens::models
