// SPDX-License-Identifier: Apache-2.0
/// The operations of a backend but attention, on an open device. Sizes have been checked, there is something to
/// compute, and views may be of residents or of the host.
#ifndef HEADLENS_NATIVE_OPENCL_LAYERS_LAYERS_H_
#define HEADLENS_NATIVE_OPENCL_LAYERS_LAYERS_H_

#include <cstdint>
#include <span>

#include "headlens/backend.h"
#include "opencl/layers/weights.h"

namespace headlens::opencl {

void RunLinear(Session& session, const DeviceView<const float, 2>& x, const DeviceWeights& weights,
               const DeviceView<float, 2>& y);

void RunCopyRows(Session& session, const DeviceWeights& weights, std::span<const std::int32_t> rows,
                 const DeviceView<float, 2>& y);

/// `eps` is a backend's. LayerNorm's bias may be empty.
void RunRmsNorm(Session& session, const DeviceView<const float, 2>& x, const DeviceView<const float, 1>& weight,
                float eps, const DeviceView<float, 2>& y);
void RunLayerNorm(Session& session, const DeviceView<const float, 2>& x, const DeviceView<const float, 1>& weight,
                  const DeviceView<const float, 1>& bias, float eps, const DeviceView<float, 2>& y);

void RunRotary(Session& session, const DeviceView<float, 3>& x, const DeviceView<const float, 2>& cosine,
               const DeviceView<const float, 2>& sine, RotaryPairs pairs);

/// x ← kernel(x, y), element by element, for a kernel of layers.cl; y may be absent.
void RunElements(Session& session, const char* kernel, const DeviceView<float, 1>& x,
                 const DeviceView<const float, 1>& y = {});

void RunCopy(Session& session, const DeviceView<const float, 4>& from, const DeviceView<float, 4>& to);

void RunPool(Session& session, const DeviceView<const float, 2>& x, const Backend::Pooling& pooling,
             const DeviceView<float, 2>& y);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_LAYERS_LAYERS_H_
