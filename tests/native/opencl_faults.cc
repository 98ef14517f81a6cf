// SPDX-License-Identifier: Apache-2.0
#include "opencl_faults.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace headlens::testing {
namespace {

bool StartsWith(std::string_view text, std::string_view begin) { return text.substr(0, begin.size()) == begin; }

bool CountsReferences(std::string_view call) { return StartsWith(call, "clRetain") || StartsWith(call, "clRelease"); }

struct Injection {
  std::string call;
  int number = 0;
  cl_int status = CL_SUCCESS;
  FaultKind kind = FaultKind::kOnce;
  int calls = 0;
  bool pending = false, happened = false;
};

std::mutex mutex;  // for everything below except the counts
bool is_active = false;
Injection active;

enum class Outcome { kRuns, kFails, kDoesNothing };

Outcome Decide(std::string_view call, bool waits) {
  const std::lock_guard lock(mutex);
  if (!is_active || CountsReferences(call)) return Outcome::kRuns;
  const bool is_it = call == active.call && ++active.calls == active.number;
  if (is_it && active.kind == FaultKind::kLate) {
    active.pending = true;
    return Outcome::kDoesNothing;
  }
  const bool fails = is_it || (active.happened && active.kind == FaultKind::kLost) || (active.pending && waits);
  if (!fails) return Outcome::kRuns;
  active.pending = false;
  active.happened = true;
  return Outcome::kFails;
}

/// The number of references to objects of one type.
template <class T>
std::atomic<long> held = 0;

/// The buffers that are kept, when they are kept.
std::optional<std::vector<cl_mem>> kept;

void Keep(cl_mem memory) {
  {
    const std::lock_guard lock(mutex);
    if (!kept) return;
    kept->push_back(memory);
  }
  clRetainMemObject(memory);
}

/// Runs a call unless it has to fail, and counts the object that it creates, retains or releases. A call that retains
/// or releases an object has no other argument.
template <class Result, class... Parameters>
Result Through(std::string_view call, Result (*real)(Parameters...), Parameters... arguments) {
  const auto last = std::get<sizeof...(arguments) - 1>(std::tuple(arguments...));
  const Outcome outcome = Decide(call, StartsWith(call, "clEnqueueRead") || call == "clFinish");
  if constexpr (std::is_pointer_v<Result>) {  // the last argument of a call that creates an object receives the status
    if (outcome == Outcome::kFails && last) *last = active.status;
    const Result result = outcome == Outcome::kFails ? nullptr : real(arguments...);
    if (result) ++held<Result>;
    if constexpr (std::is_same_v<Result, cl_mem>)
      if (result) Keep(result);
    return result;
  } else {
    if (outcome != Outcome::kRuns) return outcome == Outcome::kFails ? active.status : CL_SUCCESS;
    const cl_int status = real(arguments...);
    if (status == CL_SUCCESS && StartsWith(call, "clRetain")) ++held<std::remove_const_t<decltype(last)>>;
    if (status == CL_SUCCESS && StartsWith(call, "clRelease")) --held<std::remove_const_t<decltype(last)>>;
    return status;
  }
}

std::vector<std::string>& Wrapped() {
  static std::vector<std::string> names;
  return names;
}

struct Registration {
  explicit Registration(const char* call) { Wrapped().emplace_back(call); }
};

template <class Function>
struct Signature;
template <class R, class... Parameters>
struct Signature<R(Parameters...)> {
  using Result = R;
  template <std::size_t I>
  using Parameter = std::tuple_element_t<I, std::tuple<Parameters...>>;
};

}  // namespace

std::vector<std::string> FallibleCalls() {
  std::vector<std::string> calls = Wrapped();
  std::erase_if(calls, CountsReferences);
  return calls;
}

Fault::Fault(std::string call, int number, cl_int status, FaultKind kind) {
  const std::lock_guard lock(mutex);
  active = {std::move(call), number, status, kind};
  is_active = true;
}

Fault::~Fault() {
  const std::lock_guard lock(mutex);
  is_active = false;
}

bool Fault::happened() const {
  const std::lock_guard lock(mutex);
  return active.happened;
}

KeptMemory::KeptMemory() {
  const std::lock_guard lock(mutex);
  kept.emplace();
}

KeptMemory::~KeptMemory() {
  std::vector<cl_mem> buffers;
  {
    const std::lock_guard lock(mutex);
    buffers = std::move(*kept);
    kept.reset();
  }
  for (const cl_mem buffer : buffers) clReleaseMemObject(buffer);
}

long HeldMemory() { return held<cl_mem>; }

