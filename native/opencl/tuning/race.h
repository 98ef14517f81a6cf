// SPDX-License-Identifier: Apache-2.0
/// Races between kernels that come in several shapes: which of them a device is fastest with.
#ifndef HEADLENS_NATIVE_OPENCL_TUNING_RACE_H_
#define HEADLENS_NATIVE_OPENCL_TUNING_RACE_H_

#include <cstddef>
#include <functional>

#include "opencl/tuning/progress.h"
#include "opencl/tuning/tunable.h"

namespace headlens::opencl {

/// A problem for which the candidates compete. It may refer to the session.
struct Trial {
  double operations;                                  ///< floating-point operations of one launch
  std::function<void(std::size_t candidate)> launch;  ///< does not wait
  std::function<bool()> is_right;                     ///< returns true when the last launch left the right results
};

/// The candidates for one kind of work, and the problem that they are held against each other with.
struct Contest {
  const Tunable* tunable;
  std::function<Trial(Session&)> trial;
};

/// The seconds of a launch when so many follow each other.
double SecondsOf(Session& session, const std::function<void()>& launch, int times);

/// Times the candidates that fit. One that fails or is wrong here loses; throws Error kUnsupported when all do.
TuningResult Race(Session& session, const Contest& contest, const std::function<void(const TuningStep&)>& progress);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_TUNING_RACE_H_
