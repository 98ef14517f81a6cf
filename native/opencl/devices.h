// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_DEVICES_H_
#define HEADLENS_NATIVE_OPENCL_DEVICES_H_

#include <string>

#include "opencl/opencl.h"
#include "opencl/status.h"

namespace headlens::opencl {

/// What FindDevice chooses, itself.
cl::Device ChooseDevice(const std::string& selector);

DeviceInfo Describe(const cl::Device& device);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_DEVICES_H_
