// SPDX-License-Identifier: Apache-2.0
#include "cli/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <optional>

namespace headlens::cli {
namespace {

/// The limit of addresses before LimitMemory lowered it.
std::optional<rlim_t>& LimitBefore() {
  static std::optional<rlim_t> before;
  return before;
}

}  // namespace

void LimitMemory() {
#if !defined(__SANITIZE_ADDRESS__)  // which reserves more addresses than there are
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  const rlim_t memory = static_cast<rlim_t>(pages) * static_cast<rlim_t>(page);
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= memory) return;
  LimitBefore() = limit.rlim_cur;
  limit.rlim_cur = memory;
  setrlimit(RLIMIT_AS, &limit);
#endif
}

void MakeRoomForDrivers() {
  std::optional<rlim_t>& before = LimitBefore();
  rlimit addresses{}, data{};
  if (!before || getrlimit(RLIMIT_AS, &addresses) != 0 || getrlimit(RLIMIT_DATA, &data) != 0) return;
  if (data.rlim_cur == RLIM_INFINITY || data.rlim_cur > addresses.rlim_cur) data.rlim_cur = addresses.rlim_cur;
  setrlimit(RLIMIT_DATA, &data);
  addresses.rlim_cur = *before;
  setrlimit(RLIMIT_AS, &addresses);
  before.reset();
}

}  // namespace headlens::cli
