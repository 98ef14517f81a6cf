// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.h"

#include <cmath>
#include <map>
#include <random>
#include <string>

namespace headlens::bench {
namespace {

constexpr Workload kWorkloads[] = {{"bert", 128, 768, 12}, {"tutorial", 16, 64, 4}};

Tensor Normal(const Shape& shape, float deviation, std::mt19937& random) {
  Tensor tensor(shape);
  std::normal_distribution<float> normal(0.0f, deviation);
  for (float& value : tensor.values()) value = normal(random);
  return tensor;
}

}  // namespace

std::span<const Workload> Workloads() { return kWorkloads; }

LayerRun::LayerRun(const Workload& workload, const Backend& backend) : workload_(workload) {
  std::mt19937 random(1);
  const Index d = workload.width;
  const float deviation = 1.0f / std::sqrt(static_cast<float>(d));
  x_ = Normal({1, workload.tokens, d}, 1.0f, random);
  std::map<std::string, Tensor, std::less<>> parameters;
  parameters["in_proj_weight"] = Normal({3 * d, d}, deviation, random);
  parameters["in_proj_bias"] = Normal({3 * d}, 0.1f, random);
  parameters["out_proj.weight"] = Normal({d, d}, deviation, random);
  parameters["out_proj.bias"] = Normal({d}, 0.1f, random);
  const StateDict state = [&parameters](std::string_view name) -> std::optional<RawTensor> {
    const auto it = parameters.find(name);
    if (it == parameters.end()) return std::nullopt;
    return RawTensor{DType::kF32, it->second.shape(), reinterpret_cast<const std::byte*>(it->second.data())};
  };
  MultiheadConfig config;
  config.embed_dim = d;
  config.num_heads = workload.heads;
  layer_ = std::make_unique<MultiheadAttention>(config, state, backend);
}

void LayerRun::Forward(bool maps) const {
  const Tensor output(x_.shape());
  MultiheadInputs inputs;
  inputs.query = inputs.key = inputs.value = x_.view<3>();
  MultiheadResults results;
  results.output = output.view<3>();
  Tensor weights;
  if (maps) {
    weights = Tensor({1, workload_.heads, workload_.tokens, workload_.tokens});
    results.attention.weights = weights.view<4>();
  }
  layer_->Forward(inputs, results);
}

}  // namespace headlens::bench
