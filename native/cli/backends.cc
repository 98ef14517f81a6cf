// SPDX-License-Identifier: Apache-2.0
#include "cli/backends.h"

#include <algorithm>

#include "cli/commands.h"

namespace headlens::cli {

void AddBackendOptions(CLI::App& command, BackendOptions& options) {
  std::vector<std::string> names;
  for (const Backend* backend : Backends()) names.emplace_back(backend->name());
  command.add_option("--backend", options.name, "How it is computed")->check(CLI::IsMember(names))->type_name("NAME");
  command.add_option("--threads", options.threads, "How many threads share the work of the simd backend")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
}

BackendSet::BackendSet(const BackendOptions& options) : options_(options), all_(Backends().begin(), Backends().end()) {
  if (options.threads == 1) return;
  threaded_ = MakeSimdBackend(options.threads);
  std::replace(all_.begin(), all_.end(), &SimdBackend(), threaded_.get());
}

const Backend& BackendSet::chosen() const {
  const Backend& backend = FindBackend(options_.name, all_);
  if (threaded_ && &backend != threaded_.get())
    throw InputError("--threads: the " + options_.name + " backend works on one thread");
  return backend;
}

}  // namespace headlens::cli
