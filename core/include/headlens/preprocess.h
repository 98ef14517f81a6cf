// SPDX-License-Identifier: Apache-2.0
/// Turns the bytes of a picture into the input of an image model.
#ifndef HEADLENS_PREPROCESS_H_
#define HEADLENS_PREPROCESS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "headlens/tensor.h"

namespace headlens {

/// The settings of a preprocessor_config.json. The defaults are ViT's.
struct ImageProcessor {
  bool resize = true;             ///< resize to the model's size; otherwise the picture must have it
  float rescale = 1.0f / 255.0f;  ///< factor on the bytes; 1 when the file turns it off
  /// Of each channel. 0 and 1 leave the numbers as they are.
  std::array<float, 3> mean = {0.5f, 0.5f, 0.5f}, deviation = {0.5f, 0.5f, 0.5f};
};

/// Reads a preprocessor_config.json. Throws kFormat or kValue for a bad file, and kUnsupported for a crop or for
/// resizing other than bilinear.
ImageProcessor ReadImageProcessor(std::string_view json);

/// Turns `rgba` [height, width, 4] into [3, size, size]: resizes it (bilinear with antialiasing, in integer arithmetic
/// as Pillow does), multiplies by `rescale`, subtracts the mean and divides by the deviation. Transparency is ignored,
/// as in Hugging Face's image processors. Throws kShape when the number of bytes does not fit the sizes.
Tensor Preprocess(std::span<const std::uint8_t> rgba, Index width, Index height, Index size,
                  const ImageProcessor& processor);

}  // namespace headlens

#endif  // HEADLENS_PREPROCESS_H_
