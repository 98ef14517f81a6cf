// SPDX-License-Identifier: Apache-2.0
/// Masks of two to four dimensions as [B, H, T, S].
#ifndef HEADLENS_SRC_ATTENTION_MASKS_BROADCAST_H_
#define HEADLENS_SRC_ATTENTION_MASKS_BROADCAST_H_

#include <array>
#include <string>

#include "attention/masks/mask_rule.h"
#include "base/checks.h"
#include "by_name/inputs.h"

namespace headlens {

template <class T>
void ExpectMaskSizes(const AttentionProblem& p, const View<const T, 4>& mask) {
  const Shape expected = {p.q.shape[0], p.q.shape[1], p.q.shape[2], MaskableKeys(p)};
  if (SizesOf(mask) == expected) return;
  throw Error(ErrorCode::kShape, "attn_mask has shape " + ToString(SizesOf(mask)) + ", expected " + ToString(expected) +
                                     " (batch, heads, queries, keys)");
}

template <class T>
View<const T, 4> BroadcastMask(std::string_view name, const T* data, const Shape& shape, const Sizes& n) {
  const auto fail = [&]() -> View<const T, 4> {
    throw Error(ErrorCode::kShape,
                std::string(name) + " has shape " + ToString(shape) +
                    ", expected (queries, keys) = " + ToString({n.queries, n.keys}) +
                    ", (heads, queries, keys) = " + ToString({n.heads, n.queries, n.keys}) +
                    ", (batch * heads, queries, keys) = " + ToString({n.batch * n.heads, n.queries, n.keys}) +
                    " or (batch, heads, queries, keys) = " + ToString({n.batch, n.heads, n.queries, n.keys}));
  };
  Shape full = shape;  // as [B, H, T, S], with 1 where it is broadcast
  if (shape.size() == 2) full.insert(full.begin(), {1, 1});
  if (shape.size() == 3) {
    const Index lead = shape[0];
    const bool by_head = lead != n.batch * n.heads && lead == n.heads;
    if (lead == n.batch * n.heads) {
      full = {n.batch, n.heads, shape[1], shape[2]};
    } else {
      full = {1, by_head ? n.heads : lead, shape[1], shape[2]};
    }
  }
  if (full.size() != 4) return fail();
  const std::array<Index, 4> wanted = {n.batch, n.heads, n.queries, n.keys};
  View<const T, 4> view{data, wanted, {}};
  Index stride = 1;
  for (std::size_t i = 4; i-- > 0;) {
    if (full[i] != wanted[i] && full[i] != 1) return fail();
    view.strides[i] = full[i] == wanted[i] && wanted[i] != 1 ? stride : 0;
    if (i == 3) view.strides[i] = full[i] == 1 && wanted[i] != 1 ? 0 : 1;
    stride *= full[i];
  }
  return view;
}

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_MASKS_BROADCAST_H_
