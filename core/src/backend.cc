// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"

#include <array>
#include <string>

namespace headlens {

std::span<const Backend* const> Backends() {
  static const std::array<const Backend*, 2> kBackends = {&SimdBackend(), &ReferenceBackend()};
  return kBackends;
}

const Backend& FindBackend(std::string_view name) {
  std::string names;
  for (const Backend* backend : Backends()) {
    if (backend->name() == name) return *backend;
    names += (names.empty() ? "" : ", ") + std::string(backend->name());
  }
  throw Error(ErrorCode::kOption, "backend is \"" + std::string(name.substr(0, 80)) + "\", expected one of: " + names);
}

}  // namespace headlens
