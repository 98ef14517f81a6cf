// SPDX-License-Identifier: Apache-2.0
/// Memory of the device that waits for its next use: it is handed out again, safely and within bounds, and is freed
/// where there is too little.
#include <numeric>
#include <optional>
#include <span>

#include "opencl/runtime/memory.h"
#include "opencl/runtime/session.h"
#include "opencl_faults.h"
#include "support.h"

namespace headlens::testing {
namespace {

using opencl::Memory;
using opencl::Session;

constexpr Index kMebi = Index{1} << 20;

/// y[i] = the sum of x, computed so slowly that other launches could come between if nothing kept them apart.
constexpr char kSlowSum[] = R"cl(
__kernel void SlowSum(__global const volatile float* x, __global float* y, long count, long times) {
  float sum = 0.0f;
  for (long t = 0; t < times; ++t) {
    sum = 0.0f;
    for (long i = 0; i < count; ++i) sum += x[i];
  }
  y[get_global_id(0)] = sum;
}
)cl";

void LaunchSum(Session& session, const Memory& x, const Memory& y, Index count, Index times) {
  session.Launch({"slow_sum.cl", {}, kSlowSum}, "", "SlowSum", {}, x, y, cl_long{count}, cl_long{times});
}

float First(Session& session, const Memory& memory) {
  float value = 0.0f;
  session.DownloadBytes(memory, 0, sizeof value, &value);
  return value;
}

TEST_CASE("OpenCL memory: what was given back is handed out again, to what needs about as much") {
  Session session{{}};
  const auto take = [&](Index bytes) { return session.Allocate<std::byte>(bytes); };
  Memory first = take(3 * kMebi);
  const cl_mem buffer = (*first)();
  Memory second = take(3 * kMebi);
  CHECK((*second)() != buffer);
  first.reset();
  CHECK((*take(6 * kMebi))() != buffer);
  CHECK((*take(kMebi))() != buffer);
  CHECK((*take(3 * kMebi - 1000))() == buffer);
  CHECK((*take(3 * kMebi))() == buffer);
}

TEST_CASE("OpenCL memory: launched work reads what it was launched on, whoever has the memory next") {
  Session session{{}};
  const Memory y = session.Allocate<float>(1), z = session.Allocate<float>(1);
  for (const Index count : {Index{100}, 64 * kMebi / 1024}) {  // copied first or not
    CAPTURE(count);
    const std::vector<float> ones(static_cast<std::size_t>(count), 1.0f), twos(ones.size(), 2.0f);
    Memory x = session.Upload(std::span(ones));
    const cl_mem buffer = (*x)();
    LaunchSum(session, x, y, count, 20 * kMebi / count);
    x.reset();
    x = session.Upload(std::span(twos));
    CHECK((*x)() == buffer);
    LaunchSum(session, x, z, count, 1);
    CHECK(First(session, y) == static_cast<float>(count));
    CHECK(First(session, z) == static_cast<float>(2 * count));
  }
}

TEST_CASE("OpenCL memory: many small uploads each arrive") {
  Session session{{}};
  const Memory sum = session.Allocate<float>(1);
  std::vector<Memory> uploads;
  for (Index i = 0; i < 40; ++i) {
    const std::vector<float> values(16000, static_cast<float>(i));
    uploads.push_back(session.Upload(std::span(values)));
  }
  for (std::size_t i = 0; i < uploads.size(); ++i) {
    LaunchSum(session, uploads[i], sum, 100, 1);
    CHECK(First(session, sum) == static_cast<float>(100 * i));
  }
}

TEST_CASE("OpenCL memory: what is idle stays within bounds, and goes with the session") {
  const std::string before_all = HeldReferences();
  const auto idle_after = [](Index most_idle, std::size_t count, Index bytes) {
    Session session{{.idle_memory = most_idle}};
    const long before = HeldMemory();
    {
      std::vector<Memory> all(count);
      for (Memory& memory : all) memory = session.Allocate<std::byte>(bytes);
      CHECK(HeldMemory() == before + static_cast<long>(count));
    }
    return HeldMemory() - before;
  };
  CHECK(idle_after(0, 3, 1) == 0);
  CHECK(idle_after(kMebi, 40, kMebi / 16) == 16);
  CHECK(idle_after(kMebi, 3, 2 * kMebi) == 0);
  CHECK(idle_after(256 * kMebi, 1000, 1) < 100);
  CHECK(HeldReferences() == before_all);
  Memory left;
  {
    Session session{{}};
    left = session.Allocate<float>(1);
  }
  left.reset();
  CHECK(HeldReferences() == before_all);
}

TEST_CASE("OpenCL memory: where the device has too little, what is idle is freed and the call made once more") {
  const std::vector<float> ones(100, 1.0f);
  for (const std::string call : {"clCreateBuffer", "clEnqueueWriteBuffer", "clEnqueueNDRangeKernel"})
    for (const Index idle_memory : {Index{0}, 256 * kMebi}) {
      CAPTURE(call);
      CAPTURE(idle_memory);
      Session session{{.idle_memory = idle_memory}};
      const long before = HeldMemory();
      session.Allocate<std::byte>(8 * kMebi);
      CHECK(HeldMemory() == before + (idle_memory > 0 ? 1 : 0));
      const Fault fault(call, 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
      const auto run = [&] {
        const Memory x = session.Upload(std::span(ones)), y = session.Allocate<float>(1);
        LaunchSum(session, x, y, 100, 1);
        CHECK(First(session, y) == 100.0f);
        CHECK(HeldMemory() == before + 2);
      };
      if (idle_memory > 0) {
        run();
      } else {
        Refused(ErrorCode::kMemory, call, [&] { opencl::Explaining(run); });
      }
      CHECK(fault.happened());
      CHECK(session.IsAlive());
    }
}

}  // namespace
}  // namespace headlens::testing
