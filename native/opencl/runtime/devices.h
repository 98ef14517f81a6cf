// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_DEVICES_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_DEVICES_H_

#include <string>

#include "opencl/opencl.h"
#include "opencl/runtime/status.h"

namespace headlens::opencl {

/// What FindDevice chooses, itself.
cl::Device ChooseDevice(const std::string& selector);

DeviceInfo Describe(const cl::Device& device);

/// Devices for which the same kernels are fast.
enum class Family { kNvidia, kAmd, kIntel, kApple, kMobile, kCpu, kOther };
inline constexpr std::size_t kFamilies = 7;

Family FamilyOf(const DeviceInfo& device);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_DEVICES_H_
