// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_SOURCE_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_SOURCE_H_

#include <vector>

namespace headlens::opencl {

/// The text of some kernels, and what is put before it when they are compiled.
struct Source {
  const char* name;
  std::vector<const char*> common;
  const char* text;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_SOURCE_H_
