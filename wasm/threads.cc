// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>

extern "C" {

/// Emscripten's own: gives the calling instance its stack and its thread-local data.
void _emscripten_wasm_worker_initialize(void* stack, std::uint32_t bytes);

/// The linker's: gives the calling instance the addresses of its thread-local data.
void __wasm_init_tls(void* data);

/// Emscripten calls it for threads only. Without it, C++ here would not find the exceptions that it catches.
[[gnu::constructor(101)]] void InitThreadLocalsOfCaller() { __wasm_init_tls(__builtin_wasm_tls_base()); }

/// Instead of Emscripten's own, which is JavaScript that threads do not have: what they need must be in here.
int sched_yield() { return 0; }

/// The same. Grows by a fifth where that can be had,
/// so that many small allocations do not grow it each.
int emscripten_resize_heap(std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{1} << 16, kMostExtra = (std::size_t{96} << 20) / kPage;
  const std::size_t pages = __builtin_wasm_memory_size(0), wanted = (bytes - 1) / kPage + 1;
  if (wanted <= pages) return 1;
  for (const std::size_t extra : {std::min(pages / 5, kMostExtra), std::size_t{0}})
    if (__builtin_wasm_memory_grow(0, wanted - pages + extra) != static_cast<std::size_t>(-1)) return 1;
  return 0;
}
}

namespace headlens {
namespace {

/// As much as the caller's thread has (CMakeLists.txt).
constexpr std::uint32_t kStackBytes = std::uint32_t{1} << 20;

struct Engine {
  std::unique_ptr<const Backend> threaded;
  std::vector<const Backend*> backends{Backends().begin(), Backends().end()};
};

Engine& TheEngine() {
  static Engine engine;
  return engine;
}

void Serve(int worker) { ServeSimdBackend(*TheEngine().threaded, worker); }

void GiveUp() { GiveUpServing(*TheEngine().threaded); }

template <class Function>
std::uintptr_t Place(Function* function) {
  return reinterpret_cast<std::uintptr_t>(function);
}

}  // namespace

std::vector<ThreadStart> StartThreads(int threads) {
  Engine& engine = TheEngine();
  engine.threaded = MakeSimdBackend(threads);
  std::replace(engine.backends.begin(), engine.backends.end(), &SimdBackend(), engine.threaded.get());
  std::vector<ThreadStart> starts;
  for (int worker = 1; worker < threads; ++worker) {
    const auto stack = reinterpret_cast<std::uintptr_t>(::operator new(kStackBytes, std::align_val_t(16)));
    starts.push_back(
        {Place(&_emscripten_wasm_worker_initialize), Place(&Serve), Place(&GiveUp), stack, kStackBytes, worker});
  }
  return starts;
}

std::span<const Backend* const> EngineBackends() { return TheEngine().backends; }

}  // namespace headlens
