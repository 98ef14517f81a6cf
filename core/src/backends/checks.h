// SPDX-License-Identifier: Apache-2.0
/// The checks that every backend makes before it computes.
#ifndef HEADLENS_SRC_BACKENDS_CHECKS_H_
#define HEADLENS_SRC_BACKENDS_CHECKS_H_

#include <string>

#include "base/checks.h"
#include "headlens/backend.h"

namespace headlens {

inline void CheckLinear(DeviceView<const float, 2> x, const LinearWeights& weights, DeviceView<float, 2> y) {
  ExpectSizes("input of a linear layer", SizesOf(x), {x.shape[0], weights.in_features()});
  ExpectSizes("output of a linear layer", SizesOf(y), {x.shape[0], weights.out_features()});
}

inline void CheckPack(const WeightMatrix& weight, std::span<const float> bias) {
  if (!bias.empty()) ExpectSizes("bias", {static_cast<Index>(bias.size())}, {weight.out});
  if (weight.dtype != DType::kF32 && weight.dtype != DType::kF16 && weight.dtype != DType::kBF16) {
    throw DtypeError("weights", ToString(weight.dtype), "F32, F16 or BF16");
  }
}

inline void ExpectRow(const LinearWeights& weights, Index row) {
  if (row >= 0 && row < weights.out_features()) return;
  throw ValueError("a row of weights", row, {"0 to ", weights.out_features() - 1});
}

inline void CheckRow(const LinearWeights& weights, Index out, std::span<float> to) {
  ExpectSizes("a row of weights", {static_cast<Index>(to.size())}, {weights.in_features()});
  ExpectRow(weights, out);
}

inline void CheckCopyRows(const LinearWeights& weights, std::span<const std::int32_t> rows, DeviceView<float, 2> y) {
  ExpectSizes("rows of weights", SizesOf(y), {static_cast<Index>(rows.size()), weights.in_features()});
  for (const std::int32_t row : rows) ExpectRow(weights, row);
}

/// Throws when a block would be empty, or when x does not hold all rows that y needs.
inline void CheckPool(DeviceView<const float, 2> x, const Backend::Pooling& pooling, DeviceView<float, 2> y) {
  const Index end = pooling.first_block + y.shape[0];
  const bool good = y.shape[1] >= 1 && y.shape[1] <= x.shape[1] && pooling.row_blocks >= 1 &&
                    pooling.row_blocks <= pooling.rows && pooling.first_block >= 0 && end <= pooling.row_blocks &&
                    BlockBegin(pooling.first_block, pooling.rows, pooling.row_blocks) >= pooling.first_row &&
                    BlockBegin(end, pooling.rows, pooling.row_blocks) <= pooling.first_row + x.shape[0];
  if (good) return;
  throw Error(ErrorCode::kValue,
              {"weights of shape ", SizesOf(x), " cannot be pooled to ", Shape{pooling.row_blocks, y.shape[1]}});
}

inline void CheckNorm(DeviceView<const float, 2> x, DeviceView<const float, 1> weight, DeviceView<const float, 1> bias,
                      DeviceView<float, 2> y) {
  ExpectSizes("output of a norm", SizesOf(y), SizesOf(x));
  ExpectSizes("weight of a norm", SizesOf(weight), {x.shape[1]});
  if (bias.shape[0] > 0) ExpectSizes("bias of a norm", SizesOf(bias), {x.shape[1]});
}

inline void CheckRotary(DeviceView<float, 3> x, DeviceView<const float, 2> cosine, DeviceView<const float, 2> sine) {
  if (x.shape[2] % 2 != 0) {
    throw Wrong(ErrorCode::kShape, "the head width", "is", x.shape[2], "an even number, for rotary positions");
  }
  ExpectSizes("cosines", SizesOf(cosine), {x.shape[0], x.shape[2] / 2});
  ExpectSizes("sines", SizesOf(sine), {x.shape[0], x.shape[2] / 2});
}

inline void CheckSameLength(DeviceView<float, 1> x, DeviceView<const float, 1> y) {
  ExpectSizes("second operand", SizesOf(y), SizesOf(x));
}

}  // namespace headlens

#endif  // HEADLENS_SRC_BACKENDS_CHECKS_H_
