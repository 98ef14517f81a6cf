// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/multiply.h"

#include <span>

#include "opencl/matrix/lanes.h"
#include "opencl/matrix/product_kind.h"
#include "opencl/matrix/tile.h"
#include "opencl/matrix/warp_tile.h"

namespace headlens::opencl {
namespace {

/// The chosen candidate, or the first after it with which the compiled kernel runs in groups as large as it asks for.
template <class Candidate>
const Candidate& ChooseFor(Session& session, const Product& p, std::span<const Candidate> candidates) {
  std::size_t i = Choose(session, TunableOf(KindOf(session, p)));
  while (i + 1 < candidates.size() && !RunsWhole(session, p, candidates[i])) ++i;
  return candidates[i];
}

}  // namespace

void Multiply(Session& session, const Product& p) {
  if (!MultiplyOnMatrixUnits(session, p)) MultiplyWithoutUnits(session, p);
}

void MultiplyWithoutUnits(Session& session, const Product& p) {
  if (p.m <= Lanes::kMostRows) {
    Multiply(session, p, ChooseFor(session, p, LanesFor(p.b_columns)));
  } else {
    Multiply(session, p, ChooseFor(session, p, Tiles()));
  }
}

}  // namespace headlens::opencl
