// SPDX-License-Identifier: Apache-2.0
/// DistilBERT (Sanh et al. 2019): a BERT with half of the layers and without segments.
#include "models/family.h"

namespace headlens::models {
namespace {

Architecture ParseDistilBertConfig(const JsonField& config) {
  Architecture a = ParseSizes(config, {"dim", "n_layers", "n_heads"});
  ModelInfo& info = a.info;
  info.causal = false;
  info.vocab_size = Size(config, "vocab_size");
  info.max_positions = Size(config, "max_position_embeddings", 512);
  a.intermediate_size = Size(config, "hidden_dim");
  a.block.norm_eps = 1e-12f;
  a.block.norm_first = false;
  a.block.activation = ActivationOf(config["activation"], "gelu");
  a.tied = config["tie_word_embeddings"].Flag(true);
  return a;
}

Layer LoadDistilBertLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size;
  const auto linear = [&](const char* name, Index out, Index in) {
    return LinearParameter(backend, state, name, out, in, true);
  };
  Layer layer;
  layer.q = linear("attention.q_lin", width, width);
  layer.k = linear("attention.k_lin", width, width);
  layer.v = linear("attention.v_lin", width, width);
  layer.o = linear("attention.out_lin", width, width);
  layer.attention_norm = LoadNorm(state, "sa_layer_norm", width, true);
  layer.feed_forward.up = linear("ffn.lin1", inner, width);
  layer.feed_forward.down = linear("ffn.lin2", width, inner);
  layer.feed_forward_norm = LoadNorm(state, "output_layer_norm", width, true);
  return layer;
}

Parameters LoadDistilBertModel(const Architecture& a, const StateDict& state, const Backend& backend) {
  const ModelInfo& info = a.info;
  const StateDict base = UnderPrefix(state, "distilbert.", "embeddings.word_embeddings.weight");
  const StateDict embeddings = WithPrefix(base, "embeddings.");
  Parameters p;
  p.tokens = LinearParameter(backend, embeddings, "word_embeddings", info.vocab_size, info.hidden_size, false);
  p.positions = Parameter(embeddings, "position_embeddings.weight", {info.max_positions, info.hidden_size});
  p.embedding_norm = LoadNorm(embeddings, "LayerNorm", info.hidden_size, true);
  p.layers = LoadLayers(a, base, "transformer.layer.", backend, LoadDistilBertLayer);
  if (!state.Has("vocab_transform.weight")) return p;
  p.head = LoadMaskedHead(a, state, {"vocab_transform", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias"},
                          backend);
  return p;
}

}  // namespace

extern const Family kDistilBert = {"distilbert", {"distilbert"}, ParseDistilBertConfig, LoadDistilBertModel};

}  // namespace headlens::models
