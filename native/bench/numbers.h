// SPDX-License-Identifier: Apache-2.0
/// Random numbers that are the same in every program, because each depends only on a seed and its index.
/// tests/bench/numbers.mjs has the same functions.
#ifndef HEADLENS_NATIVE_BENCH_NUMBERS_H_
#define HEADLENS_NATIVE_BENCH_NUMBERS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace headlens::bench {

/// Fills with numbers from a normal distribution around 0 (Box & Muller 1958).
void FillNormal(std::span<float> values, std::uint32_t seed, double deviation);

/// Fills with numbers from a uniform distribution over [−bound, bound).
void FillUniform(std::span<float> values, std::uint32_t seed, float bound);

/// Makes a seed from a name (FNV-1a).
std::uint32_t SeedOf(std::string_view name);

}  // namespace headlens::bench

#endif  // HEADLENS_NATIVE_BENCH_NUMBERS_H_
