// SPDX-License-Identifier: Apache-2.0
/// DINOv2 (Oquab et al. 2023): a ViT whose results of attention and of the feed-forward network are scaled, element by
/// element, before they are added. With registers (Darcet et al. 2024) there are more tokens after CLS, without
/// positions.
#include "models/families/vit_parts.h"

namespace headlens::models {
namespace {

Architecture ParseWithRegisters(const JsonField& config, Index registers, ImagePositionsKind positions) {
  std::vector<std::string> prefix = {"CLS"};
  for (Index i = 0; i < registers; ++i) prefix.push_back("REG" + std::to_string(i));
  Architecture a = ParseVit(config, std::move(prefix), 1e-6);
  a.positions = positions;
  const Index width = a.info.hidden_size;
  const JsonField ratio = config["mlp_ratio"];
  a.intermediate_size = static_cast<Index>(static_cast<double>(width) * ratio.Positive(4.0));
  if (a.intermediate_size < 1 || a.intermediate_size > kMaxWidth)
    ratio.Fail({"1 to ", kMaxWidth, " times hidden_size"});
  if (!config["use_swiglu_ffn"].Flag(false)) return a;
  a.block.activation = Activation::kSwiGlu;
  a.intermediate_size = (a.intermediate_size * 2 / 3 + 7) / 8 * 8;
  return a;
}

Architecture ParseDinov2(const JsonField& config) { return ParseWithRegisters(config, 0, ImagePositionsKind::kCubic); }

Architecture ParseDinov2Registers(const JsonField& config) {
  return ParseWithRegisters(config, Size(config, "num_register_tokens", 4), ImagePositionsKind::kSmooth);
}

Layer LoadDinov2Layer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size;
  const auto linear = [&](const char* name, Index out, Index in, bool bias) {
    return LinearParameter(backend, state, name, out, in, bias);
  };
  const auto scaled = [&](const char* name, const char* scale, Index in) {
    return ScaledLinear(state, name, Parameter(state, scale, {width}), in, backend);
  };
  Layer layer;
  layer.attention_norm = LoadNorm(state, "norm1", width, true);
  layer.feed_forward_norm = LoadNorm(state, "norm2", width, true);
  layer.q = linear("attention.attention.query", width, width, a.query_key_value_bias);
  layer.k = linear("attention.attention.key", width, width, a.query_key_value_bias);
  layer.v = linear("attention.attention.value", width, width, a.query_key_value_bias);
  layer.o = scaled("attention.output.dense", "layer_scale1.lambda1", width);
  if (!IsGated(a.block.activation)) {
    layer.feed_forward.up = linear("mlp.fc1", inner, width, true);
    layer.feed_forward.down = scaled("mlp.fc2", "layer_scale2.lambda1", inner);
    return layer;
  }
  const Tensor bias = Parameter(state, "mlp.weights_in.bias", {2 * inner});
  const TakenTensor gate_and_up = TakeParameter(state, "mlp.weights_in.weight", {2 * inner, width});
  layer.feed_forward.gate = PackRows(backend, gate_and_up, /*transposed=*/false, 0, inner,
                                     bias.values().subspan(0, static_cast<std::size_t>(inner)));
  layer.feed_forward.up = PackRows(backend, gate_and_up, /*transposed=*/false, inner, inner,
                                   bias.values().subspan(static_cast<std::size_t>(inner)));
  layer.feed_forward.down = scaled("mlp.weights_out", "layer_scale2.lambda1", inner);
  return layer;
}

/// The classifier reads CLS and the mean of the patches, one after the other.
Head LoadDinov2Classifier(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size;
  const Tensor bias = Parameter(state, "classifier.bias", {a.labels}),
               weight = Parameter(state, "classifier.weight", {a.labels, 2 * width});
  const auto columns = [&](Index first) {
    return View<float, 2>{weight.data() + first, {a.labels, width}, {2 * width, 1}};
  };
  Head head;
  head.decoder = backend.PackLinear(columns(0), bias.values());
  head.second = backend.PackLinear(columns(width), {});
  head.first_row_only = head.second_reads_mean = true;
  return head;
}

Parameters LoadDinov2Model(const Architecture& a, const StateDict& state, const Backend& backend) {
  const char* probe = "embeddings.cls_token";
  const StateDict base = UnderPrefix(UnderPrefix(state, "dinov2.", probe), "dinov2_with_registers.", probe);
  Parameters p = LoadVitBase(a, base, {"register_tokens", false}, backend, LoadDinov2Layer);
  if (state.Has("classifier.weight")) p.head = LoadDinov2Classifier(a, state, backend);
  return p;
}

}  // namespace

extern const Family kDinov2 = {"dinov2", {"dinov2"}, ParseDinov2, LoadDinov2Model};
extern const Family kDinov2Registers = {
    "dinov2_registers", {"dinov2_with_registers"}, ParseDinov2Registers, LoadDinov2Model};

}  // namespace headlens::models
