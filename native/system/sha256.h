// SPDX-License-Identifier: Apache-2.0
/// SHA-256 (FIPS 180-4). Our own, since no library that the program is linked with has one.
#ifndef HEADLENS_NATIVE_SYSTEM_SHA256_H_
#define HEADLENS_NATIVE_SYSTEM_SHA256_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace headlens {

using Sha256Bytes = std::array<std::byte, 32>;

Sha256Bytes Sha256(std::string_view bytes);
/// The same as 64 hexadecimal digits.
std::string Sha256Digits(std::string_view bytes);

}  // namespace headlens

#endif  // HEADLENS_NATIVE_SYSTEM_SHA256_H_
