// SPDX-License-Identifier: Apache-2.0
#include "models/quantized.h"

#include <cmath>
#include <cstdint>

namespace headlens::models {
namespace {

constexpr char kMethod[] = "compressed-tensors";

/// Observers and whatever else says how the integers were found changes no number, and is not read.
void CheckGroup(const JsonField& group) {
  group["format"].Require("int-quantized");
  for (const char* rounded : {"input_activations", "output_activations"}) group[rounded].Require(nullptr);
  const JsonField weights = group["weights"];
  weights["num_bits"].Require(8);
  weights["type"].Require("int");
  weights["symmetric"].Require(true);
  weights["dynamic"].Require(false);
  weights["actorder"].Require(nullptr);
  weights["strategy"].Choice<bool>({}, {{"channel", true}});
}

void CheckSetting(const JsonField& setting) {
  setting["format"].Choice<bool>({}, {{"int-quantized", true}});
  setting["quantization_status"].Require("compressed");
  setting["kv_cache_scheme"].Require(nullptr);
  setting["transform_config"].Require(nlohmann::json::object());
  const JsonField sparsity = setting["sparsity_config"];
  if (!sparsity.is_null()) sparsity["format"].Require("dense");
  const JsonField groups = setting["config_groups"];
  if (!groups.value().is_object() || groups.value().empty()) groups.Fail("an object of groups");
  for (const auto& group : groups.value().items()) CheckGroup(groups.Named(group.key()));
}

/// The scales of the rows of a matrix, as floats.
Tensor TakeScales(const StateDict& state, const std::string& name, Index rows) {
  const Phrase parameter = {"parameter ", name};
  const std::optional<TakenTensor> taken = state.Take(name);
  if (!taken)
    throw MissingError(ErrorCode::kShape, parameter, {"shape ", Shape{rows, 1}, ", the scales of an I8 matrix"});
  if (taken->shape != Shape{rows, 1} && taken->shape != Shape{rows}) {
    throw ShapeError(parameter, taken->shape, {Shape{rows, 1}, " or ", Shape{rows}});
  }
  if (taken->dtype != DType::kF16 && taken->dtype != DType::kBF16 && taken->dtype != DType::kF32) {
    throw DtypeError(parameter, ToString(taken->dtype), "F32, F16 or BF16");
  }
  Tensor scales = ToFloat(*taken);
  for (Index row = 0; row < rows; ++row) {
    const float scale = scales.data()[row];
    if (scale > 0.0f && std::isfinite(scale)) continue;
    throw ValueError({parameter, "[", row, "]"}, scale, "a finite number above 0");
  }
  return scales;
}

/// Takes the scales of a matrix of integers, and returns its floats.
TakenTensor Scaled(const StateDict& state, const std::string& name, const RawTensor& integers) {
  const Phrase parameter = {"parameter ", name};
  if (integers.shape.size() != 2) throw ShapeError(parameter, integers.shape, "2 dimensions of an I8 matrix");
  if (state.Has(name + "_zero_point")) {
    throw Wrong(ErrorCode::kUnsupported, parameter, "has", "a zero point", "integers that are symmetric");
  }
  const Index rows = integers.shape[0], columns = integers.shape[1];
  const Tensor scales = TakeScales(state, name + "_scale", rows);
  const auto matrix = std::make_shared<const Tensor>(integers.shape);
  const auto* from = reinterpret_cast<const std::int8_t*>(integers.data);
  float* to = matrix->data();
  for (Index row = 0; row < rows; ++row)
    for (Index i = 0; i < columns; ++i) *to++ = static_cast<float>(*from++) * scales.data()[row];
  return {RawOf(*matrix), matrix};
}

}  // namespace

bool IsQuantized(const JsonField& config) {
  bool is_quantized = false;
  for (const char* key : {"quantization_config", "compression_config"}) {
    const JsonField setting = config[key];
    if (setting.is_null()) continue;
    const JsonField method = setting.value().is_object() ? setting["quant_method"] : setting;
    if (method.value() != kMethod || !setting.value().is_object()) {
      (method.is_null() ? setting : method)
          .Refuse({Quoted(kMethod), " of 8-bit integers: otherwise look for the model that this one was made of"});
    }
    CheckSetting(setting);
    is_quantized = true;
  }
  return is_quantized;
}

StateDict WithScales(const StateDict& state, bool is_quantized) {
  const auto take = [&state, is_quantized](std::string_view given) -> std::optional<TakenTensor> {
    std::optional<TakenTensor> taken = state.Take(given);
    if (!taken) return taken;
    const std::string name(given);
    const bool is_integers = taken->dtype == DType::kI8;
    if (is_integers && !is_quantized) {
      throw DtypeError({"parameter ", name}, "I8", "floats without a quantization_config in config.json");
    }
    if (is_integers) return Scaled(state, name, *taken);
    if (is_quantized && state.Has(name + "_scale")) {
      throw DtypeError({"parameter ", name}, ToString(taken->dtype), {"I8 beside ", name, "_scale"});
    }
    return taken;
  };
  return StateDict(take, [&state](std::string_view name) { return state.Has(name); });
}

}  // namespace headlens::models
