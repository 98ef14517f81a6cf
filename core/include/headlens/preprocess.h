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
  /// Resizes to a square, or so that the shorter edge has the size.
  enum class Resize { kNone, kSquare, kShortestEdge } resize = Resize::kSquare;
  Index size = 0;                 ///< of that square or edge; 0: the model's
  bool bicubic = false;           ///< otherwise bilinear
  Index crop = 0;                 ///< after that, this many rows and columns in the middle are kept; 0: all
  float rescale = 1.0f / 255.0f;  ///< factor on the bytes; 1 when the file turns it off
  /// Of each channel. 0 and 1 leave the numbers as they are.
  std::array<float, 3> mean = {0.5f, 0.5f, 0.5f}, deviation = {0.5f, 0.5f, 0.5f};
};

/// Reads a preprocessor_config.json. Throws kFormat or kValue for a bad file, and kUnsupported for resizing
/// to other than squares, or other than bilinear or bicubic.
ImageProcessor ReadImageProcessor(std::string_view json);

/// Turns `rgba` [height, width, 4] into [3, side, side] for a model of images of `size` pixels: resizes it (with
/// antialiasing, in integer arithmetic as Pillow does), cuts out the middle, multiplies by `rescale`, subtracts the
/// mean and divides by the deviation. Transparency is ignored, as in Hugging Face's image processors. Throws kShape
/// when the number of bytes does not fit the sizes, or the picture is not as large as a processor that does not resize
/// needs.
Tensor Preprocess(std::span<const std::uint8_t> rgba, Index width, Index height, Index size,
                  const ImageProcessor& processor);

}  // namespace headlens

#endif  // HEADLENS_PREPROCESS_H_
