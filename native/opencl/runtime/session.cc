// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>

namespace headlens::opencl {
namespace {

/// Every GPU has this much. A CPU offers more, but kernels that use more would run nowhere else.
constexpr Index kMostLocalMemory = 48 * 1024, kMostGroupItems = 256;

/// An upload of at most kFewBytes is copied, so that the caller need not wait until the device has it. All these copies
/// together have at most kMostSentBytes.
constexpr std::size_t kFewBytes = 64 * 1024, kMostSentBytes = 1024 * 1024;

std::uint64_t NextId() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

/// Keeps copies for as long as the process lives. A driver that has lost its device may still read them, and nothing
/// says when it no longer does. They are no more than kMostSentBytes of each session.
void Abandon(std::list<std::vector<std::byte>> copies) {
  static std::mutex mutex;
  static auto& abandoned = *new std::list<std::vector<std::byte>>;  // threads of drivers outlive what is static
  const std::lock_guard lock(mutex);
  abandoned.splice(abandoned.end(), copies);
}

}  // namespace

Session::Session(const Settings& settings)
    : settings_(settings),
      id_(NextId()),
      device_(ChooseDevice(settings.device)),
      info_(Describe(device_)),
      choices_(KeptChoices(info_)),
      context_(device_),
      queue_(context_, device_),
      pool_(context_, std::min(settings.idle_memory.value_or(step_memory()), step_memory())),
      probe_(context_, CL_MEM_READ_WRITE, sizeof id_),
      programs_(context_, device_, info_) {
  queue_.enqueueWriteBuffer(probe_, CL_TRUE, 0, sizeof id_, &id_);
}

Session::~Session() {
  try {
    Finish();
  } catch (const cl::Error&) {  // the results are not used
    Abandon(std::move(sent_));
  }
}

bool Session::IsAlive() {
  if (work_failed_) return false;
  try {
    std::uint64_t found = 0;
    queue_.enqueueWriteBuffer(probe_, CL_TRUE, 0, sizeof id_, &id_);
    queue_.enqueueReadBuffer(probe_, CL_TRUE, 0, sizeof found, &found);
    return found == id_;
  } catch (const cl::Error&) {
    return false;
  }
}

Index Session::local_memory() const {
  return std::min({settings_.most_local_memory, kMostLocalMemory, static_cast<Index>(info_.local_memory)});
}

Index Session::group_items() const {
  return std::min({settings_.most_group_items, kMostGroupItems, static_cast<Index>(info_.work_group_size)});
}

Index Session::GroupItemsOf(const Source& source, const std::string& options, const char* name) {
  const cl::Kernel kernel(programs_.Get(source, options), name);
  return std::min(group_items(), static_cast<Index>(kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device_)));
}

Index Session::step_memory() const {
  constexpr Index kLeast = Index{256} << 20;
  const auto memory = static_cast<Index>(info_.global_memory);
  const Index suits = is_cpu() ? kLeast : std::max(kLeast, memory / 32);
  return std::min({settings_.step_memory.value_or(suits), largest_buffer(), memory / 8});
}

bool Session::Answer(const std::string& question, const std::function<bool()>& find) {
  const auto known = answers_.find(question);
  return known != answers_.end() ? known->second : answers_.emplace(question, find()).first->second;
}

template <class F>
void Session::Transfer(Index bytes, bool waits, const F& move) {
  if (waits) Finish();
  work_failed_ = waits;  // until it is known
  const auto start = std::chrono::steady_clock::now();
  move();
  work_failed_ = false;
  transfers_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  transfers_.bytes += static_cast<double>(bytes);
}

void Session::Send(const Resident& resident, const float* from) {
  const Index bytes = resident.count * static_cast<Index>(sizeof(float));
  Transfer(bytes, true,
           [&] { queue_.enqueueWriteBuffer(*resident.buffer, CL_TRUE, 0, static_cast<std::size_t>(bytes), from); });
}

void Session::Fetch(const Resident& resident, float* to) {
  DownloadBytes(resident.buffer, 0, resident.count * static_cast<Index>(sizeof(float)), to);
}

template <class F>
auto Session::WithMemory(const F& f) {
  try {
    return f();
  } catch (const cl::Error& error) {
    if (!IsMemory(error.err()) || !pool_.Free()) throw;
  }
  Finish();  // until then drivers keep what launched work uses
  return f();
}

