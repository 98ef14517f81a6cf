// SPDX-License-Identifier: Apache-2.0
/// Kernels that come in several shapes, and the choice that a session makes among them. A kernel describes its shapes
/// in a Tunable and launches the one that Choose() returns. Candidates are only names here; the kernel knows their
/// meaning.
#ifndef HEADLENS_NATIVE_OPENCL_TUNING_TUNABLE_H_
#define HEADLENS_NATIVE_OPENCL_TUNING_TUNABLE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "opencl/runtime/session.h"

namespace headlens::opencl {

struct Tunable {
  std::string name;                     ///< the choice is kept under this name
  std::vector<std::string> candidates;  ///< their names; the last candidate fits every device
  /// Returns true when the device has the work-items and the memory for a candidate.
  std::function<bool(const Session&, std::size_t candidate)> fits;
  std::function<std::size_t(Family)> preset;  ///< the candidate for devices that were not tuned
};

/// The candidate for a device that was not tuned: the preset of its family, or the first after it that fits.
std::size_t Preset(const Session& session, const Tunable& tunable);

/// The candidate to launch: the one that was kept for the session's device, or the first after it that fits; without
/// one, the preset.
std::size_t Choose(const Session& session, const Tunable& tunable);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_TUNING_TUNABLE_H_
