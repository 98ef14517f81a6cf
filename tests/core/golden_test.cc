// SPDX-License-Identifier: Apache-2.0
/// Every golden case, made by PyTorch (tests/golden/make.py), on every backend and SIMD target.
#include <algorithm>
#include <cstring>

#include "headlens/problem.h"
#include "headlens/safetensors.h"
#include "support.h"

namespace headlens::testing {
namespace {

constexpr std::string_view kExpected = "expected.";

/// The largest score of the case: errors of weights and of what they blend grow with it, since exp(x + δ) = exp(x)(1 +
/// δ).
double ScoreNorm(const std::vector<std::byte>& file) {
  Problem problem = ReadCase(file);
  const Results results = problem.Run(R"({"backend": "reference", "stages": ["scores", "biased_scores"]})");
  return std::max(MaxNorm(results.at("scores").values()), MaxNorm(results.at("biased_scores").values()));
}

void CheckCase(const std::vector<std::byte>& file, const char* run_options, double score_norm, double factor) {
  const Safetensors tensors(file);
  Problem problem = ReadCase(file);
  const Results results = problem.Run(run_options);
  int compared = 0;
  for (const auto& [name, raw] : tensors.tensors()) {
    if (!name.starts_with(kExpected)) continue;
    const std::string result = name.substr(kExpected.size());
    REQUIRE_MESSAGE(results.contains(result), result);
    const Tensor expected = ToFloat(raw);
    CHECK_MESSAGE(results.at(result).shape() == expected.shape(), result, " ", ToString(results.at(result).shape()));
    const double tolerance = factor * kEpsilon * (1.0 + score_norm) * std::max(MaxNorm(expected.values()), 1e-3);
    CheckClose(result, results.at(result).values(), expected.values(), tolerance);
    ++compared;
  }
  CHECK(compared > 0);
  // Nothing comes back that was not asked for.
  CHECK(static_cast<std::size_t>(compared) == results.size());
}

TEST_CASE("golden cases, reference backend") {
  for (const std::string& path : GoldenCases()) {
    CAPTURE(path);
    const std::vector<std::byte> file = ReadFile(path);
    CheckCase(file, R"({"backend": "reference"})", ScoreNorm(file), 4);
  }
}

TEST_CASE("golden cases, SIMD backend on every target") {
  ForEachTarget([] {
    for (const std::string& path : GoldenCases()) {
      CAPTURE(path);
      const std::vector<std::byte> file = ReadFile(path);
      CheckCase(file, "{}", ScoreNorm(file), 16);
    }
  });
}

}  // namespace
}  // namespace headlens::testing