Memory Session::AllocateBytes(Index count, Index size) {
  count = std::max<Index>(count, 1);
  if (count > largest_buffer() / size) {
    throw Wrong(ErrorCode::kMemory, "a buffer", "has", {count, " elements"},
                {"at most ", largest_buffer() / size, " on ", info_.name});
  }
  return WithMemory([&] { return pool_.Take(count * size, largest_buffer()); });
}

void Session::Write(const Memory& memory, std::span<const std::byte> values) {
  const bool few = values.size() <= kFewBytes;
  if (!few || sent_bytes_ + values.size() > kMostSentBytes) Finish();
  std::list<std::vector<std::byte>> copy;
  if (few) copy.emplace_back(values.begin(), values.end());
  const std::byte* const from = few ? copy.front().data() : values.data();
  Transfer(static_cast<Index>(values.size()), false, [&] {
    WithMemory([&] { return queue_.enqueueWriteBuffer(*memory, few ? CL_FALSE : CL_TRUE, 0, values.size(), from); });
  });
  if (few) sent_bytes_ += values.size();
  sent_.splice(sent_.end(), copy);
}

Resident* Session::ResidentOf(Storage* storage) const {
  if (!storage) return nullptr;
  auto* const resident = dynamic_cast<Resident*>(storage);
  if (!resident) throw Error(ErrorCode::kUnsupported, "a tensor is where another backend computes: read it back first");
  if (resident->session_id != id_)
    throw Error(ErrorCode::kUnsupported,
                "the OpenCL device was lost, and with it what was computed there: load the model again");
  return resident;
}

std::optional<Elements> Session::Find(const DevicePointer<const float>& p) const {
  const Resident* const resident = ResidentOf(p.storage);
  return resident ? std::optional(Elements{resident->buffer, p.first}) : std::nullopt;
}

std::optional<Elements> Session::FindToWrite(const DevicePointer<float>& p) const {
  if (Resident* const resident = ResidentOf(p.storage)) resident->rounded = Memory();
  return Find(p);
}

Elements Session::OnDevice(const DeviceView<const float, 1>& values) {
  if (const auto found = Find(values.data)) return *found;
  return {Upload(std::span(values.data.host(), static_cast<std::size_t>(values.shape[0]))), 0};
}

void Session::CopyRows(const Elements& from, Index from_stride, const Elements& to, Index to_stride, Index rows,
                       Index width) {
  if (rows == 0 || width == 0) return;
  const auto bytes = [](Index floats) { return static_cast<std::size_t>(floats) * sizeof(float); };
  if (rows == 1) {
    queue_.enqueueCopyBuffer(*from.buffer, *to.buffer, bytes(from.first), bytes(to.first), bytes(width));
    return;
  }
  const auto origin = [&](Index first, Index stride) -> std::array<std::size_t, 3> {
    return {bytes(first % stride), static_cast<std::size_t>(first / stride), 0};
  };
  queue_.enqueueCopyBufferRect(*from.buffer, *to.buffer, origin(from.first, from_stride), origin(to.first, to_stride),
                               {bytes(width), static_cast<std::size_t>(rows), 1}, bytes(from_stride), 0,
                               bytes(to_stride), 0);
}

void Session::Download(const Memory& from, Index first, Index rows, Index width, float* to, Index stride) {
  if (rows == 0 || width == 0) return;
  constexpr auto kFloat = static_cast<Index>(sizeof(float));
  if (rows == 1 || stride == width) return DownloadBytes(from, first * width * kFloat, rows * width * kFloat, to);
  const auto size = [](Index bytes) { return static_cast<std::size_t>(bytes); };
  Transfer(rows * width * kFloat, true, [&] {
    queue_.enqueueReadBufferRect(*from, CL_TRUE, {0, size(first), 0}, {0, 0, 0}, {size(width * kFloat), size(rows), 1},
                                 size(width * kFloat), 0, size(stride * kFloat), 0, to);
  });
}

void Session::DownloadBytes(const Memory& from, Index offset, Index bytes, void* to) {
  Transfer(bytes, true, [&] {
    queue_.enqueueReadBuffer(*from, CL_TRUE, static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes), to);
  });
}

void Session::Enqueue(const cl::Kernel& kernel, const Grid& grid) {
  const Index groups = (grid.global + grid.items_x - 1) / grid.items_x;
  const auto x = static_cast<std::size_t>(grid.items_x), y = static_cast<std::size_t>(grid.items_y);
  WithMemory([&] {
    return queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(static_cast<std::size_t>(groups) * x, y),
                                       cl::NDRange(x, y));
  });
}

}  // namespace headlens::opencl
