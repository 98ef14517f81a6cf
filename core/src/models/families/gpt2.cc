// SPDX-License-Identifier: Apache-2.0
/// GPT-2 (Radford et al. 2019). Its linear weights are stored [in, out].
#include "models/families/gpt2_parts.h"

namespace headlens::models {
namespace {

Architecture ParseGpt2Config(const JsonField& config) {
  config["add_cross_attention"].Require(false);
  Architecture a = ParseSizes(config, {"n_embd", "n_layer", "n_head"});
  ModelInfo& info = a.info;
  info.vocab_size = Size(config, "vocab_size");
  info.max_positions = Size(config, "n_positions", 1024);
  a.intermediate_size = Size(config, "n_inner", 4 * info.hidden_size);
  a.block.norm_eps = static_cast<float>(config["layer_norm_epsilon"].Positive(1e-5));
  a.block.activation = ActivationOf(config["activation_function"], "gelu_new");
  if (!config["scale_attn_weights"].Flag(true)) a.attention_scale = 1.0f;
  a.scale_by_inverse_layer = config["scale_attn_by_inverse_layer_idx"].Flag(false);
  a.tied = config["tie_word_embeddings"].Flag(true);
  return a;
}

/// Loads, for each part, columns [part · out, (part + 1) · out) of "<name>.weight" [in, parts · out] and of its bias.
std::vector<std::unique_ptr<LinearWeights>> Columns(const Backend& backend, const StateDict& state,
                                                    const std::string& name, Index in, Index out, Index parts) {
  const Tensor bias = Parameter(state, name + ".bias", {parts * out});
  const TakenTensor weight = TakeParameter(state, name + ".weight", {in, parts * out});
  std::vector<std::unique_ptr<LinearWeights>> columns;
  for (Index part = 0; part < parts; ++part) {
    columns.push_back(
        PackRows(backend, weight, /*transposed=*/true, part * out, out,
                 bias.values().subspan(static_cast<std::size_t>(part * out), static_cast<std::size_t>(out))));
  }
  return columns;
}

Layer LoadGpt2Layer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size;
  Layer layer;
  layer.attention_norm = LoadNorm(state, "ln_1", width, true);
  layer.feed_forward_norm = LoadNorm(state, "ln_2", width, true);
  auto qkv = Columns(backend, state, "attn.c_attn", width, width, 3);
  layer.q = std::move(qkv[0]);
  layer.k = std::move(qkv[1]);
  layer.v = std::move(qkv[2]);
  layer.o = std::move(Columns(backend, state, "attn.c_proj", width, width, 1)[0]);
  layer.feed_forward.up = std::move(Columns(backend, state, "mlp.c_fc", width, inner, 1)[0]);
  layer.feed_forward.down = std::move(Columns(backend, state, "mlp.c_proj", inner, width, 1)[0]);
  return layer;
}

Parameters LoadGpt2Model(const Architecture& a, const StateDict& state, const Backend& backend) {
  return LoadGpt2(a, state, backend, LoadGpt2Layer);
}

}  // namespace

extern const Family kGpt2 = {"gpt2", {"gpt2"}, ParseGpt2Config, LoadGpt2Model};

}  // namespace headlens::models
