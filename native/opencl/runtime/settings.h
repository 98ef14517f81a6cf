// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_SETTINGS_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_SETTINGS_H_

#include <functional>
#include <optional>
#include <string>

#include "gpu/precision.h"
#include "headlens/tensor.h"

namespace headlens::opencl {

using gpu::HasHalves;
using gpu::Precision;

/// The choices that a backend, and every session with a device, is made with.
struct Settings {
  std::string device = "";                    ///< a selector, as FindDevice takes it
  std::function<void()> before_opening = {};  ///< called before a driver is asked for anything
  /// The bytes that one step of a long computation should take on the device. It takes more only when it has to.
  /// Without a number, large devices take large steps: each step waits for the one before it.
  std::optional<Index> step_memory = {};
  /// The bytes of unused buffers that the device keeps for their next use: as many as a step may take, where no number
  /// is given. With 0 every buffer is new.
  std::optional<Index> idle_memory = {};
  Precision precision = Precision::kFp32;
  /// Kernels count on no more than this, in bytes of local memory and work-items of a group, even where the device has
  /// more.
  Index most_local_memory = 48 * 1024, most_group_items = 256;
  /// Any device then computes, slowly, what NVIDIA's matrix units would: to check the kernels that use them.
  bool emulate_matrix_units = false;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_SETTINGS_H_
