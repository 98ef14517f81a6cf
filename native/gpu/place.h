// SPDX-License-Identifier: Apache-2.0
/// Places of rows of heads in a device's memory.
#ifndef HEADLENS_NATIVE_GPU_PLACE_H_
#define HEADLENS_NATIVE_GPU_PLACE_H_

#include "gpu/kernel_arguments.h"
#include "headlens/device.h"

namespace headlens::gpu {

/// A launch that works on one head alone.
inline constexpr Heads kOneHead{0, 1, 1};

/// A single matrix whose rows are `row` elements apart.
inline Place MatrixPlace(Index row, Index base = 0) { return {base, 0, 0, 0, row}; }

/// Dense rows of those heads, in the order in which a launch counts them.
inline Place DensePlace(const Heads& heads, Index rows, Index width) {
  const Index member = rows * width, group = heads.members * member;
  return {-heads.first * group, heads.groups * group, group, member, width};
}

/// A place whose rows are the same for all members of a group, as query heads share the keys of theirs.
inline Place SharedByMembers(Place place) {
  place.member = 0;
  return place;
}

/// Views of [B, H, n, width] from element `first` of a buffer on, each head of which is a group by itself.
template <class T>
Place HeadsPlace(Index first, const DeviceView<T, 4>& view) {
  return {first, view.strides[0], view.strides[1], 0, view.strides[2]};
}

/// The number of elements that kernels read as one, where all rows begin at multiples of this number.
inline constexpr Index kVector = 4;

/// Returns true when all rows begin at multiples of `count` elements: where a vector may.
inline bool IsAligned(const Place& p, Index count = kVector) {
  return (p.base | p.batch | p.group | p.member | p.row) % count == 0;
}

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_PLACE_H_
