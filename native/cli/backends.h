// SPDX-License-Identifier: Apache-2.0
/// The options --backend, --threads, --device and --precision, which choose how the commands compute.
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

/// Adds "--backend NAME" with the backends that this build has, "--threads N", "--device WHICH" and "--precision P".
void AddBackendOptions(CLI::App& command, BackendOptions& options);

/// The names of the backends that this build has.
std::vector<std::string> BackendNames();

/// The backends of this build. "simd" has the threads, and "opencl" the device and precision, that the options ask for.
class BackendSet {
 public:
  /// Throws InputError when the options ask for threads, a device or a precision that the chosen backend does not have,
  /// and Error when the device of "opencl" does not exist. Devices are only used when "opencl" is chosen.
  explicit BackendSet(const BackendOptions& options);

  /// Throws as the constructor does, for a backend that a case file names.
  void CheckOptionsOf(std::string_view name) const;

  std::span<const Backend* const> all() const { return all_; }
  /// The backend that the options name.
  const Backend& chosen() const;

 private:
  const BackendOptions options_;
  std::unique_ptr<const Backend> threaded_, opencl_;
  std::vector<const Backend*> all_;
};

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_BACKENDS_H_
