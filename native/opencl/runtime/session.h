// SPDX-License-Identifier: Apache-2.0
/// A device that is open: its context, its queue, the programs built for it, and memory there.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_SESSION_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_SESSION_H_

#include <list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "headlens/backend.h"
#include "opencl/runtime/devices.h"
#include "opencl/runtime/memory.h"
#include "opencl/runtime/residents.h"
#include "opencl/runtime/status.h"
#include "opencl/tuning/tuning.h"

namespace headlens::opencl {

/// One of the sources in kernels/: what precedes it, and itself.
struct Source {
  const char* name;
  std::vector<const char*> common;
  const char* text;
};

extern const Source kMatrixSource, kVectorsSource, kPartsSource, kWeightsSource, kLayersSource, kRowsSource,
    kOnlineSource, kMergeSource, kRoundSource, kLimitsSource, kMmaProbeSource, kMatrixMmaSource, kOnlineMmaSource;

/// Work-groups of `items_x` by `items_y` work-items, next to each other in x alone: in other directions devices may
/// have no more than 65535. Kernels find from a group's number what it works on. `global` is how many work-items there
/// are in x, and is rounded up to whole groups.
struct Grid {
  Index global = 1;
  Index items_x = 1, items_y = 1;
};

/// For one thread at a time.
class Session {
 public:
  explicit Session(const Settings& settings);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Waits for all that was launched.
  ~Session();

  const DeviceInfo& device() const { return info_; }

  /// How attention without cells in memory computes.
  Precision precision() const { return settings_.precision; }

  /// No other session of this process has it: buffers belong to the session that made them.
  std::uint64_t id() const { return id_; }

  /// After a failure: whether what is on the device still counts. Not if launched work failed, nor if the device takes
  /// and gives no numbers any more. Statuses do not tell: drivers have the same for a call that was too much.
  bool IsAlive();

  /// Local memory and work-items that a kernel may count on: what the device has, and never more than any GPU has.
  Index local_memory() const;
  Index group_items() const;

  /// What a kernel may count on when it is compiled and its registers are known: never more than group_items().
  Index GroupItemsOf(const Source& source, const std::string& options, const char* name);

  /// What was kept for this device when it was opened.
  const Choices& choices() const { return choices_; }

  /// The largest buffer in bytes.
  Index largest_buffer() const { return static_cast<Index>(info_.largest_allocation); }
  /// How much memory one step of a long computation should take, in bytes.
  Index step_memory() const;

  bool emulates_matrix_units() const { return settings_.emulate_matrix_units; }
  /// Whether the precision asks for matrix units and the device has such as work; found out when first asked.
  bool has_matrix_units();

  /// Memory for `count` elements of T, not set; one element at least. Throws kMemory for more than a buffer can have.
  template <class T>
  Memory Allocate(Index count) {
    return AllocateBytes(count, static_cast<Index>(sizeof(T)));
  }

  /// Memory with a copy of `values`. Few of them wait for nothing that was launched before.
  template <class T>
  Memory Upload(std::span<const T> values) {
    if (values.empty()) return Allocate<T>(0);
    const Memory memory = Allocate<T>(static_cast<Index>(values.size()));
    Write(memory, std::as_bytes(values));
    return memory;
  }

  /// Tensors that live on the device.
  Residents& residents() { return residents_; }
  void Send(const float* p);
  void Fetch(const float* p);

  /// What the floats from `p` on are on the device: those of a resident, or else a copy of these `count`.
  Elements OnDevice(std::span<const float> values);

  /// Copies rows of `width` floats that are so many apart, on the device.
  void CopyRows(const Elements& from, Index from_stride, const Elements& to, Index to_stride, Index rows, Index width);

  /// Reads dense rows of `width` floats, from row `first` on, into rows that are `stride` apart.
  void Download(const Memory& from, Index first, Index rows, Index width, float* to, Index stride);

  /// Reads `bytes` at `offset`.
  void DownloadBytes(const Memory& from, Index offset, Index bytes, void* to);

  /// Runs kernel `name` of `source` built with `options`; arguments in its order, sizes as cl_long.
  template <class... Args>
  void Launch(const Source& source, const std::string& options, const char* name, const Grid& grid,
              const Args&... args) {
    cl::Kernel kernel(Program(source, options), name);
    cl_uint index = 0;
    (kernel.setArg(index++, Argument(args)), ...);
    Enqueue(kernel, grid);
  }

  /// Waits for all that was launched.
  void Finish() {
    work_failed_ = true;  // until it is known
    queue_.finish();
    work_failed_ = false;
    sent_.clear();
    sent_bytes_ = 0;
  }

  /// Between the host and the device so far.
  const Backend::Transfers& transfers() const { return transfers_; }

 private:
  /// Calls move() and counts it as a transfer of so many bytes, after waiting for what was launched before if it has
  /// to.
  template <class F>
  void Transfer(Index bytes, bool waits, const F& move);
  /// Returns f(), which is called once more where the device had too little memory for it but has some that is idle.
  template <class F>
  auto WithMemory(const F& f);
  Memory AllocateBytes(Index count, Index size);
  void Write(const Memory& memory, std::span<const std::byte> values);
  const cl::Program& Program(const Source& source, const std::string& options);
  cl::Program BuildProgram(const Source& source, const std::string& options);
  cl_int Build(const cl::Program& program, const std::string& options) const;
  std::optional<cl::Program> FromCache(const std::string& key, const std::string& options);
  void Enqueue(const cl::Kernel& kernel, const Grid& grid);

  Settings settings_;
  std::uint64_t id_;
  cl::Device device_;
  DeviceInfo info_;
  Choices choices_;
  std::optional<bool> has_matrix_units_;
  std::list<std::vector<std::byte>> sent_;  // what launched copies may still read
  std::size_t sent_bytes_ = 0;
  cl::Context context_;
  cl::CommandQueue queue_;  // in order, as the pool wants it
  MemoryPool pool_;
  cl::Buffer probe_;                             // one number
  std::map<std::string, cl::Program> programs_;  // by source and options
  Residents residents_;
  bool work_failed_ = false;
  Backend::Transfers transfers_;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_SESSION_H_
