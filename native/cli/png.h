// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_CLI_PNG_H_
#define HEADLENS_NATIVE_CLI_PNG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headlens/tensor.h"

namespace headlens::cli {

struct Picture {
  Index width = 0, height = 0;
  Buffer<std::uint8_t> rgba;  ///< sRGB, row by row
};

/// Reads a PNG file of any kind. Throws InputError, naming the file `path`, with libpng's message, or for more than 64
/// million pixels.
Picture DecodePng(const std::string& path, std::span<const std::byte> file);

enum class PixelFormat { kRgb, kRgba };

/// Encodes `pixels`, row by row with 3 or 4 bytes each, as a PNG file in sRGB. Throws std::runtime_error with libpng's
/// message.
std::vector<std::byte> EncodePng(std::span<const std::uint8_t> pixels, Index width, Index height, PixelFormat format);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_PNG_H_
