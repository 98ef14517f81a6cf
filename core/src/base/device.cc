// SPDX-License-Identifier: Apache-2.0
#include "headlens/device.h"

namespace headlens {

void internal::ThrowNotOnHost() {
  throw Error(ErrorCode::kUnsupported, "the elements are where another backend computes: read them back first");
}

Tensor DeviceTensor::host() const {
  if (storage_) internal::ThrowNotOnHost();
  if (!host_ || !host_->data()) return {};
  return Tensor(shape_, std::shared_ptr<float>(host_, host_->data()));
}

}  // namespace headlens
