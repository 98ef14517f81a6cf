// SPDX-License-Identifier: Apache-2.0
#include "support.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "headlens/checkpoint.h"
#include "hwy/targets.h"
#include "nlohmann/json.hpp"
#if HEADLENS_OPENCL
#include "opencl/opencl.h"
#endif

namespace headlens::testing {

std::span<const Backend* const> TestBackends() {
#if HEADLENS_OPENCL
  static const std::unique_ptr<const Backend> kOpenCl = opencl::MakeBackend({});
  static const std::vector<const Backend*> kBackends = [] {
    std::vector<const Backend*> all(Backends().begin(), Backends().end());
    all.push_back(kOpenCl.get());
    return all;
  }();
  return kBackends;
#else
  return Backends();
#endif
}

namespace {

void ForTargets(const std::vector<std::int64_t>& targets, const std::function<void()>& test) {
  CHECK(!targets.empty());
  for (const std::int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    const std::string name = hwy::TargetName(target);
    CAPTURE(name);
    CHECK(SimdTarget() == name);
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace

void ForEachTarget(const std::function<void()>& test) { ForTargets(hwy::SupportedAndGeneratedTargets(), test); }

void ForEachBackend(const std::function<void(const Backend&)>& test) {
  test(ReferenceBackend());
  ForEachOtherBackend(test);
}

void ForEachOtherBackend(const std::function<void(const Backend&)>& test) {
  for (const Backend* backend : TestBackends())
    if (backend != &SimdBackend() && backend != &ReferenceBackend()) test(*backend);
  std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  if (targets.size() > 1)
    std::erase_if(targets, [](std::int64_t target) { return (target & (HWY_EMU128 | HWY_SCALAR)) != 0; });
  ForTargets(targets, [&] { test(SimdBackend()); });
}

std::vector<std::byte> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file, path);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* bytes = reinterpret_cast<const std::byte*>(chars.data());
  return {bytes, bytes + chars.size()};
}

std::vector<std::string> GoldenCases() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(HEADLENS_GOLDEN_DIR "/cases")) {
    if (entry.path().extension() == ".safetensors") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  REQUIRE(paths.size() > 100);
  return paths;
}

double MaxNorm(std::span<const float> values) {
  double norm = 0.0;
  for (const float value : values)
    if (std::isfinite(value)) norm = std::max(norm, std::abs(double{value}));
  return norm;
}

Dot DotOf(double start, const View<const float, 1>& x, const View<const float, 1>& y) {
  Dot dot{start, std::abs(start)};
  for (Index i = 0; i < x.shape[0]; ++i) {
    const double term = double{x.data[i * x.strides[0]]} * double{y.data[i * y.strides[0]]};
    dot.sum += term;
    dot.norm += std::abs(term);
  }
  return dot;
}

void CheckClose(const std::string& what, std::span<const float> got, std::span<const float> expected,
                double tolerance) {
  REQUIRE_MESSAGE(got.size() == expected.size(), what);
  double worst = 0.0;
  std::size_t at = 0, outside = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]));
    const double error = same ? 0.0 : std::abs(double{got[i]} - double{expected[i]});
    if (!(error <= tolerance)) ++outside;
    if (!(error <= worst)) {
      worst = error;
      at = i;
    }
  }
  CHECK_MESSAGE(outside == 0, what, ": ", outside, " of ", got.size(), " outside ", tolerance, "; worst at ", at, ": ",
                at < got.size() ? got[at] : 0.0f, " instead of ", at < got.size() ? expected[at] : 0.0f);
}

float Random::Normal() {
  // Box–Muller on the engine's bits, since the standard's own distributions differ between libraries.
  const double u = (static_cast<double>(engine_() >> 11) + 1.0) * 0x1p-53,
               v = static_cast<double>(engine_() >> 11) * 0x1p-53;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * 3.14159265358979323846 * v));
}

Index Random::Below(Index n) { return static_cast<Index>(engine_() % static_cast<std::uint64_t>(n)); }

bool Random::Chance(double p) { return static_cast<double>(engine_() >> 11) * 0x1p-53 < p; }

Tensor Random::NormalTensor(Shape shape, float scale) {
  Tensor tensor(std::move(shape));
  for (float& value : tensor.values()) value = scale * Normal();
  return tensor;
}

Tensor RandomWeights(Random& random, Shape shape, bool causal) {
  Tensor weights = random.NormalTensor(std::move(shape), 2.0f);
  const Index keys = weights.shape().back(), queries = weights.shape()[weights.shape().size() - 2];
  for (Index row = 0; row < weights.size() / keys; ++row) {
    float* values = weights.data() + row * keys;
    double sum = 0.0;
    for (Index j = 0; j < keys; ++j) {
      values[j] = causal && j > row % queries ? 0.0f : std::exp(values[j]);
      sum += double{values[j]};
    }
    for (Index j = 0; j < keys; ++j) values[j] = static_cast<float>(double{values[j]} / sum);
  }
  return weights;
}

std::string Refusal(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK_MESSAGE(error.code() == code, error.what());
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return "accepted";
}

void Refused(ErrorCode code, const std::string& part, const std::function<void()>& call) {
  const std::string message = Refusal(code, call);
  CHECK_MESSAGE(message.find(part) != std::string::npos, message, ", expected: ", part);
}

std::string ReadText(const std::string& path) {
  const std::vector<std::byte> bytes = ReadFile(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Model LoadFolder(const std::string& folder, const Backend& backend) {
  Checkpoint checkpoint(Index{1} << 30);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("model") && entry.path().extension() == ".safetensors")
      checkpoint.Append(checkpoint.Begin(std::nullopt), ReadFile(entry.path().string()));
  }
  return Model(ReadText(folder + "/config.json"), checkpoint.Parameters(), backend);
}

std::string GoldenFolder(const std::string& name) { return HEADLENS_GOLDEN_DIR "/models/" + name; }

Model BuiltInModel(const Backend& backend) { return LoadFolder(HEADLENS_GOLDEN_DIR "/../../web/models/tiny", backend); }

KnownHead BestHead(const std::string& name) {
  KnownHead best = {0, 0, -1};
  const auto card = nlohmann::json::parse(ReadText(HEADLENS_GOLDEN_DIR "/../../web/models/tiny/card.json"));
  for (const auto& probe : card["probes"]) {
    if (probe["name"] != name) continue;
    const auto scores = probe["heads"].get<std::vector<std::vector<double>>>();
    for (std::size_t layer = 0; layer < scores.size(); ++layer)
      for (std::size_t head = 0; head < scores[layer].size(); ++head)
        if (scores[layer][head] > best.score)
          best = {static_cast<Index>(layer), static_cast<Index>(head), scores[layer][head]};
  }
  return best;
}

}  // namespace headlens::testing
