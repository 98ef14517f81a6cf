// SPDX-License-Identifier: Apache-2.0
/// The command `headlens info`, which lists what this build can use on this machine.
#include <iostream>
#include <memory>

#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/show.h"
#include "headlens/backend.h"
#include "headlens/version.h"
#include "nlohmann/json.hpp"
#if HEADLENS_OPENCL
#include "opencl/opencl.h"
#endif

namespace headlens::cli {
namespace {

#if HEADLENS_OPENCL
/// The OpenCL devices with their properties.
nlohmann::json OpenClInfo() {
  MakeRoomForDrivers();
  nlohmann::json devices = nlohmann::json::array();
  for (const opencl::DeviceInfo& device : opencl::Devices()) {
    devices.push_back({{"name", device.name},
                       {"vendor", device.vendor},
                       {"platform", device.platform},
                       {"driver", device.driver},
                       {"version", device.version},
                       {"type", device.type},
                       {"compute_units", device.compute_units},
                       {"global_memory", device.global_memory},
                       {"local_memory", device.local_memory},
                       {"largest_allocation", device.largest_allocation},
                       {"work_group_size", device.work_group_size},
                       {"extensions", device.extensions},
                       {"tuned", opencl::IsTuned(device)}});
  }
  return {{"devices", devices}};
}

std::string Mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

void PrintOpenCl() {
  MakeRoomForDrivers();
  const std::vector<opencl::DeviceInfo> devices = opencl::Devices();
  std::cout << "OpenCL:" << (devices.empty() ? " no device on this machine" : "") << "\n";
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const opencl::DeviceInfo& device = devices[i];
    std::cout << "  " << i << " " << Shown(device.name) << ": " << device.type << " of " << Shown(device.vendor) << ", "
              << Shown(device.version) << ", driver " << Shown(device.driver) << "\n    " << device.compute_units
              << " compute units, memory " << Mebibytes(device.global_memory) << ", local memory "
              << device.local_memory / 1024 << " KiB, largest buffer " << Mebibytes(device.largest_allocation)
              << ", work-groups of " << device.work_group_size
              << (opencl::IsTuned(device) ? ", tuned" : ", not tuned (headlens bench --tune)") << "\n    extensions:";
    for (const std::string& extension : device.extensions) std::cout << " " << Shown(extension);
    std::cout << "\n";
  }
}
#else
nlohmann::json OpenClInfo() { return nullptr; }

void PrintOpenCl() { std::cout << "OpenCL: not in this build\n"; }
#endif

nlohmann::json Info() {
  nlohmann::json info = {
      {"version", Version()}, {"simd_target", SimdTarget()}, {"backends", BackendNames()}, {"opencl", OpenClInfo()}};
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
  for (const std::string& name : BackendNames()) std::cout << " " << name;
  std::cout << "\n";
  PrintOpenCl();
}

}  // namespace

void AddInfo(CLI::App& app) {
  CLI::App* command = app.add_subcommand("info", "Version, instruction sets and backends");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "As JSON");
  command->callback([json] {
    if (!*json) return Print();
    std::cout << ShownJson(Info().dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) << "\n";
  });
}

}  // namespace headlens::cli
