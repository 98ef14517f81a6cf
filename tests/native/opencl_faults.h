// SPDX-License-Identifier: Apache-2.0
/// The OpenCL calls of this program pass through here (the linker's --wrap): any of them can be made to fail, and what
/// they create is counted.
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
  kLost,  ///< and so does every later one: the device is gone
  kLate,  ///< the call does nothing and succeeds; the next that waits for the device fails
};

/// While it lives, call number `number` of `call`, counted from 1, goes wrong with `status`. One at a time.
class Fault {
 public:
  Fault(std::string call, int number, cl_int status, FaultKind kind = FaultKind::kOnce);
  ~Fault();
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

  /// Whether there was such a call, and, for one that fails late, such a wait.
  bool happened() const;
};

/// References to OpenCL objects that this program has and not yet released, by kind: "memory 3, kernels 0, …".
std::string HeldReferences();

/// Those to memory.
long HeldMemory();

/// While it lives, the memory of no buffer is given back: each has addresses of its own. Oclgrind 21.10 does not notice
/// that memory is given back: what a kernel writes into a new buffer where a smaller one was counts as never written.
class KeptMemory {
 public:
  KeptMemory();
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
};

}  // namespace headlens::testing

#endif  // HEADLENS_TESTS_NATIVE_OPENCL_FAULTS_H_
