// SPDX-License-Identifier: Apache-2.0
#include "cache.h"

#include <memory>

#include "convert.h"
#include "headlens/model_call.h"

namespace headlens {
namespace {

val CreateCache(const std::string& options) {
  return Guard([&] {
    const auto [window, dtype] = ReadCacheOptions(options);
    return val(std::make_unique<CacheHandle>(window, dtype));
  });
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
