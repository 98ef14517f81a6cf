// SPDX-License-Identifier: Apache-2.0
#include "opencl/layers/weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/parts.h"
#include "gpu/pieces.h"

namespace headlens::opencl {
namespace {

/// `count` rows of a matrix, one element after the other.
std::vector<std::byte> DenseBytes(const WeightMatrix& weight, Index first, Index count) {
  const auto size = static_cast<Index>(ByteSize(weight.dtype));
  std::vector<std::byte> rows(static_cast<std::size_t>(ElementCount({count, weight.in}) * size));
  std::byte* to = rows.data();
  for (Index o = first; o < first + count; ++o)
    for (Index i = 0; i < weight.in; ++i, to += size) {
      const Index at = o * weight.out_stride + i * weight.in_stride;
      std::memcpy(to, weight.data + at * size, static_cast<std::size_t>(size));
    }
  return rows;
}

}  // namespace

DeviceWeights::DeviceWeights(std::shared_ptr<SharedDevice> device, const WeightMatrix& weight,
                             std::span<const float> bias)
    : LinearWeights(weight.in, weight.out),
      device_(std::move(device)),
      type_(weight.dtype),
      bias_(bias.begin(), bias.end()) {
  if (weight.in > 0 && weight.out > 0) device_->Use([&](Session& session) { Upload(session, weight); });
}

void DeviceWeights::Upload(Session& session, const WeightMatrix& weight) {
  session_id_ = session.id();
  const std::span<const float> bias(bias_);
  gpu::InPieces(weight.out, std::max<Index>(session.step_memory() / RowBytes(), 1), [&](Index first, Index count) {
    const std::vector<std::byte> rows = DenseBytes(weight, first, count);
    const Memory weights = session.Upload(std::span<const std::byte>(rows));
    const auto begin = static_cast<std::size_t>(first), length = static_cast<std::size_t>(count);
    pieces_.push_back({first, count, weights, bias.empty() ? Memory() : session.Upload(bias.subspan(begin, length))});
  });
}

const std::vector<DeviceWeights::Piece>& DeviceWeights::pieces(const Session& session) const {
  if (!pieces_.empty() && session_id_ != session.id())
    throw Error(ErrorCode::kUnsupported,
                "the OpenCL device was lost since the weights were packed: load the model again");
  return pieces_;
}

void DeviceWeights::CopyRow(Index out, std::span<float> to) const {
  CheckRow(*this, out, to);
  if (to.empty()) return;
  std::vector<std::byte> row(static_cast<std::size_t>(RowBytes()));
  device_->Use([&](Session& session) {
    const std::vector<Piece>& all = pieces(session);
    const auto piece = std::find_if(all.begin(), all.end(), [&](const Piece& p) { return out < p.first + p.count; });
    session.DownloadBytes(piece->weights, (out - piece->first) * RowBytes(), RowBytes(), row.data());
  });
  const std::byte* from = row.data();
  for (float& value : to) {
    value = LoadFloat(type_, from);
    from += ByteSize(type_);
  }
}

}  // namespace headlens::opencl
