// SPDX-License-Identifier: Apache-2.0
/// The Vision Transformer (Dosovitskiy et al. 2021): CLS followed by the patches of an image. DeiT (Touvron et al.
/// 2021) has a distillation token after CLS, and classifies by the mean of what both say.
#include "models/families/vit_parts.h"

namespace headlens::models {
namespace {

Layer LoadVitLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size;
  const auto linear = [&](const char* name, Index out, Index in, bool bias) {
    return LinearParameter(backend, state, name, out, in, bias);
  };
  Layer layer;
  layer.attention_norm = LoadNorm(state, "layernorm_before", width, true);
  layer.feed_forward_norm = LoadNorm(state, "layernorm_after", width, true);
  layer.q = linear("attention.attention.query", width, width, a.query_key_value_bias);
  layer.k = linear("attention.attention.key", width, width, a.query_key_value_bias);
  layer.v = linear("attention.attention.value", width, width, a.query_key_value_bias);
  layer.o = linear("attention.output.dense", width, width, true);
  layer.feed_forward.up = linear("intermediate.dense", inner, width, true);
  layer.feed_forward.down = linear("output.dense", width, inner, true);
  return layer;
}

Head LoadVitClassifier(const Architecture& a, const StateDict& state, std::string_view name, const Backend& backend) {
  Head head;
  head.decoder = LinearParameter(backend, state, name, a.labels, a.info.hidden_size, true);
  head.first_row_only = true;
  return head;
}

Architecture ParseWithPrefix(const JsonField& config, std::vector<std::string> prefix) {
  Architecture a = ParseVit(config, std::move(prefix), 1e-12);
  a.intermediate_size = Size(config, "intermediate_size");
  return a;
}

Architecture ParseVitConfig(const JsonField& config) { return ParseWithPrefix(config, {"CLS"}); }
Architecture ParseDeit(const JsonField& config) { return ParseWithPrefix(config, {"CLS", "DIST"}); }

Parameters LoadVitModel(const Architecture& a, const StateDict& state, const Backend& backend) {
  const StateDict base =
      UnderPrefix(UnderPrefix(state, "vit.", "embeddings.cls_token"), "deit.", "embeddings.cls_token");
  Parameters p = LoadVitBase(a, base, {"distillation_token", true}, backend, LoadVitLayer);
  if (state.Has("classifier.weight")) p.head = LoadVitClassifier(a, state, "classifier", backend);
  if (!state.Has("distillation_classifier.weight")) return p;
  p.head = LoadVitClassifier(a, state, "cls_classifier", backend);
  p.head->second = LinearParameter(backend, state, "distillation_classifier", a.labels, a.info.hidden_size, true);
  p.head->factor = 0.5f;
  return p;
}

}  // namespace

extern const Family kVit = {"vit", {"vit"}, ParseVitConfig, LoadVitModel};
extern const Family kDeit = {"deit", {"deit"}, ParseDeit, LoadVitModel};

}  // namespace headlens::models
