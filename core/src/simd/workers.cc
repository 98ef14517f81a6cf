// SPDX-License-Identifier: Apache-2.0
#include "simd/workers.h"

#if HEADLENS_THREADS
#include <exception>
#include <mutex>

#include "hwy/contrib/thread_pool/thread_pool.h"
#endif

namespace headlens::simd {

#if HEADLENS_THREADS

struct Workers::Threads {
  explicit Threads(Index count) : pool(static_cast<std::size_t>(count)) {}

  hwy::ThreadPool pool;
  std::mutex in_use;
};

Workers::Workers(int threads) : count_(threads) {
  if (threads > 1) threads_ = std::make_unique<Threads>(count_);
}

void Workers::Run(Index tasks, const std::function<void(Index, Index)>& task) {
  std::unique_lock<std::mutex> lock;
  if (threads_ && tasks > 1) lock = std::unique_lock(threads_->in_use, std::try_to_lock);
  if (!lock) {
    for (Index i = 0; i < tasks; ++i) task(i, 0);
    return;
  }
  std::exception_ptr error;
  std::mutex first;
  threads_->pool.Run(0, static_cast<std::uint64_t>(tasks), [&](std::uint64_t i, std::size_t worker) {
    try {
      task(static_cast<Index>(i), static_cast<Index>(worker));
    } catch (...) {
      const std::lock_guard guard(first);
      if (!error) error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

#else

struct Workers::Threads {};

Workers::Workers(int) : count_(1) {}

void Workers::Run(Index tasks, const std::function<void(Index, Index)>& task) {
  for (Index i = 0; i < tasks; ++i) task(i, 0);
}

#endif

Workers::~Workers() = default;

}  // namespace headlens::simd
