// SPDX-License-Identifier: Apache-2.0
/// headlens info: what this build can do on this machine.
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "headlens/backend.h"
#include "headlens/version.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {
namespace {

nlohmann::json Info() {
  nlohmann::json info = {{"version", Version()}, {"simd_target", SimdTarget()}, {"opencl", nullptr}};
  for (const Backend* backend : Backends()) info["backends"].push_back(backend->name());
  for (const SimdTargetInfo& target : SimdTargets())
    info["simd_targets"].push_back({{"name", target.name}, {"available", target.available}});
  return info;
}

void Print() {
  std::cout << "headlens " << Version() << "\nSIMD targets:";
  for (const auto& [name, available] : SimdTargets()) {
    std::cout << " " << name << (name == SimdTarget() ? " (chosen)" : available ? "" : " (not on this machine)");
  }
  std::cout << "\nBackends:";
  for (const Backend* backend : Backends()) std::cout << " " << backend->name();
  std::cout << "\nOpenCL: not in this build\n";
}

}  // namespace

void AddInfo(CLI::App& app) {
  CLI::App* command = app.add_subcommand("info", "Version, instruction sets and backends");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "As JSON");
  command->callback([json] {
    if (!*json) return Print();
    std::cout << Info().dump(2) << "\n";
  });
}

}  // namespace headlens::cli
