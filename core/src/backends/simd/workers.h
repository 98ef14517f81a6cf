// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BACKENDS_SIMD_WORKERS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_WORKERS_H_

#include <functional>
#include <memory>

#include "headlens/tensor.h"

namespace headlens::simd {

/// Threads that share the tasks of one call. Without threads of its own, the caller does them all.
class Workers {
 public:
  using Task = std::function<void(Index task, Index worker)>;

  /// `threads`, the caller's own among them; at least 1. Natively the others start here; in WebAssembly, where only
  /// JavaScript can start them, they come through Serve, and until then calls go on without them. Throws kMemory when
  /// the system lets no more threads start.
  explicit Workers(int threads);
  ~Workers();

  /// Callers included.
  Index count() const { return count_; }

  /// Returns true when several threads do work of so many multiply-adds sooner than the caller's alone: it takes some
  /// microseconds to hand it out.
  bool Pays(double multiply_adds) const { return count_ > 1 && multiply_adds >= kLeastMultiplyAdds; }

  /// Calls task(i, worker) once for each i in [0, tasks), in any order, and waits; worker < count() tells the threads
  /// apart. One call at a time runs on the threads; others meanwhile do their tasks themselves, as worker 0. The first
  /// exception of a task is thrown again here, after all have ended.
  void Run(Index tasks, const Task& task);

  /// The calling thread becomes worker `worker`, from 1 to count() − 1, until these Workers end.
  void Serve(Index worker);
  /// For a thread that can no longer go on with Serve: the call that it helped throws std::runtime_error.
  void GiveUp();

 private:
  static constexpr double kLeastMultiplyAdds = 1 << 18;  // about 3 µs

  struct Shared;
  Index count_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_WORKERS_H_
