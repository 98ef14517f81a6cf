// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <algorithm>
#include <memory>
#include <new>

extern "C" {

/// Emscripten's own: gives the calling instance its stack and its thread-local data.
void _emscripten_wasm_worker_initialize(void* stack, std::uint32_t bytes);
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
