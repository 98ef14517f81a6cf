// SPDX-License-Identifier: Apache-2.0
/// --backend and --threads: how the commands compute.
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
};

/// "--backend NAME", one of the library's backends, and "--threads N".
void AddBackendOptions(CLI::App& command, BackendOptions& options);

/// The library's backends, of which "simd" has the threads that were asked for.
class BackendSet {
 public:
  explicit BackendSet(const BackendOptions& options);

  std::span<const Backend* const> all() const { return all_; }
  /// The one that is named. Throws InputError when it cannot use the threads.
  const Backend& chosen() const;

 private:
  const BackendOptions options_;
  std::unique_ptr<const Backend> threaded_;
  std::vector<const Backend*> all_;
};

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_BACKENDS_H_