std::string HeldReferences() {
  std::string all;
  const auto add = [&](const char* kind, long count) { all += std::string(kind) + " " + std::to_string(count) + ", "; };
  add("contexts", held<cl_context>);
  add("queues", held<cl_command_queue>);
  add("programs", held<cl_program>);
  add("kernels", held<cl_kernel>);
  add("memory", HeldMemory());
  return all;
}

// The linker's --wrap sends calls of clFinish to __wrap_clFinish, and __real_clFinish is the loader's function.
// CMakeLists.txt reads the names of these calls from the lines WRAP(number of parameters, call).

#define PARAMETER(i, call) Signature<decltype(call)>::Parameter<i> a##i
#define PARAMETERS1(call) PARAMETER(0, call)
#define PARAMETERS2(call) PARAMETERS1(call), PARAMETER(1, call)
#define PARAMETERS3(call) PARAMETERS2(call), PARAMETER(2, call)
#define PARAMETERS4(call) PARAMETERS3(call), PARAMETER(3, call)
#define PARAMETERS5(call) PARAMETERS4(call), PARAMETER(4, call)
#define PARAMETERS6(call) PARAMETERS5(call), PARAMETER(5, call)
#define PARAMETERS7(call) PARAMETERS6(call), PARAMETER(6, call)
#define PARAMETERS8(call) PARAMETERS7(call), PARAMETER(7, call)
#define PARAMETERS9(call) PARAMETERS8(call), PARAMETER(8, call)
#define PARAMETERS10(call) PARAMETERS9(call), PARAMETER(9, call)
#define PARAMETERS11(call) PARAMETERS10(call), PARAMETER(10, call)
#define PARAMETERS12(call) PARAMETERS11(call), PARAMETER(11, call)
#define PARAMETERS13(call) PARAMETERS12(call), PARAMETER(12, call)
#define PARAMETERS14(call) PARAMETERS13(call), PARAMETER(13, call)
#define ARGUMENTS1 a0
#define ARGUMENTS2 ARGUMENTS1, a1
#define ARGUMENTS3 ARGUMENTS2, a2
#define ARGUMENTS4 ARGUMENTS3, a3
#define ARGUMENTS5 ARGUMENTS4, a4
#define ARGUMENTS6 ARGUMENTS5, a5
#define ARGUMENTS7 ARGUMENTS6, a6
#define ARGUMENTS8 ARGUMENTS7, a7
#define ARGUMENTS9 ARGUMENTS8, a8
#define ARGUMENTS10 ARGUMENTS9, a9
#define ARGUMENTS11 ARGUMENTS10, a10
#define ARGUMENTS12 ARGUMENTS11, a11
#define ARGUMENTS13 ARGUMENTS12, a12
#define ARGUMENTS14 ARGUMENTS13, a13

#define WRAP(count, call)                                                               \
  extern "C" decltype(call) __real_##call;                                              \
  extern "C" Signature<decltype(call)>::Result __wrap_##call(PARAMETERS##count(call)) { \
    return Through(#call, &__real_##call, ARGUMENTS##count);                            \
  }                                                                                     \
  const Registration registration_##call(#call);

// clang-format off
WRAP(3, clGetPlatformIDs)
WRAP(5, clGetPlatformInfo)
WRAP(5, clGetDeviceIDs)
WRAP(5, clGetDeviceInfo)
WRAP(6, clCreateContext)
WRAP(4, clCreateCommandQueue)
WRAP(5, clCreateBuffer)
WRAP(5, clCreateProgramWithSource)
WRAP(7, clCreateProgramWithBinary)
WRAP(6, clBuildProgram)
WRAP(5, clGetProgramInfo)
WRAP(6, clGetProgramBuildInfo)
WRAP(3, clCreateKernel)
WRAP(4, clSetKernelArg)
WRAP(9, clEnqueueWriteBuffer)
WRAP(9, clEnqueueReadBuffer)
WRAP(14, clEnqueueReadBufferRect)
WRAP(9, clEnqueueCopyBuffer)
WRAP(13, clEnqueueCopyBufferRect)
WRAP(9, clEnqueueNDRangeKernel)
WRAP(1, clFinish)
WRAP(1, clRetainContext)
WRAP(1, clReleaseContext)
WRAP(1, clRetainCommandQueue)
WRAP(1, clReleaseCommandQueue)
WRAP(1, clRetainProgram)
WRAP(1, clReleaseProgram)
WRAP(1, clRetainKernel)
WRAP(1, clReleaseKernel)
WRAP(1, clRetainMemObject)
WRAP(1, clReleaseMemObject)
// clang-format on

}  // namespace headlens::testing
