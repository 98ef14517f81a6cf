// SPDX-License-Identifier: Apache-2.0
#include "cli/backends.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/words.h"
#include "cli/commands.h"
#if HEADLENS_OPENCL
#include "cli/memory.h"
#include "opencl/opencl.h"
#endif

namespace headlens::cli {
#if HEADLENS_OPENCL
namespace {

using opencl::Precision;

constexpr std::pair<const char*, Precision> kPrecisions[] = {
    {"fp32", Precision::kFp32}, {"tf32x3", Precision::kTf32x3}, {"fp16", Precision::kFp16}, {"bf16", Precision::kBf16}};

Precision PrecisionOf(const std::string& name) {
  return std::find_if(std::begin(kPrecisions), std::end(kPrecisions), [&](const auto& p) { return p.first == name; })
      ->second;
}

}  // namespace
#endif

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const Backend* backend : Backends()) names.emplace_back(backend->name());
#if HEADLENS_OPENCL
  names.emplace_back("opencl");
#endif
  return names;
}

void AddBackendOptions(CLI::App& command, BackendOptions& options) {
  command.add_option("--backend", options.name, "The backend that computes")
      ->check(CLI::IsMember(BackendNames()))
      ->type_name("NAME");
  command.add_option("--threads", options.threads, "The number of threads that share the work of the simd backend")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
#if HEADLENS_OPENCL
  command
      .add_option("--device", options.device,
                  "Device of the opencl backend: its number in `headlens info`, or a part of its name")
      ->type_name("WHICH");
  std::vector<std::string> precisions;
  for (const auto& [name, precision] : kPrecisions) precisions.emplace_back(name);
  command
      .add_option("--precision", options.precision,
                  "The arithmetic that the opencl backend's layers, and attention that keeps no weights, may use; sums "
                  "are fp32")
      ->check(CLI::IsMember(precisions))
      ->type_name("NAME");
#endif
}

BackendSet::BackendSet(const BackendOptions& options) : options_(options), all_(Backends().begin(), Backends().end()) {
  if (!options.name.empty()) CheckOptionsOf(options.name);
#if HEADLENS_OPENCL
  opencl_ = opencl::MakeBackend(
      {.device = options.device, .before_opening = MakeRoomForDrivers, .precision = PrecisionOf(options.precision)});
  all_.push_back(opencl_.get());
  if (options.name == opencl_->name()) {
    MakeRoomForDrivers();
    opencl::FindDevice(options.device);
  }
#endif
  if (options.threads == 1) return;
  threaded_ = MakeSimdBackend(options.threads);
  std::replace(all_.begin(), all_.end(), &SimdBackend(), threaded_.get());
}

void BackendSet::CheckOptionsOf(std::string_view name) const {
  const Phrase backend = {"the ", name, " backend "};
  if (options_.threads > 1 && name != SimdBackend().name())
    throw InputError(OptionError("--threads", options_.threads, {"1: ", backend, "works on one thread"}));
#if HEADLENS_OPENCL
  if (name == "opencl") return;
  if (!options_.device.empty())
    throw InputError(OptionError("--device", Quoted(options_.device), {"none: ", backend, "has no devices"}));
  if (options_.precision != kPrecisions[0].first)
    throw InputError(
        OptionError("--precision", options_.precision, {kPrecisions[0].first, ": ", backend, "has no other"}));
#endif
}

const Backend& BackendSet::chosen() const { return FindBackend(options_.name, all_); }

}  // namespace headlens::cli
