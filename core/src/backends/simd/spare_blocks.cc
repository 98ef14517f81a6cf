// SPDX-License-Identifier: Apache-2.0
#include "backends/simd/spare_blocks.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace headlens::simd {
namespace {

/// Smaller blocks are left to the allocator.
constexpr Index kLeast = (Index{2} << 20) / Index{sizeof(float)};
/// The limit on all kept blocks together.
constexpr Index kMost = 16 * kLeast;

}  // namespace

/// Reserves the memory here, since giving a block back must not throw.
SpareBlocks::SpareBlocks() { spare_.reserve(static_cast<std::size_t>(kMost / kLeast) + 1); }

Tensor SpareBlocks::Allocate(Shape shape) {
  const Index size = ElementCount(shape);
  if (size < kLeast) return Tensor(std::move(shape));
  const auto block = std::make_shared<Buffer<float>>(Take(size));
  const auto give_back = [block, to = weak_from_this()](float*) {
    if (const auto spare = to.lock()) spare->GiveBack(std::move(*block));
  };
  return Tensor(std::move(shape), std::shared_ptr<float>(block->data(), give_back));
}

/// Returns a spare block that is at most twice as large as needed, or a new one.
Buffer<float> SpareBlocks::Take(Index size) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = [size](const Buffer<float>& block) { return block.size() >= size && block.size() / 2 <= size; };
    const auto it = std::find_if(spare_.rbegin(), spare_.rend(), fits);
    if (it != spare_.rend()) {
      Buffer<float> block = std::move(*it);
      spare_.erase(std::next(it).base());
      return block;
    }
  }
  return Buffer<float>(size);
}

void SpareBlocks::GiveBack(Buffer<float> block) {
  if (block.size() > kMost) return;
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(block));
  const auto size = [this] {
    return std::accumulate(spare_.begin(), spare_.end(), Index{0},
                           [](Index sum, const Buffer<float>& spare) { return sum + spare.size(); });
  };
  while (size() > kMost) spare_.erase(spare_.begin());
}

}  // namespace headlens::simd
