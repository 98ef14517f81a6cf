// SPDX-License-Identifier: Apache-2.0
/// All OpenCL calls of this program go through here (the linker's --wrap). Any of them can be made to fail, and the
/// objects that they create are counted.
#ifndef HEADLENS_TESTS_NATIVE_OPENCL_FAULTS_H_
#define HEADLENS_TESTS_NATIVE_OPENCL_FAULTS_H_

#include <string>
#include <vector>

#include "opencl/runtime/status.h"

namespace headlens::testing {

/// The names of the calls that can fail.
std::vector<std::string> FallibleCalls();

enum class FaultKind {
  kOnce,  ///< the call does nothing and fails
  kLost,  ///< the same, and all later calls fail, too: the device is lost
  kLate,  ///< the call does nothing and succeeds, and the next call that waits for the device fails
};

/// During its lifetime, call number `number` of `call`, counted from 1, fails with `status`. Only one may exist at a
/// time.
class Fault {
 public:
  Fault(std::string call, int number, cl_int status, FaultKind kind = FaultKind::kOnce);
  ~Fault();
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

  /// Returns true when there was such a call and, for one that fails late, a later call that waited.
  bool happened() const;
};

/// The references to OpenCL objects that this program holds, by kind: "memory 3, kernels 0, …".
std::string HeldReferences();

/// The references to memory.
long HeldMemory();

/// During its lifetime no buffer's memory is released, so each has its own addresses. Oclgrind 21.10 does not notice a
/// release: what a kernel writes into a new buffer in place of a smaller one counts as never written.
class KeptMemory {
 public:
  KeptMemory();
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
};

}  // namespace headlens::testing

#endif  // HEADLENS_TESTS_NATIVE_OPENCL_FAULTS_H_
