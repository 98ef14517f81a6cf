// SPDX-License-Identifier: Apache-2.0
#include "cli/png.h"

#include <png.h>

#include <stdexcept>
#include <string>

#include "cli/commands.h"

namespace headlens::cli {

Picture DecodePng(const std::string& path, std::span<const std::byte> file) {
  constexpr Index kMostPixels = Index{1} << 26;
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const auto fail = [&](const Fragment& verb, const Fragment& got, const Fragment& expected) {
    const Error error = Wrong(ErrorCode::kFormat, path, verb, got, expected);
    png_image_free(&image);
    throw InputError(error);
  };
  const auto unreadable = [&] { fail("is", {"unreadable (", std::string(image.message), ")"}, "a PNG picture"); };
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) unreadable();
  const Index width = image.width, height = image.height;
  const Phrase pixels = {width, " x ", height, " pixels"};
  if (width > kMostPixels / height) fail("has", pixels, {"at most ", kMostPixels});
  // The compression shrinks data at most 1032 times, and a pixel has at least one bit.
  if (width * height / 8 > 1032 * static_cast<Index>(file.size()))
    fail("has", {file.size(), " bytes"}, {"more for ", pixels});
  image.format = PNG_FORMAT_RGBA;
  Picture picture{width, height, Buffer<std::uint8_t>(static_cast<Index>(PNG_IMAGE_SIZE(image)))};
  if (png_image_finish_read(&image, nullptr, picture.rgba.data(), /*row_stride=*/0, nullptr) == 0) unreadable();
  return picture;
}

std::vector<std::byte> EncodePng(std::span<const std::uint8_t> pixels, Index width, Index height, PixelFormat format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format == PixelFormat::kRgb ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  std::vector<std::byte> file(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = file.size();
  if (png_image_write_to_memory(&image, file.data(), &size, /*convert_to_8_bit=*/0, pixels.data(), /*row_stride=*/0,
                                nullptr) == 0) {
    throw std::runtime_error(std::string("the picture cannot be encoded: ") + image.message);
  }
  file.resize(size);
  return file;
}

}  // namespace headlens::cli
