// SPDX-License-Identifier: Apache-2.0
#include "backends/simd/workers.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

#ifdef __EMSCRIPTEN__
#ifdef __wasm_atomics__
#define HEADLENS_THREADS 1
#endif
#else
#define HEADLENS_THREADS 1
#include <thread>
#include <vector>
#endif

namespace headlens::simd {

#if HEADLENS_THREADS

namespace {

using Word = std::atomic<std::uint32_t>;

/// Waits a moment without sleeping. Calls follow each other within microseconds, and sleeping and waking take longer.
void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Returns true when the word differs from `from` within about 50 µs.
bool SeenToChange(const Word& word, std::uint32_t from) {
#ifdef __EMSCRIPTEN__
  constexpr int kLooks = 30000;
#else
  constexpr int kLooks = 3000;
#endif
  for (int i = 0; i < kLooks; ++i, Pause())
    if (word.load(std::memory_order_relaxed) != from) return true;
  return false;
}

#ifdef __EMSCRIPTEN__
// The C++ library for WebAssembly's own threads has no wait.
std::int32_t* Address(Word& word) { return reinterpret_cast<std::int32_t*>(&word); }
void WaitWhile(std::int32_t* word, std::int32_t from) { __builtin_wasm_memory_atomic_wait32(word, from, -1); }
/// Called through a pointer so that it is never inlined: V8's baseline compiler (seen in Node 20) loses a local
/// variable of a function that waits.
void (*volatile wait_while)(std::int32_t*, std::int32_t) = WaitWhile;
void Sleep(Word& word, std::uint32_t from) { wait_while(Address(word), static_cast<std::int32_t>(from)); }
void WakeAll(Word& word) { __builtin_wasm_memory_atomic_notify(Address(word), UINT32_MAX); }
#else
void Sleep(Word& word, std::uint32_t from) { word.wait(from); }
void WakeAll(Word& word) { word.notify_all(); }
#endif

void AwaitChange(Word& word, std::uint32_t from) {
  if (!SeenToChange(word, from)) Sleep(word, from);
}

}  // namespace

/// Each call opens a gate, through which threads come in and help. A thread that is late stays outside, and the call
/// does not wait for it.
struct Workers::Shared {
  static constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;

  std::atomic_flag in_use;
  Word calls = 0;  ///< number of calls so far; threads wait for it to change
  Word gate = 0;   ///< kOpen, and the number of threads inside or at the gate, without the caller's
  std::atomic<bool> ended = false, failed = false;
  const Task* task = nullptr;
  Index tasks = 0;
  std::exception_ptr error;
  alignas(64) std::atomic<Index> next = 0;
#ifndef __EMSCRIPTEN__
  std::vector<std::jthread> threads;
#endif

  ~Shared() {
    ended = true;
    calls.fetch_add(1, std::memory_order_release);
    WakeAll(calls);
  }

  void Open(Index count, const Task& what) {
    task = &what;
    tasks = count;
    error = nullptr;
    failed = false;
    next.store(0, std::memory_order_relaxed);
    gate.fetch_or(kOpen,
                  std::memory_order_release);  // a thread that was late for the last call may still be at the gate
    calls.fetch_add(1, std::memory_order_release);
    WakeAll(calls);
  }

  /// Closes the gate after the last task was taken, and waits for threads that are still working.
  void Close() {
    gate.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (std::uint32_t inside; (inside = gate.load(std::memory_order_acquire)) != 0;) {
#ifdef __EMSCRIPTEN__
      SeenToChange(gate, inside);  // the main thread of a page is not allowed to sleep
#else
      AwaitChange(gate, inside);
#endif
    }
  }

  bool Enter() {
    if ((gate.fetch_add(1, std::memory_order_acquire) & kOpen) != 0) return true;
    Leave();
    return false;
  }

  void Leave() {
    if (gate.fetch_sub(1, std::memory_order_release) == 1) WakeAll(gate);
  }

  void Help(Index worker) {
    for (Index i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
      try {
        (*task)(i, worker);
      } catch (...) {
        Fail(std::current_exception());
      }
    }
  }

  void Serve(Index worker) {
    for (std::uint32_t seen = 0;;) {
      AwaitChange(calls, seen);
      seen = calls.load(std::memory_order_acquire);
      if (ended) return;
      if (!Enter()) continue;
      Help(worker);
      Leave();
    }
  }

#ifndef __EMSCRIPTEN__
  void StartThreads(Index count) {
    try {
      for (Index worker = 1; worker < count; ++worker) threads.emplace_back([this, worker] { Serve(worker); });
    } catch (const std::system_error& error) {
      throw Wrong(ErrorCode::kMemory, "`threads`", "is", count,
                  {"at most the ", threads.size() + 1, " that can run here: ", error.code().message()});
    }
  }
#endif

  void Fail(std::exception_ptr what) {
    if (!failed.exchange(true)) error = std::move(what);
  }
};

Workers::Workers(int threads) : count_(threads) {
  if (threads <= 1) return;
  shared_ = std::make_unique<Shared>();
#ifndef __EMSCRIPTEN__
  shared_->StartThreads(count_);
#endif
}

void Workers::Run(Index tasks, const Task& task) {
  if (!shared_ || tasks <= 1 || shared_->in_use.test_and_set(std::memory_order_acquire)) {
    for (Index i = 0; i < tasks; ++i) task(i, 0);
    return;
  }
  shared_->Open(tasks, task);
  shared_->Help(0);
  shared_->Close();
  const std::exception_ptr error = std::move(shared_->error);
  shared_->in_use.clear(std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

void Workers::Serve(Index worker) { shared_->Serve(worker); }

void Workers::GiveUp() {
  shared_->Fail(std::make_exception_ptr(std::runtime_error("a thread could not go on")));
  shared_->Leave();
}

#else

struct Workers::Shared {};

Workers::Workers(int) : count_(1) {}

void Workers::Run(Index tasks, const Task& task) {
  for (Index i = 0; i < tasks; ++i) task(i, 0);
}

void Workers::Serve(Index) {}
void Workers::GiveUp() {}

#endif

Workers::~Workers() = default;

}  // namespace headlens::simd
