// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_TESTS_NATIVE_OPENCL_SESSION_H_
#define HEADLENS_TESTS_NATIVE_OPENCL_SESSION_H_

#include "opencl/runtime/session.h"

namespace headlens::testing {

/// One for all tests of kernels: compiling takes long.
inline opencl::Session& Opened() {
  static opencl::Session session{opencl::Settings{}};
  return session;
}

}  // namespace headlens::testing

#endif  // HEADLENS_TESTS_NATIVE_OPENCL_SESSION_H_
