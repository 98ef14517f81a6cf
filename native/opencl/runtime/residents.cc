// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/residents.h"

namespace headlens::opencl {

void Residents::Add(float* host, Index count, Memory buffer) {
  residents_[host] = {.host = host, .count = count, .buffer = std::move(buffer)};
}

void Residents::Remove(const float* host) { residents_.erase(host); }

void Residents::Lose() {
  std::erase_if(residents_, [](const auto& entry) { return entry.second.on_host; });
  for (auto& [host, resident] : residents_) resident.buffer = resident.rounded = Memory();
}

Residents::Map::iterator Residents::Holding(const float* p) {
  const auto it = residents_.lower_bound(p);  // the last that begins at p or before
  if (it == residents_.end() || !std::less<>()(p, it->first + it->second.count)) return residents_.end();
  if (!it->second.buffer)
    throw Error(ErrorCode::kUnsupported,
                "the OpenCL device was lost, and with it what was computed there: load the model again");
  return it;
}

std::optional<Elements> Residents::Find(const float* p, bool writes) {
  const auto it = Holding(p);
  if (it == residents_.end()) return std::nullopt;
  if (writes) {
    it->second.on_host = false;
    it->second.rounded = Memory();
  }
  return Elements{it->second.buffer, p - it->first};
}

Memory Residents::Rounded(const float* p) {
  const auto it = Holding(p);
  return it == residents_.end() ? Memory() : it->second.rounded;
}

void Residents::KeepRounded(const float* p, Memory rounded) {
  const auto it = Holding(p);
  if (it != residents_.end()) it->second.rounded = std::move(rounded);
}

Index Residents::CountAt(const float* p) {
  const auto it = Holding(p);
  return it == residents_.end() ? 0 : it->second.count;
}

Index Residents::BytesAt(const float* p) { return CountAt(p) * static_cast<Index>(sizeof(float)); }

bool Residents::IsStale(const float* p) {
  const auto it = Holding(p);
  return it != residents_.end() && !it->second.on_host;
}

void Residents::Send(const cl::CommandQueue& queue, const float* p) {
  const auto it = Holding(p);
  if (it == residents_.end()) return;
  const auto bytes = static_cast<std::size_t>(it->second.count) * sizeof(float);
  queue.enqueueWriteBuffer(*it->second.buffer, CL_TRUE, 0, bytes, it->second.host);
  it->second.on_host = true;
  it->second.rounded = Memory();
}

void Residents::Fetch(const cl::CommandQueue& queue, const float* p) {
  const auto it = Holding(p);
  if (it == residents_.end()) return;
  const auto bytes = static_cast<std::size_t>(it->second.count) * sizeof(float);
  queue.enqueueReadBuffer(*it->second.buffer, CL_TRUE, 0, bytes, it->second.host);
  it->second.on_host = true;
}

}  // namespace headlens::opencl
