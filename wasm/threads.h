// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_WASM_THREADS_H_
#define HEADLENS_WASM_THREADS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "headlens/backend.h"

namespace headlens {

/// JavaScript starts a thread with this. It makes a Worker with an instance of its own of this module on the same
/// memory, which calls prepare(stack, stack_bytes) and then serve(worker), or give_up() after a trap. Functions are
/// given by their indices in the table, which is the same in every instance.
struct ThreadStart {
  std::uintptr_t prepare, serve, give_up;
  std::uintptr_t stack;
  std::uint32_t stack_bytes;
  int worker;
};

/// From now on EngineBackends has `threads` threads, the caller's among them; to be called once, before all else.
/// Stacks stay until the whole memory goes.
std::vector<ThreadStart> StartThreads(int threads);

/// Backends() of this engine.
std::span<const Backend* const> EngineBackends();

}  // namespace headlens

#endif  // HEADLENS_WASM_THREADS_H_
