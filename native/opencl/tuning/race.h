// SPDX-License-Identifier: Apache-2.0
/// Races between kernels that come in several shapes, to find the one that is fastest on a device.
#ifndef HEADLENS_NATIVE_OPENCL_TUNING_RACE_H_
#define HEADLENS_NATIVE_OPENCL_TUNING_RACE_H_

#include <cstddef>
#include <functional>
#include <span>

#include "opencl/tuning/progress.h"
#include "opencl/tuning/tunable.h"

namespace headlens::opencl {

/// A problem for which the candidates compete. It may refer to the session.
struct Trial {
  double operations;                                  ///< floating-point operations of one launch
  std::function<void(std::size_t candidate)> launch;  ///< does not wait
  std::function<bool()> is_right;                     ///< returns true when the last launch left the right results
};

/// The candidates for one kind of work, and the problem that they compete on.
struct Contest {
  const Tunable* tunable;
  std::function<Trial(Session&)> trial;
};

/// The seconds that one launch takes when `times` of them follow each other.
double SecondsOf(Session& session, const std::function<void()>& launch, int times);

/// The candidate that wins when each took so many seconds, or infinitely many: the fastest, unless `preset`, which the
/// device begins with, is hardly slower.
std::size_t Winner(std::span<const double> seconds, std::size_t preset);

/// Times the candidates that fit. One that fails or is wrong here loses; throws Error kUnsupported when all do.
TuningResult Race(Session& session, const Contest& contest, const std::function<void(const TuningStep&)>& progress);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_TUNING_RACE_H_
