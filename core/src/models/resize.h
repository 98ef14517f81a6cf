// SPDX-License-Identifier: Apache-2.0
/// Resizing along one dimension, as weighted sums of the elements nearby.
#ifndef HEADLENS_SRC_MODELS_RESIZE_H_
#define HEADLENS_SRC_MODELS_RESIZE_H_

#include <vector>

#include "headlens/tensor.h"

namespace headlens::models {

/// The neighbouring inputs whose weighted sum is an output. The weights sum to 1.
struct Taps {
  Index first = 0;
  std::vector<double> weights;
};

enum class ResizeFilter {
  kTriangle,  // linear between two inputs
  kCubic,     // cubic through four of them (Keys 1981, with a = −0.5)
};

/// The taps of outputs [begin, end) of `to`, as Pillow and PyTorch with antialiasing have them: where several inputs
/// fall on one output, the filter is as much wider.
std::vector<Taps> SmoothTaps(Index from, Index to, ResizeFilter filter, Index begin, Index end);

/// The taps of PyTorch's bicubic interpolation without antialiasing: always four inputs, with a = −0.75.
std::vector<Taps> CubicTaps(Index from, Index to);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_RESIZE_H_
