// SPDX-License-Identifier: Apache-2.0
/// The engine as a whole: its version, its SIMD target, its threads and its memory.
#include <malloc.h>

#include "../threads.h"
#include "convert.h"
#include "headlens/version.h"

namespace headlens {
namespace {

/// Gives an array of ThreadStart.
val StartThreadsForJs(int threads) {
  return Guard([&] {
    val starts = val::array();
    for (const ThreadStart& start : StartThreads(threads)) {
      val object = val::object();
      object.set("prepare", start.prepare);
      object.set("serve", start.serve);
      object.set("giveUp", start.give_up);
      object.set("stack", start.stack);
      object.set("stackBytes", start.stack_bytes);
      object.set("worker", start.worker);
      starts.call<void>("push", object);
    }
    return starts;
  });
}

double HeapBytes() { return static_cast<double>(mallinfo().uordblks); }

EMSCRIPTEN_BINDINGS(engine) {
  emscripten::function("version", +[] { return std::string(Version()); });
  emscripten::function("simdTarget", +[] { return std::string(SimdTarget()); });
  emscripten::function("startThreads", &StartThreadsForJs);
  emscripten::function("heapBytes", &HeapBytes);
}

}  // namespace
}  // namespace headlens
