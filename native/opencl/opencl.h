// SPDX-License-Identifier: Apache-2.0
/// The OpenCL backend: the same operations on any OpenCL 1.2 device.
#ifndef HEADLENS_NATIVE_OPENCL_OPENCL_H_
#define HEADLENS_NATIVE_OPENCL_OPENCL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headlens/backend.h"
#include "opencl/runtime/device_info.h"
#include "opencl/runtime/settings.h"
#include "opencl/tuning/progress.h"

namespace headlens::opencl {

/// Times the kernels that compete for each kind of work, those for matrix units among them in each precision that has
/// such, and keeps the fastest in the user's cache folder, where every later session on that device and driver finds
/// them. Throws what FindDevice does, and kUnsupported when all kernels of a kind fail.
std::vector<TuningResult> Tune(const Settings& settings, const std::function<void(const TuningStep&)>& progress);

/// Returns true when results of Tune() are kept for the device.
bool IsTuned(const DeviceInfo& device);

/// A backend named "opencl" on the device that the settings choose. No device is touched before the first operation,
/// which throws what FindDevice does. Every operation can throw Error kMemory, for a device that has too little, and
/// kUnsupported, for one that fails: the message names the call and its status. After a failure the next operation
/// works again; it opens a device that was lost anew, and weights packed before are then refused with kUnsupported.
/// Safe to share between threads, which take turns.
std::unique_ptr<const Backend> MakeBackend(Settings settings);

/// The speed that no program on a device can exceed.
struct Limits {
  double multiply_adds;  ///< floating-point operations in a second, two for each multiply-add on registers
  double copy;           ///< bytes in a second, read and written both counted
};

/// Measures the device that FindDevice chooses. Takes about a second.
Limits MeasureLimits(const std::string& selector);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_OPENCL_H_
