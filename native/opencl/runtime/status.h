// SPDX-License-Identifier: Apache-2.0
/// The Khronos C++ bindings as the project uses them, and the meaning of their statuses.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_STATUS_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_STATUS_H_

#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <utility>

#include "headlens/error.h"

namespace headlens::opencl {

/// Returns true when a status says that there was too little memory.
bool IsMemory(cl_int status);

/// The error that says what a status means: "OpenCL: clCreateBuffer: the device has no memory left
/// (CL_MEM_OBJECT_ALLOCATION_FAILURE)". It is kMemory where that is about memory, and else kUnsupported.
Error Explained(const cl::Error& error);

/// Returns f(); a failed OpenCL call becomes an Error.
template <class F>
decltype(auto) Explaining(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const cl::Error& error) {
    throw Explained(error);
  }
}

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_STATUS_H_
