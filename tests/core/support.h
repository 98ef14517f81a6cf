// SPDX-License-Identifier: Apache-2.0
/// Helpers that the tests share: all SIMD targets in turn, comparisons with tolerances from norms, files, random
/// numbers.
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

/// Every backend of this build. Without a device for the OpenCL backend the test fails.
std::span<const Backend* const> TestBackends();

/// Calls `test` once for each SIMD target that is compiled in and that this machine has. Failures name the target.
void ForEachTarget(const std::function<void()>& test);

/// Calls `test` with each of TestBackends, and with every target of the SIMD backend but emulations of vectors, where
/// the machine has others. Emulations differ only in their kernels, whose own tests and the golden cases run on them,
/// too; here they would take longer than all other targets together.
void ForEachBackend(const std::function<void(const Backend&)>& test);
/// The same without the reference backend, for what is compared with it.
void ForEachOtherBackend(const std::function<void(const Backend&)>& test);

std::vector<std::byte> ReadFile(const std::string& path);
/// The sorted paths of the golden cases. The test fails when there are none.
std::vector<std::string> GoldenCases();

/// The largest finite absolute value.
double MaxNorm(std::span<const float> values);

/// A sum of products in fp64, and that of their absolute values.
struct Dot {
  double sum, norm;
};

/// Σ x[i] · y[i] from `start` on. Tests without optimisation call it for the loops that would take them longest.
Dot DotOf(double start, const View<const float, 1>& x, const View<const float, 1>& y);

/// Checks that each element is within `tolerance` of the expected one. NaN equals NaN, and an infinity equals itself.
/// Reports the worst element.
void CheckClose(const std::string& what, std::span<const float> got, std::span<const float> expected, double tolerance);

/// The message of the Error that `call` throws, which must have this code and be one line; "accepted" when it throws
/// none.
std::string Refusal(ErrorCode code, const std::function<void()>& call);
/// Checks that `call` throws an Error of this code whose message contains `part`.
void Refused(ErrorCode code, const std::string& part, const std::function<void()>& call);

/// Normally distributed numbers, which are the same everywhere for the same seed.
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
/// Loads a Hugging Face folder: config.json and the files model*.safetensors.
Model LoadFolder(const std::string& folder, const Backend& backend = SimdBackend());
/// The path of a folder in tests/golden/models.
std::string GoldenFolder(const std::string& name);
/// The model in web/models/tiny.
Model BuiltInModel(const Backend& backend = SimdBackend());

struct KnownHead {
  Index layer, head;
  double score;
};
/// The best head of a probe of the built-in model, as its card says.
KnownHead BestHead(const std::string& probe);

/// Attention weights of any rank [.., T, S]: random rows that sum to 1, with zeros above the diagonal when `causal`.
Tensor RandomWeights(Random& random, Shape shape, bool causal = false);

}  // namespace headlens::testing

#endif  // HEADLENS_TESTS_CORE_SUPPORT_H_
