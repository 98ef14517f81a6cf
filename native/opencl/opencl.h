// SPDX-License-Identifier: Apache-2.0
/// The OpenCL backend: the same operations on any OpenCL 1.2 device.
#ifndef HEADLENS_NATIVE_OPENCL_OPENCL_H_
#define HEADLENS_NATIVE_OPENCL_OPENCL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headlens/backend.h"

namespace headlens::opencl {

/// What a device says of itself. Memory in bytes.
struct DeviceInfo {
  std::string name, vendor, platform, driver, version;
  std::string type;  ///< "GPU", "CPU", "accelerator" or "custom"
  std::uint64_t compute_units = 0, global_memory = 0, local_memory = 0, largest_allocation = 0, work_group_size = 0;
  std::vector<std::string> extensions;
};

/// Every device of every platform, GPUs first: the order that selectors count in. Empty where there is none.
std::vector<DeviceInfo> Devices();

/// The device that `selector` chooses: its number in Devices(), or the first whose name holds the selector, whatever
/// the letters' case. An empty one takes HEADLENS_OPENCL_DEVICE from the environment, and without that the first.
/// Throws Error kUnsupported where there is no device at all, kOption when none is chosen.
DeviceInfo FindDevice(const std::string& selector);

/// What products and fused attention are computed in. kTf32x3: fp32 accuracy from three products of NVIDIA's matrix
/// units, where the device has them. kFp16, kBf16: queries, keys and values of fused attention, and linear layers on
/// matrix units, are rounded to 16 bits on the device where that saves time. Keys and values that few queries look at,
/// as in decoding, are so only where they live on the device, and then stay there in 16 bits too. Sums are fp32.
enum class Precision { kFp32, kTf32x3, kFp16, kBf16 };

struct Settings {
  std::string device = "";                    ///< as FindDevice has it
  std::function<void()> before_opening = {};  ///< called before a driver is asked for anything
  /// How many bytes one step of a long computation should take on the device. More only where less cannot be.
  Index step_memory = Index{256} << 20;
  /// How many bytes of the device may wait there for their next use. With 0 every buffer is new.
  Index idle_memory = Index{256} << 20;
  Precision precision = Precision::kFp32;
  /// Kernels count on no more than this, in bytes of local memory and work-items of a group, even where the device has
  /// more.
  Index most_local_memory = 48 * 1024, most_group_items = 256;
  /// Computes what NVIDIA's matrix units would, slowly, on any device: to check the kernels that use them.
  bool emulate_matrix_units = false;
};

/// What Tune() found of one kind of work.
struct TuningResult {
  std::string name;       ///< the kind of work
  std::string chosen;     ///< the kernel that was fastest, by its parameters
  double gflops;          ///< its speed
  double untuned_gflops;  ///< that of the kernel which the device would have had without tuning
};

/// How far Tune() has come: candidate `number`, from 1 on, of `count` is about to be tried.
struct TuningStep {
  std::string name, candidate;
  std::size_t number, count;
  double best_gflops;  ///< 0 before the first
};

/// Times the kernels that compete for each kind of work, and in each precision those for matrix units with the others,
/// and keeps the fastest in the user's cache folder, where every later session on that device and driver finds them.
/// Throws what FindDevice does, and kUnsupported when all kernels of a kind fail.
std::vector<TuningResult> Tune(const Settings& settings, const std::function<void(const TuningStep&)>& progress);

/// Whether results of Tune() are kept for the device.
bool IsTuned(const DeviceInfo& device);

/// A backend named "opencl" on the device that the settings choose. No device is touched before the first operation,
/// which throws what FindDevice does. Every operation can throw Error kMemory, for a device that has too little, and
/// kUnsupported, for one that fails: the message names the call and its status. After a failure the next operation
/// works again; it opens a device that was lost anew, and weights packed before are then refused with kUnsupported.
/// Safe to share between threads, which take turns.
std::unique_ptr<const Backend> MakeBackend(Settings settings);

/// What a device can do at most.
struct Limits {
  double multiply_adds;  ///< floating-point operations in a second, two for each multiply-add on registers
  double copy;           ///< bytes in a second, read and written both counted
};

/// Of the device that FindDevice chooses. Takes about a second.
Limits MeasureLimits(const std::string& selector);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_OPENCL_H_
