// SPDX-License-Identifier: Apache-2.0
// The C++ examples of the READMEs, which use public headers only. Exits with 0 when their numbers are right.
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "headlens/attention.h"
#include "headlens/backend.h"
#include "headlens/cache.h"
#include "headlens/multihead.h"
#include "headlens/version.h"

namespace {

bool IsNear(float got, float expected) { return std::abs(got - expected) < 1e-6f; }

/// One head and two tokens of width two: q = k = v are the unit vectors, so the weights of each row are softmax(scale,
/// 0).
bool WeightsOfOwnArrays() {
  const std::array<float, 4> x = {1, 0, 0, 1};  // two tokens of two numbers
  std::array<float, 4> weights{};
  const auto tokens = headlens::DenseView<const float, 4>(x.data(), {1, 1, 2, 2});
  headlens::AttentionProblem problem;
  problem.q = tokens;
  problem.k = problem.v = tokens;
  problem.scale = headlens::DefaultScale(2);
  headlens::AttentionResults results;  // shapes are [batch, heads, queries, keys]
  results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 2, 2});
  headlens::SimdBackend().Attention(problem, results);  // weights: 0.67, 0.33, 0.33, 0.67

  const float own = 1 / (1 + std::exp(-1 / std::sqrt(2.0f)));
  std::printf("headlens %s on %s: %g, expected %g\n", headlens::Version(), headlens::SimdTarget().data(), weights[0],
              own);
  return IsNear(weights[0], own) && IsNear(weights[1], 1 - own) && IsNear(weights[2], 1 - own) &&
         IsNear(weights[3], own);
}

/// A layer whose projections copy. All tokens are equally similar, so its output is their mean.
bool LayerOfAMap() {
  using headlens::Tensor;
  headlens::TensorMap parameters;
  parameters["in_proj_weight"] = Tensor({6, 2}, std::array<float, 12>{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1});
  parameters["in_proj_bias"] = Tensor({6}, std::array<float, 6>{});
  parameters["out_proj.weight"] = Tensor({2, 2}, std::array<float, 4>{1, 0, 0, 1});
  parameters["out_proj.bias"] = Tensor({2}, std::array<float, 2>{});
  headlens::MultiheadConfig config;
  config.embed_dim = 2;
  config.num_heads = 1;
  const headlens::MultiheadAttention layer(config, parameters, headlens::SimdBackend());

  const Tensor x({1, 2, 2}, std::array<float, 4>{1, 2, 3, 6}), output({1, 2, 2});
  headlens::MultiheadInputs inputs;
  inputs.query = inputs.key = inputs.value = x.view<3>();
  headlens::MultiheadResults results;
  results.output = output.view<3>();
  layer.Forward(inputs, results);
  return IsNear(output.data()[0], 2) && IsNear(output.data()[1], 4) && IsNear(output.data()[2], 2);
}

/// Three tokens one by one. The keys are zeros, so each output is the mean of the values so far.
bool StepByStep() {
  const std::array<float, 3> values = {3, 5, 10}, expected = {3, 4, 6};
  headlens::KvCache cache;
  bool right = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float q = 1, k = 0;
    float output = 0;
    const auto one = [](const float* x) { return headlens::DenseView<const float, 4>(x, {1, 1, 1, 1}); };
    cache.Append(one(&k), one(&values[i]));
    headlens::AttentionProblem problem;
    problem.q = one(&q);
    problem.mask.causal = true;
    cache.Place(problem);
    headlens::AttentionResults results;
    results.output = headlens::DenseView<float, 4>(&output, {1, 1, 1, 1});
    headlens::SimdBackend().Attention(problem, results);
    right = right && IsNear(output, expected[i]);
  }
  return right;
}

}  // namespace

int main() { return WeightsOfOwnArrays() && LayerOfAMap() && StepByStep() ? 0 : 1; }
