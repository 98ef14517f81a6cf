// SPDX-License-Identifier: Apache-2.0
#include "opencl/tune.h"

#include "opencl/attention/contests.h"
#include "opencl/matrix/contests.h"
#include "opencl/matrix/mma_probe.h"
#include "opencl/opencl.h"

namespace headlens::opencl {

std::vector<Contest> Contests(Session& session) {
  std::vector<Contest> all;
  const auto add = [&](const std::vector<Contest>& contests) {
    all.insert(all.end(), contests.begin(), contests.end());
  };
  if (session.precision() == Precision::kFp32) {
    add(ProductContests());
    add(OnlineContests());
  } else if (HasMatrixUnits(session)) {
    add(WarpContests(session.precision()));
    add(FusedContests(session.precision()));
  }
  return all;
}

bool IsTuned(const DeviceInfo& device) { return !KeptChoices(device).empty(); }

std::vector<TuningResult> Tune(const Settings& settings, const std::function<void(const TuningStep&)>& progress) {
  return Explaining([&] {
    if (settings.before_opening) settings.before_opening();
    std::vector<TuningResult> results;
    Choices choices;
    Settings with = settings;
    for (const Precision precision : {Precision::kFp32, Precision::kTf32x3, Precision::kFp16}) {
      with.precision = precision;
      Session session(with);
      for (const Contest& contest : Contests(session)) {
        results.push_back(Race(session, contest, progress));
        choices[contest.tunable->name] = results.back().chosen;
      }
      KeepChoices(session.device(), choices);  // sessions of other precisions build upon these
    }
    return results;
  });
}

}  // namespace headlens::opencl
