// SPDX-License-Identifier: Apache-2.0
#include "cache.h"

#include <memory>

#include "convert.h"

namespace headlens {
namespace {

val CreateCache(double window, bool halves) {
  return Guard([&] { return val(std::make_unique<CacheHandle>(static_cast<Index>(window), KeptAs(halves))); });
}

EMSCRIPTEN_BINDINGS(cache) {
  emscripten::function("createCache", &CreateCache);
  emscripten::class_<CacheHandle>("Cache")
      .function("length", &CacheHandle::Length)
      .function("reset", &CacheHandle::Reset)
      .function("truncate", &CacheHandle::Truncate);
}

}  // namespace
}  // namespace headlens
