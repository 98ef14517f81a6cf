// SPDX-License-Identifier: Apache-2.0
/// Every golden case, which PyTorch computed (tests/golden/make.py), on every backend and SIMD target.
#include <algorithm>
#include <cmath>

#include "headlens/problem.h"
#include "headlens/safetensors.h"
#include "support.h"

namespace headlens::testing {
namespace {

constexpr std::string_view kExpected = "expected.";

/// Scores beyond this are exact in every case that has them, which make.py ensures, so they add no error.
constexpr double kExactBeyond = 1e6;

/// The largest score of the case that may be inexact. Errors of weights and outputs grow with it, since exp(x + δ) ≈
/// exp(x)(1 + δ).
double ScoreNorm(const std::vector<std::byte>& file) {
  if (Safetensors(file).metadata().at("op") == "embedding") return 0.0;
  Problem problem = ReadCase(file);
  const Results results = problem.Run(R"({"backend": "reference", "stages": ["scores", "biased_scores"]})");
  double norm = 0.0;
  for (const char* stage : {"scores", "biased_scores"})
    for (const float score : results.at(stage).values())
      if (std::abs(double{score}) <= kExactBeyond) norm = std::max(norm, std::abs(double{score}));
  return norm;
}

void CheckCase(const std::string& path, const char* run_options, double factor) {
  CAPTURE(path);
  const std::vector<std::byte> file = ReadFile(path);
  const double score_norm = ScoreNorm(file);
  const Safetensors tensors(file);
  Problem problem = ReadCase(file, TestBackends());
  const Results results = problem.Run(run_options);
  int compared = 0;
  for (const auto& [name, raw] : tensors.tensors()) {
    if (!name.starts_with(kExpected)) continue;
    const std::string result = name.substr(kExpected.size());
    CHECK_MESSAGE(results.contains(result), result);
    if (!results.contains(result)) continue;
    const Tensor expected = ToFloat(raw);
    CHECK_MESSAGE(results.at(result).shape() == expected.shape(), result, " ", ToString(results.at(result).shape()));
    const double tolerance = factor * kEpsilon * (1.0 + score_norm) * std::max(MaxNorm(expected.values()), 1e-3);
    CheckClose(result, results.at(result).values(), expected.values(), tolerance);
    ++compared;
  }
  CHECK(compared > 0);
  // The results are only those that were asked for.
  CHECK(static_cast<std::size_t>(compared) == results.size());
}

TEST_CASE("golden cases, reference backend") {
  for (const std::string& path : GoldenCases()) {
    CHECK_NOTHROW_MESSAGE(CheckCase(path, R"({"backend": "reference"})", 4), path);
  }
}

TEST_CASE("golden cases, SIMD backend on every target") {
  ForEachTarget([] {
    for (const std::string& path : GoldenCases()) {
      CHECK_NOTHROW_MESSAGE(CheckCase(path, "{}", 16), path);
    }
  });
}

#if HEADLENS_OPENCL
TEST_CASE("golden cases, OpenCL backend") {
  for (const std::string& path : GoldenCases()) {
    CHECK_NOTHROW_MESSAGE(CheckCase(path, R"({"backend": "opencl"})", 16), path);
  }
}
#endif

std::vector<std::byte> BytesOf(const Results& results) {
  std::vector<std::byte> all;
  for (const auto& [name, tensor] : results) {
    const auto bytes = std::as_bytes(tensor.values());
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

/// Changes the sign of all floats in the inputs.
void Negate(std::span<const Problem::Call::Input> inputs) {
  for (const auto& [name, dtype, bytes] : inputs) {
    if (dtype != DType::kF32 || (name != "query" && name != "key" && name != "src" && name != "tgt")) continue;
    for (std::size_t i = 3; i < bytes.size(); i += 4) bytes[i] ^= std::byte{0x80};
  }
}

/// Returns true when the call can be repeated.
bool CheckRepeats(const std::string& path) {
  CAPTURE(path);
  const std::vector<std::byte> file = ReadFile(path);
  Problem problem = ReadCase(file), other = ReadCase(file);
  Problem::Call call = problem.Prepare(), fresh = other.Prepare();
  if (!call.repeatable()) return false;
  const Results& results = call.Run();
  const std::vector<std::byte> first = BytesOf(results);
  std::vector<const float*> places;
  for (const auto& [name, tensor] : results) places.push_back(tensor.data());
  Negate(call.Inputs());
  Negate(fresh.Inputs());
  CHECK(BytesOf(call.Run()) == BytesOf(fresh.Run()));
  Negate(call.Inputs());
  CHECK(BytesOf(call.Run()) == first);
  auto place = places.begin();
  for (const auto& [name, tensor] : results) CHECK(tensor.data() == *place++);
  return true;
}

TEST_CASE("a call that is repeated gives what a new one does, at the same place") {
  int repeated = 0;
  for (const std::string& path : GoldenCases()) repeated += CheckRepeats(path);
  CHECK(repeated > 500);
}

}  // namespace
}  // namespace headlens::testing
