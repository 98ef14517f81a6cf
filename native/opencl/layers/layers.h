// SPDX-License-Identifier: Apache-2.0
/// The operations of a backend but attention, on an open device. Sizes have been checked, there is something to
/// compute, and views may be of residents or of the host.
#ifndef HEADLENS_NATIVE_OPENCL_LAYERS_LAYERS_H_
#define HEADLENS_NATIVE_OPENCL_LAYERS_LAYERS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "headlens/backend.h"
#include "opencl/layers/weights.h"

namespace headlens::opencl {

void RunLinear(Session& session, const View<const float, 2>& x, const DeviceWeights& weights, const View<float, 2>& y);

void RunCopyRows(Session& session, const DeviceWeights& weights, std::span<const std::int32_t> rows,
                 const View<float, 2>& y);

/// `eps` is a backend's. LayerNorm's bias may be empty.
void RunRmsNorm(Session& session, const View<const float, 2>& x, std::span<const float> weight, float eps,
                const View<float, 2>& y);
void RunLayerNorm(Session& session, const View<const float, 2>& x, std::span<const float> weight,
                  std::span<const float> bias, float eps, const View<float, 2>& y);

void RunRotary(Session& session, const View<float, 3>& x, const View<const float, 2>& cosine,
               const View<const float, 2>& sine, RotaryPairs pairs);

/// x ← kernel(x, y), element by element, for a kernel of layers.cl; y may be absent.
void RunElements(Session& session, const char* kernel, std::span<float> x,
                 std::optional<std::span<const float>> y = std::nullopt);

void RunCopy(Session& session, const View<const float, 4>& from, const View<float, 4>& to);

void RunPool(Session& session, const View<const float, 2>& x, const Backend::Pooling& pooling, const View<float, 2>& y);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_LAYERS_LAYERS_H_
