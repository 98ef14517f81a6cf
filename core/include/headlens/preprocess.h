// SPDX-License-Identifier: Apache-2.0
/// From a picture's bytes to what a model of images reads.
#ifndef HEADLENS_PREPROCESS_H_
#define HEADLENS_PREPROCESS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "headlens/tensor.h"

namespace headlens {

/// What a preprocessor_config.json says of images; the defaults are ViT's.
struct ImageProcessor {
  bool resize = true;             ///< to the model's size, else the picture must have it
  float rescale = 1.0f / 255.0f;  ///< of the bytes; 1 when the file says not to
  /// Of each channel; 0 and 1: as is.
  std::array<float, 3> mean = {0.5f, 0.5f, 0.5f}, deviation = {0.5f, 0.5f, 0.5f};
};

/// Reads a preprocessor_config.json. Throws kFormat, kValue, and kUnsupported for what is not offered: a crop, or
/// another way of resizing than bilinear.
ImageProcessor ReadImageProcessor(std::string_view json);

/// `rgba` [height, width, 4] as [3, size, size]: resized (bilinear with antialiasing, as triangles as wide as the
/// reduction, by Pillow's whole numbers), times `rescale`, minus the mean, by the deviation. Transparency is ignored,
/// as Hugging Face's converters do. Throws kShape when bytes and sizes do not fit.
Tensor Preprocess(std::span<const std::uint8_t> rgba, Index width, Index height, Index size,
                  const ImageProcessor& processor);

}  // namespace headlens

#endif  // HEADLENS_PREPROCESS_H_
