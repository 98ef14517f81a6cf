// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_MATRIX_H_
#define HEADLENS_MATRIX_H_

#include <algorithm>

#include "headlens/tensor.h"

namespace headlens {

/// An owned dense row-major matrix of doubles, all 0 at first, for results that are accumulated in fp64. Movable.
class Matrix {
 public:
  Matrix() = default;
  Matrix(Index rows, Index columns) : rows_(rows), columns_(columns), buffer_(ElementCount({rows, columns})) {
    std::fill_n(buffer_.data(), buffer_.size(), 0.0);
  }

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  double& operator()(Index row, Index column) const { return buffer_.data()[row * columns_ + column]; }
  std::span<double> row(Index i) const { return {buffer_.data() + i * columns_, static_cast<std::size_t>(columns_)}; }
  std::span<double> values() const { return {buffer_.data(), static_cast<std::size_t>(rows_ * columns_)}; }

 private:
  Index rows_ = 0, columns_ = 0;
  Buffer<double> buffer_;
};

}  // namespace headlens

#endif  // HEADLENS_MATRIX_H_
