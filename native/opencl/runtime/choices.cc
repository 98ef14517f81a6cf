// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/choices.h"

#include <sstream>

#include "opencl/runtime/program_cache.h"

namespace headlens::opencl {
namespace {

/// The driver is part of the key, as under another one other kernels may be the fastest. The number is the format's.
std::string KeyOf(const DeviceInfo& device) {
  return "tuning 1\n" + device.platform + "\n" + device.name + "\n" + device.driver + "\n" + device.version;
}

}  // namespace

/// Each choice has a line: name, tabulator, candidate. The cache checks that the file is whole.
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

}  // namespace headlens::opencl
