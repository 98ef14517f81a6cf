// SPDX-License-Identifier: Apache-2.0
/// A device that is open, with its queue, its programs and its memory.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_SESSION_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_SESSION_H_

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/group_limits.h"
#include "headlens/backend.h"
#include "opencl/runtime/choices.h"
#include "opencl/runtime/devices.h"
#include "opencl/runtime/memory.h"
#include "opencl/runtime/programs.h"
#include "opencl/runtime/resident.h"
#include "opencl/runtime/settings.h"
#include "opencl/runtime/status.h"

namespace headlens::opencl {

/// Work-groups of `items_x` by `items_y` work-items. They lie next to each other in x alone, since devices may have no
/// more than 65535 in other directions; kernels find from a group's number what it works on. `global` is the number of
/// work-items in x, which is rounded up to whole groups.
struct Grid {
  Index global = 1;
  Index items_x = 1, items_y = 1;
};

/// An open device. Only one thread at a time may use it.
class Session {
 public:
  explicit Session(const Settings& settings);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Waits for all that was launched.
  ~Session();

  const DeviceInfo& device() const { return info_; }

  const Settings& settings() const { return settings_; }
  Precision precision() const { return settings_.precision; }

  /// A number that no other session of this process has. Buffers belong to the session that made them.
  std::uint64_t id() const { return id_; }

  /// Returns true when the data on the device can still be used after a failure. It cannot when launched work failed,
  /// or when numbers can no longer be copied to the device and back. The status of the failure does not show this,
  /// since drivers report the same status for a call that merely asked for too much.
  bool IsAlive();

  /// The local memory and work-items that a kernel may use: those of the device, but never more than every GPU has.
  Index local_memory() const;
  Index group_items() const;
  gpu::GroupLimits limits() const { return {group_items(), local_memory()}; }
  Index compute_units() const { return static_cast<Index>(info_.compute_units); }
  bool is_cpu() const { return info_.type == "CPU"; }

  /// The work-items that a kernel can have once it is compiled and its registers are known; never more than
  /// group_items().
  Index GroupItemsOf(const Source& source, const std::string& options, const char* name);

  /// The choices that were kept for this device when it was opened.
  const Choices& choices() const { return choices_; }

  /// The largest buffer in bytes.
  Index largest_buffer() const { return static_cast<Index>(info_.largest_allocation); }
  /// The memory that one step of a long computation should take, in bytes.
  Index step_memory() const;

  /// The answer to a question about the device that takes long to find out: find() is called once in a session.
  bool Answer(const std::string& question, const std::function<bool()>& find);

  /// Memory for `count` elements of T, and for one at least. It is not set. Throws kMemory for more than a buffer can
  /// have.
  template <class T>
  Memory Allocate(Index count) {
    return AllocateBytes(count, static_cast<Index>(sizeof(T)));
  }

  /// Memory with a copy of `values`. A small copy does not wait for earlier launches.
  template <class T>
  Memory Upload(std::span<const T> values) {
    if (values.empty()) return Allocate<T>(0);
    const Memory memory = Allocate<T>(static_cast<Index>(values.size()));
    Write(memory, std::as_bytes(values));
    return memory;
  }

  /// Returns true when a buffer can hold `count` floats.
  bool HasRoomFor(Index count) const { return count <= largest_buffer() / static_cast<Index>(sizeof(float)); }

  /// A tensor of `count` floats that lives on the device.
  std::shared_ptr<Resident> MakeResident(Index count) {
    return std::make_shared<Resident>(id_, count, Allocate<float>(count));
  }
  /// The resident that a view is of; null for memory of the host. Throws kUnsupported for a tensor that was lost with
  /// an earlier session, or is another backend's.
  Resident* ResidentOf(Storage* storage) const;

  /// Returns the place on the device at which a view begins, or nothing when it is on the host. FindToWrite also drops
  /// the tensor's rounded copy, which would be out of date.
  std::optional<Elements> Find(const DevicePointer<const float>& p) const;
  std::optional<Elements> FindToWrite(const DevicePointer<float>& p) const;

  /// These values on the device: the elements of a resident, or else a copy.
  Elements OnDevice(const DeviceView<const float, 1>& values);

  /// Writes all elements of a resident, and reads them.
  void Send(const Resident& resident, const float* from);
  void Fetch(const Resident& resident, float* to);

  /// Copies rows of `width` floats on the device, where the strides say how far apart they are.
  void CopyRows(const Elements& from, Index from_stride, const Elements& to, Index to_stride, Index rows, Index width);

  /// Reads dense rows of `width` floats, from row `first` on, into rows that are `stride` apart.
  void Download(const Memory& from, Index first, Index rows, Index width, float* to, Index stride);

  /// Reads `bytes` bytes from `offset` on.
  void DownloadBytes(const Memory& from, Index offset, Index bytes, void* to);

  /// Runs kernel `name` of `source`, built with `options`. The arguments are in the kernel's order, sizes as cl_long.
  template <class... Args>
  void Launch(const Source& source, const std::string& options, const char* name, const Grid& grid,
              const Args&... args) {
    cl::Kernel kernel(programs_.Get(source, options), name);
    cl_uint index = 0;
    (kernel.setArg(index++, Argument(args)), ...);
    Enqueue(kernel, grid);
  }

  /// Lets the device begin with all that was launched.
  void Start() { queue_.flush(); }

  /// Waits for all that was launched.
  void Finish() {
    work_failed_ = true;  // until it is known
    queue_.finish();
    work_failed_ = false;
    sent_.clear();
    sent_bytes_ = 0;
  }

  /// The bytes that moved between the host and the device so far, and their time.
  const Backend::Transfers& transfers() const { return transfers_; }

 private:
  /// Calls move() and counts it as a transfer of `bytes` bytes. With `waits` it first waits for all that was launched.
  template <class F>
  void Transfer(Index bytes, bool waits, const F& move);
  /// Returns f(). When it runs out of memory, idle buffers are freed and it is called once more.
  template <class F>
  auto WithMemory(const F& f);
  Memory AllocateBytes(Index count, Index size);
  void Write(const Memory& memory, std::span<const std::byte> values);
  void Enqueue(const cl::Kernel& kernel, const Grid& grid);

  Settings settings_;
  std::uint64_t id_;
  cl::Device device_;
  DeviceInfo info_;
  Choices choices_;
  std::map<std::string, bool> answers_;
  std::list<std::vector<std::byte>> sent_;  // launched copies may still read these
  std::size_t sent_bytes_ = 0;
  cl::Context context_;
  cl::CommandQueue queue_;  // in order, as the pool wants it
  MemoryPool pool_;
  cl::Buffer probe_;  // one number
  Programs programs_;
  bool work_failed_ = false;
  Backend::Transfers transfers_;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_SESSION_H_
