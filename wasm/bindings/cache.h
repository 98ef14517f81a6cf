// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_WASM_BINDINGS_CACHE_H_
#define HEADLENS_WASM_BINDINGS_CACHE_H_

#include "headlens/backend.h"
#include "headlens/problem.h"

namespace headlens {

/// The keys and values of the tokens so far.
class CacheHandle {
 public:
  CacheHandle(Index window, DType dtype) : cache_(window, SimdBackend(), dtype) {}

  double Length() const { return static_cast<double>(cache_.length()); }
  void Reset() { cache_.Reset(); }
  /// Takes back the tokens of the last run, whose results could not be handed over.
  void Truncate(double length) { cache_.Truncate(static_cast<Index>(length)); }
  KvCache& cache() { return cache_; }

 private:
  KvCache cache_;
};

}  // namespace headlens

#endif  // HEADLENS_WASM_BINDINGS_CACHE_H_
