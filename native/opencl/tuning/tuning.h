// SPDX-License-Identifier: Apache-2.0
/// Kernels that come in several shapes, and which of them a device is fastest with.
///
/// A kernel takes part with a function that returns its Tunables, which Tunables() in tuning.cc gathers, and by
/// launching the candidate that Choose() gives. What the candidates are is its own affair: here they are names.
#ifndef HEADLENS_NATIVE_OPENCL_TUNING_TUNING_H_
#define HEADLENS_NATIVE_OPENCL_TUNING_TUNING_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "opencl/runtime/devices.h"

namespace headlens::opencl {

class Session;

/// A problem for which the candidates compete. It may refer to the session.
struct Trial {
  double operations;                                  ///< of one launch
  std::function<void(std::size_t candidate)> launch;  ///< does not wait
  std::function<bool()> is_right;                     ///< whether the launch before left what it should
};

struct Tunable {
  std::string name;                     ///< under which the choice is kept
  std::vector<std::string> candidates;  ///< their names, the last of which fits every device
  std::function<bool(const Session&, std::size_t candidate)> fits;  ///< whether the device has the items and the memory
  std::function<std::size_t(Family)> preset;                        ///< for devices that were not tuned
  std::function<Trial(Session&)> trial;
};

/// Those that a session's precision is for.
std::vector<const Tunable*> Tunables(Session& session);

/// The candidate to launch: what was kept for the session's device, or else its family's preset. When that does not
/// fit, the first after it that does.
std::size_t Choose(const Session& session, const Tunable& tunable);

/// Names of candidates by names of Tunables.
using Choices = std::map<std::string, std::string>;

/// What was kept for the device; empty where there is nothing, or nothing that can be trusted.
Choices KeptChoices(const DeviceInfo& device);

/// Keeps them, where there is a cache folder.
void KeepChoices(const DeviceInfo& device, const Choices& choices);

/// Seconds of a launch, when so many follow each other.
double SecondsOf(Session& session, const std::function<void()>& launch, int times);

/// Times the candidates that fit. One that fails or is wrong here loses; throws Error kUnsupported when all do.
TuningResult Race(Session& session, const Tunable& tunable, const std::function<void(const TuningStep&)>& progress);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_TUNING_TUNING_H_
