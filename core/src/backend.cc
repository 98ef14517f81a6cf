// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"

#include <array>
#include <string>

#include "words.h"

namespace headlens {

std::span<const Backend* const> Backends() {
  static const std::array<const Backend*, 2> kBackends = {&SimdBackend(), &ReferenceBackend()};
  return kBackends;
}

const Backend& FindBackend(std::string_view name, std::span<const Backend* const> among) {
  for (const Backend* backend : among)
    if (backend->name() == name) return *backend;
  throw Error(ErrorCode::kOption, "backend is " + Quoted(name) + ", expected one of: " + Joined(among, &Backend::name));
}

}  // namespace headlens
