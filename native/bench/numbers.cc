// SPDX-License-Identifier: Apache-2.0
#include "bench/numbers.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <thread>
#include <vector>

namespace headlens::bench {
namespace {

std::uint32_t Mix(std::uint32_t seed, std::uint32_t i) {
  const std::uint32_t a = seed + (i + 1) * 0x6d2b79f5u;
  std::uint32_t t = (a ^ (a >> 15)) * (1u | a);
  t = (t + (t ^ (t >> 7)) * (61u | t)) ^ t;
  return t ^ (t >> 14);
}

constexpr double kRange = 4294967296.0;  // the range of Mix

/// Fills a part of the numbers, whose first one has the number `i` in the whole.
void FillPart(std::span<float> values, std::uint32_t i, std::uint32_t seed, double deviation) {
  for (float& value : values) {
    const double u = (Mix(seed, 2 * i) + 1.0) / kRange, v = Mix(seed, 2 * i + 1) / kRange;
    value = static_cast<float>(deviation * std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v));
    ++i;
  }
}

}  // namespace

void FillNormal(std::span<float> values, std::uint32_t seed, double deviation) {
  // The large workloads have billions of numbers, for which a GPU would wait minutes. Each depends on its place only.
  constexpr std::size_t kPart = std::size_t{1} << 22;
  const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t part = std::max(kPart, (values.size() + threads - 1) / threads);
  std::vector<std::jthread> others;
  std::size_t begin = 0;
  for (; begin + part < values.size(); begin += part)
    others.emplace_back(FillPart, values.subspan(begin, part), static_cast<std::uint32_t>(begin), seed, deviation);
  FillPart(values.subspan(begin), static_cast<std::uint32_t>(begin), seed, deviation);
}

void FillUniform(std::span<float> values, std::uint32_t seed, float bound) {
  std::uint32_t i = 0;
  // The upper 24 bits fit a float exactly.
  for (float& value : values) value = (static_cast<float>(Mix(seed, i++) >> 8) * 0x1p-23f - 1.0f) * bound;
}

std::uint32_t SeedOf(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

}  // namespace headlens::bench
