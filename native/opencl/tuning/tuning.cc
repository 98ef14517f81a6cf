// SPDX-License-Identifier: Apache-2.0
#include "opencl/tuning/tuning.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <sstream>

#include "opencl/attention/online.h"
#include "opencl/matrix/matrix.h"
#include "opencl/matrix/matrix_units.h"
#include "opencl/runtime/program_cache.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Under another driver other kernels may be the fastest. The number is the format's.
std::string KeyOf(const DeviceInfo& device) {
  return "tuning 1\n" + device.platform + "\n" + device.name + "\n" + device.driver + "\n" + device.version;
}

/// The first from `candidate` on.
std::size_t FirstThatFits(const Session& session, const Tunable& tunable, std::size_t candidate) {
  while (candidate + 1 < tunable.candidates.size() && !tunable.fits(session, candidate)) ++candidate;
  return candidate;
}

std::size_t Preset(const Session& session, const Tunable& tunable) {
  return FirstThatFits(session, tunable, tunable.preset(FamilyOf(session.device())));
}

/// The median of several samples, each long enough to be told from what a launch itself costs. One sample is enough of
/// what is far from the best, or takes so long that noise does not count.
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

/// Seconds of a launch; kNever for a candidate that a driver does not compile or run, or gets wrong.
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

std::vector<const Tunable*> Tunables(Session& session) {
  std::vector<const Tunable*> all;
  const auto add = [&](std::span<const Tunable> tunables) {
    for (const Tunable& tunable : tunables) all.push_back(&tunable);
  };
  if (session.precision() == Precision::kFp32) {
    add(ProductTunables());
    add(OnlineTunables());
  } else if (session.has_matrix_units()) {
    add(UnitTunables(session.precision()));
  }
  return all;
}

std::size_t Choose(const Session& session, const Tunable& tunable) {
  const auto kept = session.choices().find(tunable.name);
  if (kept == session.choices().end()) return Preset(session, tunable);
  const auto& names = tunable.candidates;
  const auto it = std::find(names.begin(), names.end(), kept->second);
  if (it == names.end()) return Preset(session, tunable);
  return FirstThatFits(session, tunable, static_cast<std::size_t>(it - names.begin()));
}

/// A line for each: name, tabulator, candidate. The file is of the cache, which tells whether it is whole.
void KeepChoices(const DeviceInfo& device, const Choices& choices) {
  std::string lines;
  for (const auto& [name, candidate] : choices) lines += name + "\t" + candidate + "\n";
  KeepBinary(KeyOf(device), Binary(lines.begin(), lines.end()));
}

Choices KeptChoices(const DeviceInfo& device) {
  const Binary kept = FindBinary(KeyOf(device)).value_or(Binary());
  std::istringstream lines(std::string(kept.begin(), kept.end()));
  Choices choices;
  for (std::string name, candidate; std::getline(lines, name, '\t') && std::getline(lines, candidate);)
    choices[name] = candidate;
  return choices;
}

bool IsTuned(const DeviceInfo& device) { return !KeptChoices(device).empty(); }

double SecondsOf(Session& session, const std::function<void()>& launch, int times) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int i = 0; i < times; ++i) launch();
  session.Finish();
  return std::chrono::duration<double>(Clock::now() - start).count() / times;
}

TuningResult Race(Session& session, const Tunable& tunable, const std::function<void(const TuningStep&)>& progress) {
  const Trial trial = tunable.trial(session);
  const std::size_t preset = Preset(session, tunable), count = tunable.candidates.size();
  const auto gflops = [&](double seconds) { return trial.operations / seconds * 1e-9; };
  double best = kNever;
  TuningResult result{tunable.name, "", 0.0, 0.0};
  for (std::size_t i = 0; i < count; ++i) {
    if (!tunable.fits(session, i)) continue;
    progress({tunable.name, tunable.candidates[i], i + 1, count, gflops(best)});
    const double seconds = Try(session, trial, i, best);
    if (i == preset) result.untuned_gflops = gflops(seconds);
    if (seconds >= best) continue;
    best = seconds;
    result.chosen = tunable.candidates[i], result.gflops = gflops(seconds);
  }
  if (best == kNever)
    throw Error(ErrorCode::kUnsupported, "OpenCL: " + session.device().name + " runs no kernel of " + tunable.name);
  return result;
}

std::vector<TuningResult> Tune(const Settings& settings, const std::function<void(const TuningStep&)>& progress) {
  return Explaining([&] {
    if (settings.before_opening) settings.before_opening();
    std::vector<TuningResult> results;
    Choices choices;
    Settings with = settings;
    for (const Precision precision : {Precision::kFp32, Precision::kTf32x3, Precision::kFp16}) {
      with.precision = precision;
      Session session(with);
      for (const Tunable* tunable : Tunables(session)) {
        results.push_back(Race(session, *tunable, progress));
        choices[tunable->name] = results.back().chosen;
      }
      KeepChoices(session.device(), choices);  // what sessions of other precisions build upon
    }
    return results;
  });
}

}  // namespace headlens::opencl
