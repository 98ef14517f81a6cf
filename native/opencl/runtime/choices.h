// SPDX-License-Identifier: Apache-2.0
/// The kernels that were fastest on a device when it was tuned. They are kept in the user's cache folder.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_CHOICES_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_CHOICES_H_

#include <map>
#include <string>

#include "opencl/runtime/device_info.h"

namespace headlens::opencl {

/// Names of candidates by the kind of work that they won.
using Choices = std::map<std::string, std::string>;

/// The choices that were kept for the device; empty where there are none, or none that can be trusted.
Choices KeptChoices(const DeviceInfo& device);

/// Keeps them, where there is a cache folder.
void KeepChoices(const DeviceInfo& device, const Choices& choices);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_CHOICES_H_
