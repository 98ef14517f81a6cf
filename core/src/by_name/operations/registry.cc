// SPDX-License-Identifier: Apache-2.0
#include "by_name/operations/registry.h"

#include "attention/masks/mask_set.h"
#include "attention/normalizers/registry.h"
#include "attention/positions/bias_table.h"
#include "attention/settings.h"
#include "base/words.h"

namespace headlens {
namespace {

using Names = std::vector<std::string>;

Names Join(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

/// Adds the tensors that decide the weights of every attention to `names`.
Names WeightInputs(Names names) {
  const auto add = [&names](const auto& fields) {
    for (const AnyField& field : fields) {
      const bool renamed = field.name == "attn_mask" || field.name == "key_padding_mask";
      if (IsTensor(field.type) && !renamed) names.emplace_back(field.name);
    }
  };
  for (const MaskRule* rule : MaskRules()) add(rule->fields);
  for (const BiasRule* rule : BiasRules()) add(rule->fields);
  add(NormalizerFields());
  for (const NormalizerRule* rule : NormalizerRules()) add(rule->fields);
  return names;
}

/// Adds all tensors that every attention takes.
Names AttentionInputs(Names names) {
  return Join(WeightInputs(std::move(names)), {"head_mask", "past_key", "past_value"});
}

Names AttentionParameters(const std::string& prefix) {
  Names names;
  for (const char* name : {"in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias",
                           "bias_k", "bias_v", "out_proj.weight", "out_proj.bias"})
    names.push_back(prefix + name);
  return names;
}

/// The weight and the bias of each module.
Names ModuleParameters(const Names& modules) {
  Names names;
  for (const std::string& module : modules) {
    names.push_back(module + ".weight");
    names.push_back(module + ".bias");
  }
  return names;
}

}  // namespace

/// One line for each operation: its name, the tensors of a run, its parameters, and the function that makes it.
const std::vector<OperationKind>& OperationKinds() {
  static const Names kModules = {"linear1", "linear2", "norm1", "norm2"};
  static const Names kQkv = AttentionInputs({"query", "key", "value", "attn_mask", "key_padding_mask"});
  static const Names kEncoder = AttentionInputs({"src", "src_mask", "src_key_padding_mask"});
  static const Names kDecoder =
      AttentionInputs({"tgt", "memory", "tgt_mask", "tgt_key_padding_mask", "memory_mask", "memory_key_padding_mask"});
  static const Names kEncoderParameters = Join(AttentionParameters("self_attn."), ModuleParameters(kModules));
  static const Names kDecoderParameters =
      Join(Join(kEncoderParameters, AttentionParameters("multihead_attn.")), ModuleParameters({"norm3"}));
  static const std::vector<OperationKind> kOperations = {
      {"scaled_dot_product_attention", kQkv, {}, MakeScaledDotProduct},
      {"multihead_attention", kQkv, AttentionParameters(""), MakeMultihead},
      {"transformer_encoder_layer", kEncoder, kEncoderParameters, MakeEncoderLayer},
      {"transformer_decoder_layer", kDecoder, kDecoderParameters, MakeDecoderLayer},
      {"embedding", {"ids"}, {"weight", "position_embeddings"}, MakeEmbedding},
  };
  return kOperations;
}

const std::vector<std::string>& MapInputs() {
  static const Names kNames = WeightInputs({"query", "key", "attn_mask", "key_padding_mask"});
  return kNames;
}

const OperationKind& FindOperation(std::string_view name) {
  for (const OperationKind& kind : OperationKinds())
    if (kind.name == name) return kind;
  throw OptionError("op", Quoted(name), {"one of: ", Joined(OperationKinds(), &OperationKind::name)});
}

}  // namespace headlens
