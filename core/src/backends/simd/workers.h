// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BACKENDS_SIMD_WORKERS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_WORKERS_H_

#include <functional>
#include <memory>

#include "headlens/tensor.h"

namespace headlens::simd {

/// Threads that share the tasks of one call. Without any, the caller does all tasks itself.
class Workers {
 public:
  using Task = std::function<void(Index task, Index worker)>;

  /// `threads` includes the caller's and is at least 1. On native systems the other threads start here. In WebAssembly
  /// only JavaScript can start threads; they come in through Serve, and until then calls do without them. Throws
  /// kMemory when the system cannot start so many threads.
  explicit Workers(int threads);
  ~Workers();

  /// The number of threads, the caller's among them.
  Index count() const { return count_; }

  /// Returns true when several threads finish this number of multiply-adds sooner than one. Distributing work takes a
  /// few microseconds.
  bool Pays(double multiply_adds) const { return count_ > 1 && multiply_adds >= kLeastMultiplyAdds; }

  /// Calls task(i, worker) once for each i in [0, tasks), in any order, and waits for all of them. `worker` < count()
  /// identifies the thread. The threads help one call at a time; a call that finds them busy does its own tasks, as
  /// worker 0. When tasks throw, the first exception is thrown here after all have ended.
  void Run(Index tasks, const Task& task);

  /// Makes the calling thread worker `worker` (from 1 to count() − 1) until this object ends.
  void Serve(Index worker);
  /// Reports that a thread can no longer continue in Serve. The call that it helped throws std::runtime_error.
  void GiveUp();

 private:
  static constexpr double kLeastMultiplyAdds = 1 << 18;  // about 3 µs

  struct Shared;
  Index count_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_WORKERS_H_
