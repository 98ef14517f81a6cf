// SPDX-License-Identifier: Apache-2.0
#include "system/sha256.h"

#include <bit>
#include <cstdint>

namespace headlens {
namespace {

using Words = std::array<std::uint32_t, 8>;
constexpr std::size_t kBlock = 64;

constexpr Words kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

constexpr std::array<std::uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t Rotations(std::uint32_t x, int a, int b, int c) {
  return std::rotr(x, a) ^ std::rotr(x, b) ^ std::rotr(x, c);
}

/// The 64 words that the rounds make of a block.
std::array<std::uint32_t, 64> Schedule(std::string_view block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < kBlock; ++i) w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(block[i]);
  for (std::size_t t = 16; t < w.size(); ++t) {
    const std::uint32_t x = w[t - 15], y = w[t - 2];
    w[t] = w[t - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) + w[t - 7] +
           (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
  }
  return w;
}

void Add(Words& sum, std::string_view block) {
  const auto words = Schedule(block);
  auto [a, b, c, d, e, f, g, h] = sum;
  for (std::size_t t = 0; t < words.size(); ++t) {
    const std::uint32_t first = h + Rotations(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + kRounds[t] + words[t];
    const std::uint32_t second = Rotations(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const Words added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
}

/// Returns the blocks after the last whole one: the rest, a one, zeros, and the number of bits.
std::string Ending(std::string_view bytes) {
  std::string ending(bytes.substr(bytes.size() / kBlock * kBlock));
  ending += '\x80';
  while (ending.size() % kBlock != kBlock - 8) ending += '\0';
  const std::uint64_t bits = std::uint64_t{8} * bytes.size();
  for (int shift = 56; shift >= 0; shift -= 8) ending += static_cast<char>(bits >> shift & 0xFF);
  return ending;
}

}  // namespace

Sha256Bytes Sha256(std::string_view bytes) {
  Words sum = kStart;
  const auto add_blocks = [&sum](std::string_view text) {
    for (std::size_t at = 0; at + kBlock <= text.size(); at += kBlock) Add(sum, text.substr(at, kBlock));
  };
  add_blocks(bytes);
  add_blocks(Ending(bytes));
  Sha256Bytes hash{};
  for (std::size_t i = 0; i < hash.size(); ++i) hash[i] = static_cast<std::byte>(sum[i / 4] >> (24 - 8 * (i % 4)));
  return hash;
}

std::string Sha256Digits(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (const std::byte byte : Sha256(bytes)) {
    digits += kDigits[std::to_integer<int>(byte >> 4)];
    digits += kDigits[std::to_integer<int>(byte & std::byte{15})];
  }
  return digits;
}

}  // namespace headlens
