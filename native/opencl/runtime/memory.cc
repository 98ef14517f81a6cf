// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/memory.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace headlens::opencl {
namespace {

/// They are searched one by one, so they are few.
constexpr std::size_t kMostIdleBuffers = 64;

/// Sizes are rounded up by at most an eighth, so that the next call, with a few keys more, asks for the same size.
Index SizeFor(Index bytes) {
  constexpr Index kLeast = 4096, kMostUnit = Index{1} << 20;
  const auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  const Index unit = std::clamp(power / 8, kLeast, kMostUnit);
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

MemoryPool::MemoryPool(const cl::Context& context, Index most_idle) : context_(context), most_idle_(most_idle) {
  idle_->buffers.reserve(kMostIdleBuffers);
}

Memory MemoryPool::Take(Index bytes, Index largest) {
  Index size = most_idle_ > 0 ? std::max(std::min(SizeFor(bytes), largest), bytes) : bytes;
  cl::Buffer buffer = Find(size, &size);
  if (!buffer()) buffer = cl::Buffer(context_, CL_MEM_READ_WRITE, static_cast<std::size_t>(size));
  const auto give_back = [idle = std::weak_ptr(idle_), most = most_idle_, size](const cl::Buffer* given) {
    const std::unique_ptr<const cl::Buffer> owner(given);
    if (const auto pool = idle.lock()) GiveBack(*pool, most, {*given, size});
  };
  return Memory(new cl::Buffer(std::move(buffer)), give_back);
}

bool MemoryPool::Free() const {
  const std::lock_guard lock(idle_->mutex);
  const bool any = !idle_->buffers.empty();
  idle_->buffers.clear();
  idle_->bytes = 0;
  return any;
}

/// The latest buffer of about that size, whose own size goes to `size`; null where there is none.
cl::Buffer MemoryPool::Find(Index bytes, Index* size) const {
  const std::lock_guard lock(idle_->mutex);
  auto& buffers = idle_->buffers;
  const auto found = std::find_if(buffers.rbegin(), buffers.rend(), [&](const Buffer& candidate) {
    return candidate.bytes >= bytes && candidate.bytes <= bytes + bytes / 4;
  });
  if (found == buffers.rend()) return {};
  const Buffer taken = std::move(*found);
  buffers.erase(std::next(found).base());
  idle_->bytes -= taken.bytes;
  *size = taken.bytes;
  return taken.buffer;
}

/// When there are too many idle buffers, those that have been idle for longest are freed.
void MemoryPool::GiveBack(Idle& idle, Index most, Buffer buffer) {
  if (buffer.bytes > most) return;
  const std::lock_guard lock(idle.mutex);
  auto& buffers = idle.buffers;
  while (buffers.size() == kMostIdleBuffers || idle.bytes + buffer.bytes > most) {
    idle.bytes -= buffers.front().bytes;
    buffers.erase(buffers.begin());
  }
  idle.bytes += buffer.bytes;
  buffers.push_back(std::move(buffer));
}

}  // namespace headlens::opencl
