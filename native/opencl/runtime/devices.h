// SPDX-License-Identifier: Apache-2.0
/// Devices with their OpenCL types. device_info.h describes devices without these types.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_DEVICES_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_DEVICES_H_

#include <string>

#include "opencl/runtime/device_info.h"
#include "opencl/runtime/status.h"

namespace headlens::opencl {

/// The device that FindDevice describes.
cl::Device ChooseDevice(const std::string& selector);

DeviceInfo Describe(const cl::Device& device);

/// The kinds of devices. About the same kernels are fast on all devices of one kind.
enum class Family { kNvidia, kAmd, kIntel, kApple, kMobile, kCpu, kOther };
inline constexpr std::size_t kFamilies = 7;

Family FamilyOf(const DeviceInfo& device);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_DEVICES_H_
