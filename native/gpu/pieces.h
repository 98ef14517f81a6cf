// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_GPU_PIECES_H_
#define HEADLENS_NATIVE_GPU_PIECES_H_

#include <algorithm>

#include "headlens/tensor.h"

namespace headlens::gpu {

/// Calls f(first, count) for consecutive pieces of `all`, each of at most `most`.
template <class F>
void InPieces(Index all, Index most, const F& f) {
  for (Index first = 0; first < all; first += most) f(first, std::min(most, all - first));
}

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_PIECES_H_
