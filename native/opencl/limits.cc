// SPDX-License-Identifier: Apache-2.0
/// Measures the speed that no program on a device can exceed.
#include <algorithm>
#include <chrono>
#include <vector>

#include "opencl/kernels/sources.h"
#include "opencl/opencl.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {
namespace {

constexpr int kRuns = 5;
constexpr double kSeconds = 0.02;  // a run takes so long that its launch does not count

std::string Width(cl_int width) { return "-D WIDTH=" + std::to_string(width); }

/// The shortest time of several launches.
template <class F>
double Least(Session& session, const F& launch) {
  double least = 1e30;
  for (int run = 0; run <= kRuns; ++run) {  // the first one warms up
    const auto start = std::chrono::steady_clock::now();
    launch();
    session.Finish();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (run > 0) least = std::min(least, seconds);
  }
  return least;
}

double MultiplyAdds(Session& session, cl_int width) {
  const Index local = session.group_items(), items = local * session.compute_units() * 16;
  const std::vector<float> ones(static_cast<std::size_t>(local), 1.0f);
  const Memory numbers = session.Upload(std::span<const float>(ones));
  for (cl_int steps = 256;; steps *= 4) {
    const double seconds = Least(
        session, [&] { session.Launch(kLimitsSource, Width(width), "MultiplyAdds", {items, local}, numbers, steps); });
    if (seconds >= kSeconds || steps >= (1 << 24)) return 16.0 * static_cast<double>(width * steps * items) / seconds;
  }
}

double Copy(Session& session) {
  constexpr Index kMost = Index{256} << 20;
  const Index local = session.group_items(), vectors = std::min(kMost, session.step_memory()) / 16;
  const Memory from = session.Allocate<cl_float4>(vectors), to = session.Allocate<cl_float4>(vectors);
  const Index items = std::min(vectors, local * session.compute_units() * 32);
  const double seconds = Least(
      session, [&] { session.Launch(kLimitsSource, Width(4), "CopyAll", {items, local}, from, to, cl_long{vectors}); });
  return 2.0 * 16.0 * static_cast<double>(vectors) / seconds;
}

}  // namespace

Limits MeasureLimits(const std::string& selector) {
  return Explaining([&] {
    Session session({.device = selector});
    return Limits{std::max(MultiplyAdds(session, 4), MultiplyAdds(session, 16)), Copy(session)};
  });
}

}  // namespace headlens::opencl
