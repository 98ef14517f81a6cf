// SPDX-License-Identifier: Apache-2.0
#include "opencl/tuning/race.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

namespace headlens::opencl {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// The kernel of an untuned device stays unless another takes less than this share of its time: one race is no surer.
constexpr double kClearly = 0.97;

/// The median of several samples, each long enough to be told from what a launch itself costs. One sample is enough for
/// a candidate that is far from the best, or that takes so long that noise does not count.
double Measure(Session& session, const std::function<void()>& launch, double best) {
  constexpr double kSampleSeconds = 5e-3, kLong = 0.1, kFar = 3.0;
  constexpr int kMostLaunches = 200, kSamples = 7;
  const double first = SecondsOf(session, launch, 1);
  if (first > std::min(kLong, kFar * best)) return first;
  const int times = static_cast<int>(std::clamp(kSampleSeconds / first, 1.0, double{kMostLaunches}));
  std::vector<double> samples;
  for (int i = 0; i < kSamples; ++i) samples.push_back(SecondsOf(session, launch, times));
  std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
  return samples[kSamples / 2];
}

/// The seconds of a launch; kNever for a candidate that a driver does not compile or run, or gets wrong.
double Try(Session& session, const Trial& trial, std::size_t candidate, double best) {
  const auto launch = [&] { trial.launch(candidate); };
  try {
    launch();  // the first compiles it
    return trial.is_right() ? Measure(session, launch, best) : kNever;
  } catch (const cl::Error&) {
    return kNever;
  } catch (const Error&) {
    return kNever;
  }
}

}  // namespace

double SecondsOf(Session& session, const std::function<void()>& launch, int times) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int i = 0; i < times; ++i) launch();
  session.Finish();
  return std::chrono::duration<double>(Clock::now() - start).count() / times;
}

std::size_t Winner(std::span<const double> seconds, std::size_t preset) {
  const auto fastest = std::min_element(seconds.begin(), seconds.end());
  return *fastest < kClearly * seconds[preset] ? static_cast<std::size_t>(fastest - seconds.begin()) : preset;
}

TuningResult Race(Session& session, const Contest& contest, const std::function<void(const TuningStep&)>& progress) {
  const Tunable& tunable = *contest.tunable;
  const Trial trial = contest.trial(session);
  const std::size_t preset = Preset(session, tunable), count = tunable.candidates.size();
  const auto gflops = [&](double seconds) { return trial.operations / seconds * 1e-9; };
  std::vector<double> all(count, kNever);
  double best = kNever;
  for (std::size_t i = 0; i < count; ++i) {
    if (!tunable.fits(session, i)) continue;
    progress({tunable.name, tunable.candidates[i], i + 1, count, gflops(best)});
    all[i] = Try(session, trial, i, best);
    best = std::min(best, all[i]);
  }
  if (best == kNever)
    throw Error(ErrorCode::kUnsupported, "OpenCL: " + session.device().name + " runs no kernel of " + tunable.name);
  const std::size_t winner = Winner(all, preset);
  return {tunable.name, tunable.candidates[winner], gflops(all[winner]), gflops(all[preset])};
}

}  // namespace headlens::opencl
