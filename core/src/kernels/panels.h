// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_KERNELS_PANELS_H_
#define HEADLENS_SRC_KERNELS_PANELS_H_

#include "headlens/tensor.h"
#include "kernels/kernels.h"

namespace headlens::simd {

inline Index RoundUp(Index n, Index step) { return (n + step - 1) / step * step; }

/// The rows of a matrix as the columns of a gemm's B.
class Panels {
 public:
  Panels(const Kernels& kernels, Index max_rows, Index width)
      : kernels_(kernels), width_(width), buffer_(ElementCount({RoundUp(max_rows, kernels.panel_width), width})) {}

  void Pack(const float* src, Index stride, Index rows) {
    kernels_.pack_panels(src, stride, rows, width_, buffer_.data());
  }

  const float* data() const { return buffer_.data(); }
  Index row_step() const { return kernels_.panel_width; }
  Index panel_step() const { return kernels_.panel_width * width_; }

 private:
  const Kernels& kernels_;
  Index width_;
  Buffer<float> buffer_;
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_KERNELS_PANELS_H_
