// SPDX-License-Identifier: Apache-2.0
/// GPT-NeoX (Black et al. 2022), and so Pythia: rotary positions in a part of each head, and attention beside the
/// feed-forward network.
#include <cstring>

#include "models/family.h"

namespace headlens::models {
namespace {

Architecture ParseGptNeoXConfig(const JsonField& config) {
  Architecture a = ParseSizes(config);
  ModelInfo& info = a.info;
  info.vocab_size = Size(config, "vocab_size");
  a.intermediate_size = Size(config, "intermediate_size");
  a.block.norm_eps = static_cast<float>(config["layer_norm_eps"].Positive(1e-5));
  a.block.parallel = config["use_parallel_residual"].Flag(true);
  a.block.activation = ActivationOf(config["hidden_act"], "gelu");
  a.rope = ParseRope(config, RotatedDim(config, "rotary_pct", 0.25, info.head_dim));
  if (config["rope_parameters"].is_null() && config["rope_theta"].is_null())
    a.rope->theta = config["rotary_emb_base"].Positive(10000.0);
  info.max_positions = a.rope->max_positions;
  a.tied = config["tie_word_embeddings"].Flag(false);
  a.query_key_value_bias = a.output_bias = config["attention_bias"].Flag(true);
  return a;
}

/// Rows of a fused matrix and of its bias, which is empty when there is none: blocks of `size` rows, the first at
/// `first` and each `step` rows after the one before.
std::unique_ptr<LinearWeights> PackBlocks(const RawTensor& fused, const Tensor& bias, Index blocks, Index size,
                                          Index first, Index step, const Backend& backend) {
  const Index width = fused.shape[1];
  const auto row = static_cast<std::size_t>(width) * ByteSize(fused.dtype),
             block = static_cast<std::size_t>(size) * row;
  Buffer<std::byte> rows(static_cast<Index>(block) * blocks);
  std::vector<float> offsets;
  for (Index i = 0; i < blocks; ++i) {
    const Index begin = first + i * step;
    std::memcpy(rows.data() + static_cast<std::size_t>(i) * block, fused.data + static_cast<std::size_t>(begin) * row,
                block);
    if (bias.size() > 0) offsets.insert(offsets.end(), bias.data() + begin, bias.data() + begin + size);
  }
  return PackRows(backend, {fused.dtype, {blocks * size, width}, rows.data()}, /*transposed=*/false, 0, blocks * size,
                  offsets);
}

Layer LoadGptNeoXLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size;
  Layer layer;
  layer.attention_norm = LoadNorm(state, "input_layernorm", width, true);
  layer.feed_forward_norm = LoadNorm(state, "post_attention_layernorm", width, true);
  const std::string fused = "attention.query_key_value";
  const Tensor bias = a.query_key_value_bias ? Parameter(state, fused + ".bias", {3 * width}) : Tensor();
  const TakenTensor weight = TakeParameter(state, fused + ".weight", {3 * width, width});
  // Each head has its query's rows, then its key's, then its value's.
  const Index d = a.info.head_dim;
  const auto part = [&](Index number) { return PackBlocks(weight, bias, a.info.heads, d, number * d, 3 * d, backend); };
  layer.q = part(0);
  layer.k = part(1);
  layer.v = part(2);
  layer.o = LinearParameter(backend, state, "attention.dense", width, width, a.output_bias);
  layer.feed_forward.up = LinearParameter(backend, state, "mlp.dense_h_to_4h", inner, width, true);
  layer.feed_forward.down = LinearParameter(backend, state, "mlp.dense_4h_to_h", width, inner, true);
  return layer;
}

Parameters LoadGptNeoXModel(const Architecture& a, const StateDict& state, const Backend& backend) {
  const ModelInfo& info = a.info;
  const StateDict base = UnderPrefix(state, "gpt_neox.", "embed_in.weight");
  Parameters p;
  p.tokens = LinearParameter(backend, base, "embed_in", info.vocab_size, info.hidden_size, false);
  p.layers = LoadLayers(a, base, "layers.", backend, LoadGptNeoXLayer);
  p.final_norm = LoadNorm(base, "final_layer_norm", info.hidden_size, true);
  if (!a.tied && !state.Has("embed_out.weight")) return p;  // a base model
  p.head.emplace();
  if (!a.tied) p.head->decoder = LinearParameter(backend, state, "embed_out", info.vocab_size, info.hidden_size, false);
  return p;
}

}  // namespace

extern const Family kGptNeoX = {"gpt_neox", {"gpt_neox"}, ParseGptNeoXConfig, LoadGptNeoXModel};

}  // namespace headlens::models
