// SPDX-License-Identifier: Apache-2.0
/// --backend, --threads, --device and --precision: how the commands compute.
#ifndef HEADLENS_NATIVE_CLI_BACKENDS_H_
#define HEADLENS_NATIVE_CLI_BACKENDS_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "headlens/backend.h"

namespace headlens::cli {

struct BackendOptions {
  std::string name = "simd";
  int threads = 1;
  std::string device = "", precision = "fp32";
};

/// "--backend NAME", one of those that this build has, "--threads N", "--device WHICH" and "--precision P".
void AddBackendOptions(CLI::App& command, BackendOptions& options);

/// Names of the backends that this build has.
std::vector<std::string> BackendNames();

/// Those backends, of which "simd" has the threads and "opencl" the device and the precision that were asked for.
class BackendSet {
 public:
  /// Throws InputError when the backend that is named has no threads, no device or no other precision, and they are
  /// asked for; Error when "opencl" is named and its device is not there. No device is touched unless "opencl" is
  /// named.
  explicit BackendSet(const BackendOptions& options);

  /// As the constructor, for a backend that is named elsewhere.
  void CheckOptionsOf(std::string_view name) const;

  std::span<const Backend* const> all() const { return all_; }
  /// The one that is named.
  const Backend& chosen() const;

 private:
  const BackendOptions options_;
  std::unique_ptr<const Backend> threaded_, opencl_;
  std::vector<const Backend*> all_;
};

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_BACKENDS_H_
