// SPDX-License-Identifier: Apache-2.0
/// What the tests share: every SIMD target in turn, comparisons with tolerances from norms, files, random numbers.
#ifndef HEADLENS_TESTS_CORE_SUPPORT_H_
#define HEADLENS_TESTS_CORE_SUPPORT_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "headlens/backend.h"
#include "headlens/model.h"
#include "headlens/tensor.h"

namespace headlens::testing {

inline constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

/// Every backend of this build: the library's, and the OpenCL one, which fails the test when there is no device.
std::span<const Backend* const> TestBackends();

/// Calls `test` once for each SIMD target that is compiled in and that this machine runs; doctest names it in failures.
void ForEachTarget(const std::function<void()>& test);

/// Calls `test` with each of TestBackends, the SIMD one on every target.
void ForEachBackend(const std::function<void(const Backend&)>& test);

std::vector<std::byte> ReadFile(const std::string& path);
/// Paths of the golden cases, sorted; fails the test when there are none.
std::vector<std::string> GoldenCases();

/// Largest finite magnitude.
double MaxNorm(std::span<const float> values);

/// Checks that each element is within `tolerance` of the expected one; NaN equals NaN, an infinity itself. Reports the
/// worst.
void CheckClose(const std::string& what, std::span<const float> got, std::span<const float> expected, double tolerance);

/// The message of the Error that `call` ends with, which must be of this code and one line; "accepted" without one.
std::string Refusal(ErrorCode code, const std::function<void()>& call);
/// Checks that `call` ends with an Error of this code, whose message holds `part`.
void Refused(ErrorCode code, const std::string& part, const std::function<void()>& call);

/// Normally distributed numbers, the same for the same seed everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  float Normal();
  Index Below(Index n);  // 0 … n − 1
  bool Chance(double p);
  Tensor NormalTensor(Shape shape, float scale = 1.0f);

 private:
  std::mt19937_64 engine_;
};

std::string ReadText(const std::string& path);
/// A Hugging Face folder: config.json and the files that model*.safetensors are.
Model LoadFolder(const std::string& folder, const Backend& backend = SimdBackend());
/// Of tests/golden/models.
std::string GoldenFolder(const std::string& name);
/// web/models/tiny.
Model BuiltInModel(const Backend& backend = SimdBackend());

/// Attention weights of any rank [.., T, S]: random rows that sum to 1, zeros above the diagonal when `causal`.
Tensor RandomWeights(Random& random, Shape shape, bool causal = false);

}  // namespace headlens::testing

#endif  // HEADLENS_TESTS_CORE_SUPPORT_H_
