// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_CLI_BASE64_H_
#define HEADLENS_NATIVE_CLI_BASE64_H_

#include <cstddef>
#include <span>
#include <string>

namespace headlens::cli {

/// Appends the bytes in base 64, with padding (RFC 4648).
void AppendBase64(std::string& text, std::span<const std::byte> bytes);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_BASE64_H_
