// SPDX-License-Identifier: Apache-2.0
/// The OpenCL devices of this machine, and how one of them is chosen. Without any type of OpenCL's.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_DEVICE_INFO_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_DEVICE_INFO_H_

#include <cstdint>
#include <string>
#include <vector>

namespace headlens::opencl {

/// The description that a device gives of itself. Memory is in bytes.
struct DeviceInfo {
  std::string name, vendor, platform, driver, version;
  std::string type;  ///< "GPU", "CPU", "accelerator" or "custom"
  std::uint64_t compute_units = 0, global_memory = 0, local_memory = 0, largest_allocation = 0, work_group_size = 0;
  std::vector<std::string> extensions;
};

/// Every device of every platform, GPUs first: selectors count in this order. Empty where there is none.
std::vector<DeviceInfo> Devices();

/// The device that `selector` chooses: its number in Devices(), or the first whose name holds the selector, whatever
/// the letters' case. An empty one takes HEADLENS_OPENCL_DEVICE from the environment, and without that the first.
/// Throws Error kUnsupported where there is no device at all, kOption when none is chosen.
DeviceInfo FindDevice(const std::string& selector);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_DEVICE_INFO_H_
