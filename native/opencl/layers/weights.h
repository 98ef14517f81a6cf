// SPDX-License-Identifier: Apache-2.0
/// The weights of linear layers on a device.
#ifndef HEADLENS_NATIVE_OPENCL_LAYERS_WEIGHTS_H_
#define HEADLENS_NATIVE_OPENCL_LAYERS_WEIGHTS_H_

#include <memory>
#include <span>
#include <vector>

#include "headlens/backend.h"
#include "opencl/runtime/shared_device.h"

namespace headlens::opencl {

/// Rows of W [out, in] on the device, in their own type; in several pieces where one buffer cannot hold them.
class DeviceWeights final : public LinearWeights {
 public:
  /// Rows [first, first + count), and their part of the bias; null without one. Their copy in 16 bits comes with the
  /// first product that reads it, by whoever uses the session then.
  struct Piece {
    Index first, count;
    Memory weights, bias;
    mutable Memory rounded{};
  };

  DeviceWeights(std::shared_ptr<SharedDevice> device, const WeightMatrix& weight, std::span<const float> bias);

  DType type() const { return type_; }
  /// Throws kUnsupported where the weights have gone with the session that they were packed in.
  const std::vector<Piece>& pieces(const Session& session) const;

  void CopyRow(Index out, std::span<float> to) const override;
  std::span<const float> bias() const override { return bias_; }

 private:
  Index RowBytes() const { return in_features() * static_cast<Index>(ByteSize(type_)); }
  void Upload(Session& session, const WeightMatrix& weight);

  std::shared_ptr<SharedDevice> device_;
  DType type_;
  std::uint64_t session_id_ = 0;
  std::vector<Piece> pieces_;
  std::vector<float> bias_;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_LAYERS_WEIGHTS_H_
