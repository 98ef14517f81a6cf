// SPDX-License-Identifier: Apache-2.0
/// Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011). Number i of a seed depends on (seed, i) alone.
#ifndef HEADLENS_SRC_ATTENTION_PHILOX_H_
#define HEADLENS_SRC_ATTENTION_PHILOX_H_

#include <array>
#include <cmath>
#include <cstdint>

namespace headlens {

inline constexpr int kPhiloxRounds = 10;
inline constexpr std::uint32_t kPhiloxFactors[] = {0xD2511F53, 0xCD9E8D57}, kPhiloxSteps[] = {0x9E3779B9, 0xBB67AE85};

inline std::array<std::uint32_t, 4> Philox(std::uint64_t seed, std::uint64_t counter) {
  std::array<std::uint32_t, 4> x = {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0,
                                    0};
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kPhiloxFactors[0]} * x[0], b = std::uint64_t{kPhiloxFactors[1]} * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += kPhiloxSteps[0];
    key1 += kPhiloxSteps[1];
  }
  return x;
}

/// Returns true when dropout with probability `p` keeps weight number `index`, counted row-major in [B, H, T, S].
inline bool DropoutKeeps(std::uint64_t seed, std::uint64_t index, double p) {
  const std::uint32_t bits = Philox(seed, index / 4)[index % 4];
  return static_cast<double>(bits) * 0x1p-32 >= p;
}

/// The largest 32-bit random number for which dropout with probability p > 0 drops a weight.
inline std::uint32_t HighestDropped(double p) { return static_cast<std::uint32_t>(std::ceil(p * 0x1p32) - 1.0); }

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_PHILOX_H_
