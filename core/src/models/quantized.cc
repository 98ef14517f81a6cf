// SPDX-License-Identifier: Apache-2.0
#include "models/quantized.h"

namespace headlens::models {
namespace {

using nlohmann::json;

// The only values of these settings that are read; "" stands for every name. Whatever says how the integers were found,
// such as observers, changes no number.
constexpr char kSupported[] = R"({
"quant_method":"compressed-tensors","format":"int-quantized","kv_cache_scheme":null,"transform_config":{},
"sparsity_config":{"format":"dense"},"config_groups":{"":{"format":"int-quantized","input_activations":null,
"output_activations":null,"weights":{"num_bits":8,"type":"int","symmetric":true,"strategy":"channel"}}}})";

/// Throws unless `field` and all in it that `supported` names is as there, or null.
void Expect(const JsonField& field, const json& supported) {
  if (field.is_null()) return;
  if (!supported.is_object() || supported.empty()) {
    if (field.value() == supported) return;
    field.Refuse({Shown(supported), "; otherwise look for the model that this one was made of"});
  }
  for (const auto& [key, value] : supported.get_ref<const json::object_t&>()) {
    if (!key.empty()) {
      Expect(field[key], value);
      continue;
    }
    const auto* all = field.value().get_ptr<const json::object_t*>();
    if (!all) field.Fail("an object of groups");
    for (const auto& member : *all) Expect(field.Named(member.first), value);
  }
}

}  // namespace

bool IsQuantized(const JsonField& config) {
  bool is_quantized = false;
  for (const char* key : {"quantization_config", "compression_config"}) {
    const JsonField setting = config[key];
    if (setting.is_null()) continue;
    Expect(setting, ParseObject(kSupported, key));
    is_quantized = true;
  }
  return is_quantized;
}

}  // namespace headlens::models
