// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/status.h"

#include <string>

namespace headlens::opencl {
namespace {

struct Meaning {
  cl_int status;
  const char* name;
  const char* words;
};

constexpr Meaning kMeanings[] = {
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND", "there is no such device"},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE", "the device is lost or in use"},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE", "the device has no compiler"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE", "the device has no memory left"},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", "the device ran out of resources, or a kernel failed on it"},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY", "the driver has no memory left"},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
     "a kernel failed on the device"},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE", "the kernels do not compile"},
    {CL_INVALID_VALUE, "CL_INVALID_VALUE", "an argument is invalid"},
    {CL_INVALID_DEVICE, "CL_INVALID_DEVICE", "the device is invalid"},
    {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT", "the context is invalid"},
    {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE", "the command queue is invalid: the device may be lost"},
    {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT", "a buffer is invalid"},
    {CL_INVALID_BINARY, "CL_INVALID_BINARY", "the program's binary is invalid"},
    {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS", "the compiler refuses its options"},
    {CL_INVALID_PROGRAM, "CL_INVALID_PROGRAM", "the program is invalid"},
    {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE", "the program was not built for the device"},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME", "the program has no such kernel"},
    {CL_INVALID_KERNEL, "CL_INVALID_KERNEL", "the kernel is invalid"},
    {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS", "not all arguments of the kernel are set"},
    {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE", "an argument of the kernel has another size"},
    {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE", "the device refuses the work-group size"},
    {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE", "the device refuses the work-group size"},
    {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE", "the device refuses the number of work-items"},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE", "the device refuses a buffer of this size"},
    {-9999, "-9999", "NVIDIA's driver reports that a kernel failed, or that the device is lost"},
};

}  // namespace

bool IsMemory(cl_int status) {
  return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY ||
         status == CL_INVALID_BUFFER_SIZE;
}

Error Explained(const cl::Error& error) {
  const auto code = IsMemory(error.err()) ? ErrorCode::kMemory : ErrorCode::kUnsupported;
  const std::string call = "OpenCL: " + std::string(error.what());
  for (const auto& [status, name, words] : kMeanings)
    if (status == error.err()) return {code, {call, ": ", words, " (", name, ")"}};
  return {code, {call, ": status ", error.err()}};
}

}  // namespace headlens::opencl
