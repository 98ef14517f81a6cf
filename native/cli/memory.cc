// SPDX-License-Identifier: Apache-2.0
#include "cli/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <optional>

// Sanitizers reserve more addresses than there is memory. GCC defines macros for them, Clang has features, and newer
// versions of GCC have both.
#if defined(__has_feature)
#define HEADLENS_HAS_FEATURE(feature) __has_feature(feature)
#else
#define HEADLENS_HAS_FEATURE(feature) 0
#endif

namespace headlens::cli {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_HWADDRESS__) || defined(__SANITIZE_THREAD__) || \
    HEADLENS_HAS_FEATURE(address_sanitizer) || HEADLENS_HAS_FEATURE(hwaddress_sanitizer) ||             \
    HEADLENS_HAS_FEATURE(memory_sanitizer) || HEADLENS_HAS_FEATURE(thread_sanitizer)
constexpr bool kReservesAddresses = true;
#else
constexpr bool kReservesAddresses = false;
#endif

/// The limit of addresses before LimitMemory lowered it.
std::optional<rlim_t>& LimitBefore() {
  static std::optional<rlim_t> before;
  return before;
}

}  // namespace

void LimitMemory() {
  if (kReservesAddresses) return;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  const rlim_t memory = static_cast<rlim_t>(pages) * static_cast<rlim_t>(page);
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= memory) return;
  LimitBefore() = limit.rlim_cur;
  limit.rlim_cur = memory;
  setrlimit(RLIMIT_AS, &limit);
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
