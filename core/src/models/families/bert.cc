// SPDX-License-Identifier: Apache-2.0
/// BERT (Devlin et al. 2019): every token looks at every other, and norms follow the residual sums. RoBERTa (Liu et al.
/// 2019) and XLM-RoBERTa (Conneau et al. 2020) count positions from the number of the padding token.
#include "models/family.h"

namespace headlens::models {
namespace {

Architecture ParseBertConfig(const JsonField& config) {
  config["position_embedding_type"].Require("absolute");
  config["is_decoder"].Require(false);
  config["add_cross_attention"].Require(false);
  Architecture a = ParseSizes(config);
  ModelInfo& info = a.info;
  info.causal = false;
  info.vocab_size = Size(config, "vocab_size");
  info.max_positions = Size(config, "max_position_embeddings", 512);
  info.segments = Size(config, "type_vocab_size", 2);
  a.intermediate_size = Size(config, "intermediate_size");
  a.block.norm_eps = static_cast<float>(config["layer_norm_eps"].Positive(1e-12));
  a.block.norm_first = false;
  a.block.activation = ActivationOf(config["hidden_act"], "gelu");
  a.tied = config["tie_word_embeddings"].Flag(true);
  return a;
}

Architecture ParseRoberta(const JsonField& config) {
  config["hidden_act"].Require("gelu");  // the masked language model's head has no other
  Architecture a = ParseBertConfig(config);
  const JsonField padding = config["pad_token_id"], positions = config["max_position_embeddings"];
  a.padding_id = padding.is_null() ? 1 : padding.Whole(0, a.info.vocab_size - 1);
  a.info.max_positions -= a.padding_id + 1;
  if (a.info.max_positions < 1) positions.Fail({"more than pad_token_id and one, ", a.padding_id + 1});
  return a;
}

Layer LoadBertLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size;
  const auto linear = [&](const char* name, Index out, Index in) {
    return LinearParameter(backend, state, name, out, in, true);
  };
  Layer layer;
  layer.q = linear("attention.self.query", width, width);
  layer.k = linear("attention.self.key", width, width);
  layer.v = linear("attention.self.value", width, width);
  layer.o = linear("attention.output.dense", width, width);
  layer.attention_norm = LoadNorm(state, "attention.output.LayerNorm", width, true);
  layer.feed_forward.up = linear("intermediate.dense", inner, width);
  layer.feed_forward.down = linear("output.dense", width, inner);
  layer.feed_forward_norm = LoadNorm(state, "output.LayerNorm", width, true);
  return layer;
}

Parameters LoadBase(const Architecture& a, const StateDict& base, const Backend& backend) {
  const ModelInfo& info = a.info;
  const StateDict embeddings = WithPrefix(base, "embeddings.");
  Parameters p;
  p.tokens = LinearParameter(backend, embeddings, "word_embeddings", info.vocab_size, info.hidden_size, false);
  p.positions =
      Parameter(embeddings, "position_embeddings.weight", {info.max_positions + a.padding_id + 1, info.hidden_size});
  p.segments = LinearParameter(backend, embeddings, "token_type_embeddings", info.segments, info.hidden_size, false);
  p.embedding_norm = LoadNorm(embeddings, "LayerNorm", info.hidden_size, true);
  p.layers = LoadLayers(a, base, "encoder.layer.", backend, LoadBertLayer);
  return p;
}

// Other heads than that of the masked language model give no logits of single tokens.

Parameters LoadBert(const Architecture& a, const StateDict& state, const Backend& backend) {
  Parameters p = LoadBase(a, UnderPrefix(state, "bert.", "embeddings.word_embeddings.weight"), backend);
  const StateDict head = WithPrefix(state, "cls.predictions.");
  if (!head.Has("transform.dense.weight")) return p;
  p.head = LoadMaskedHead(a, head, {"transform.dense", "transform.LayerNorm", "decoder", "bias"}, backend);
  return p;
}

Parameters LoadRoberta(const Architecture& a, const StateDict& state, const Backend& backend) {
  Parameters p = LoadBase(a, UnderPrefix(state, "roberta.", "embeddings.word_embeddings.weight"), backend);
  const StateDict head = WithPrefix(state, "lm_head.");
  if (head.Has("dense.weight")) p.head = LoadMaskedHead(a, head, {"dense", "layer_norm", "decoder", "bias"}, backend);
  return p;
}

}  // namespace

extern const Family kBert = {"bert", {"bert"}, ParseBertConfig, LoadBert};
extern const Family kRoberta = {"roberta", {"roberta", "xlm-roberta"}, ParseRoberta, LoadRoberta};

}  // namespace headlens::models
