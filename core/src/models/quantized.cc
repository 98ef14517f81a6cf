// SPDX-License-Identifier: Apache-2.0
#include "models/quantized.h"

#include <span>

namespace headlens::models {
namespace {

/// A setting and the only value of it that is read, as JSON has it.
struct Supported {
  const char *key, *value;
  bool may_lack = true;
};

// Whatever says how the integers were found, such as observers, changes no number, and is not read.
constexpr Supported kSettings[] = {{"quant_method", R"("compressed-tensors")", false},
                                   {"format", R"("int-quantized")", false},
                                   {"quantization_status", R"("compressed")"},
                                   {"kv_cache_scheme", "null"},
                                   {"transform_config", "{}"}};
constexpr Supported kGroup[] = {
    {"format", R"("int-quantized")"}, {"input_activations", "null"}, {"output_activations", "null"}};
constexpr Supported kWeights[] = {{"num_bits", "8"},    {"type", R"("int")"}, {"symmetric", "true"},
                                  {"dynamic", "false"}, {"actorder", "null"}, {"strategy", R"("channel")", false}};
constexpr Supported kSparsity[] = {{"format", R"("dense")"}};

void Expect(const JsonField& object, std::span<const Supported> all) {
  for (const Supported& supported : all) {
    const JsonField field = object[supported.key];
    if (field.is_null() ? supported.may_lack : Shown(field.value()) == supported.value) continue;
    field.Refuse({supported.value, "; otherwise look for the model that this one was made of"});
  }
}

void CheckQuantization(const JsonField& setting) {
  Expect(setting, kSettings);
  const JsonField sparsity = setting["sparsity_config"], groups = setting["config_groups"];
  if (!sparsity.is_null()) Expect(sparsity, kSparsity);
  const auto* all = groups.value().get_ptr<const nlohmann::json::object_t*>();
  if (!all || all->empty()) groups.Fail("an object of groups");
  for (const auto& member : *all) {
    const JsonField group = groups.Named(member.first);
    Expect(group, kGroup);
    Expect(group["weights"], kWeights);
  }
}

}  // namespace

bool IsQuantized(const JsonField& config) {
  bool is_quantized = false;
  for (const char* key : {"quantization_config", "compression_config"}) {
    const JsonField setting = config[key];
    if (setting.is_null()) continue;
    CheckQuantization(setting);
    is_quantized = true;
  }
  return is_quantized;
}

}  // namespace headlens::models
