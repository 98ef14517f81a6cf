// SPDX-License-Identifier: Apache-2.0
#include "by_name/analyses/call.h"

#include <algorithm>

namespace headlens {

void AnalysisCall::Answer(const Matrix& matrix) {
  Tensor tensor({matrix.rows(), matrix.columns()});
  std::transform(matrix.values().begin(), matrix.values().end(), tensor.data(),
                 [](double value) { return static_cast<float>(value); });
  Answer(std::move(tensor));
}

}  // namespace headlens
