// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_PROGRAMS_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_PROGRAMS_H_

#include <map>
#include <optional>
#include <string>

#include "opencl/runtime/device_info.h"
#include "opencl/runtime/source.h"
#include "opencl/runtime/status.h"

namespace headlens::opencl {

/// The programs of a device. Each is compiled, or taken from the cache folder, when it is first asked for.
class Programs {
 public:
  Programs(const cl::Context& context, const cl::Device& device, const DeviceInfo& info)
      : context_(context), device_(device), info_(info) {}

  /// Throws kMemory or kUnsupported with the compiler's log where it does not compile.
  const cl::Program& Get(const Source& source, const std::string& options);

 private:
  cl::Program Make(const Source& source, const std::string& options) const;
  cl::Program Compile(const Source& source, const std::string& text, const std::string& options) const;
  std::optional<cl::Program> FromCache(const std::string& key, const std::string& options) const;
  cl_int Build(const cl::Program& program, const std::string& options) const;

  cl::Context context_;
  cl::Device device_;
  DeviceInfo info_;
  std::map<std::string, cl::Program> programs_;  // by source and options
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_PROGRAMS_H_
