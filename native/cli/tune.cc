// SPDX-License-Identifier: Apache-2.0
#include "cli/tune.h"

#include <cstdio>
#include <iostream>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/progress.h"
#include "cli/show.h"
#if HEADLENS_OPENCL
#include "opencl/opencl.h"
#endif

namespace headlens::cli {

#if HEADLENS_OPENCL
namespace {

template <class... Values>
std::string Format(const char* format, const Values&... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::vector<opencl::TuningResult> TuneWithProgress(const std::string& device) {
  const Progress progress;
  return opencl::Tune({.device = device, .before_opening = MakeRoomForDrivers}, [&](const opencl::TuningStep& step) {
    progress.Show(Format("%s: %zu of %zu, best so far %.1f GFLOP/s; now %s", step.name.c_str(), step.number, step.count,
                         step.best_gflops, step.candidate.c_str()));
  });
}

}  // namespace

void TuneDevice(const BackendOptions& options) {
  const BackendSet backends(options);
  if (backends.chosen().name() != "opencl")
    throw InputError(OptionError("--backend", options.name, "opencl, which --tune is for"));
  const opencl::DeviceInfo device = opencl::FindDevice(options.device);
  const std::vector<opencl::TuningResult> results = TuneWithProgress(options.device);
  std::cout << Shown(device.name) << "\n" << Format("%-28s %10s %10s  %s\n", "", "GFLOP/s", "untuned", "kernel");
  for (const opencl::TuningResult& result : results)
    std::cout << Format("%-28s %10.1f %10.1f  %s\n", result.name.c_str(), result.gflops, result.untuned_gflops,
                        result.chosen.c_str());
  std::cout << std::flush;
  if (!opencl::IsTuned(device))
    throw std::runtime_error("--tune: nothing is kept: there is no cache folder that can be written");
}
#endif

}  // namespace headlens::cli
