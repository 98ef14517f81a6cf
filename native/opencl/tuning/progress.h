// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_TUNING_PROGRESS_H_
#define HEADLENS_NATIVE_OPENCL_TUNING_PROGRESS_H_

#include <cstddef>
#include <string>

namespace headlens::opencl {

/// The winner of the race for one kind of work.
struct TuningResult {
  std::string name;       ///< the kind of work
  std::string chosen;     ///< the kernel that was fastest, by its parameters
  double gflops;          ///< its speed
  double untuned_gflops;  ///< the speed of the kernel that the device would have had without tuning
};

/// The progress of a race: candidate `number`, from 1 on, of `count` is about to be tried.
struct TuningStep {
  std::string name, candidate;
  std::size_t number, count;
  double best_gflops;  ///< 0 before the first
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_TUNING_PROGRESS_H_
