// SPDX-License-Identifier: Apache-2.0
#include "system/replace_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace headlens {
namespace {

namespace fs = std::filesystem;

/// The signal that arrived while SignalsNoted existed; 0 when none did.
std::atomic<int> noted = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler may use nothing else

/// While it exists, signals that would end the program are only noted, in whichever thread they arrive. Afterwards they
/// end the program as usual. Signals that are ignored or have another handler are left alone.
class SignalsNoted {
 public:
  SignalsNoted() {
    struct sigaction note{};
    note.sa_handler = [](int signal) { noted = signal; };
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_DFL) sigaction(kSignals[i], &note, nullptr);
    }
  }
  ~SignalsNoted() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      if (before_[i].sa_handler == SIG_DFL) sigaction(kSignals[i], &before_[i], nullptr);
    if (const int signal = noted.exchange(0)) std::raise(signal);
  }
  SignalsNoted(const SignalsNoted&) = delete;
  SignalsNoted& operator=(const SignalsNoted&) = delete;

 private:
  static constexpr std::array kSignals = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU};
  std::array<struct sigaction, kSignals.size()> before_{};
};

/// Follows a chain of links to its end, which need not exist. Returns an empty string, with the reason in errno, when
/// there is none.
std::string TargetOf(const std::string& path) {
  constexpr int kMostLinks = 40;  // the kernel has the same limit
  fs::path target = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    if (links == kMostLinks) {
      errno = ELOOP;
      return "";
    }
    const fs::path next = fs::read_symlink(target, error);
    if (error) {
      errno = error.value();
      return "";
    }
    target = target.parent_path() / next;
  }
  return target.string();
}

}  // namespace

bool WriteAll(int fd, std::span<const std::byte> bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;  // a signal is noticed after each piece
  while (!bytes.empty()) {
    if (noted != 0) {
      errno = EINTR;
      return false;
    }
    const ssize_t written = write(fd, bytes.data(), std::min(bytes.size(), kPiece));
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

bool ReplaceFile(const std::string& path, std::span<const std::byte> bytes, mode_t mode) {
  const std::string target = TargetOf(path);
  if (target.empty()) return false;
  std::string beside = target + ".XXXXXX";
  const SignalsNoted signals;
  Descriptor file(mkstemp(beside.data()));
  if (file.get() < 0) return false;
  if (fchmod(file.get(), mode) == 0 && WriteAll(file.get(), bytes) && file.Close() &&
      std::rename(beside.c_str(), target.c_str()) == 0) {
    return true;
  }
  const int reason = errno;
  unlink(beside.c_str());
  errno = reason;
  return false;
}

}  // namespace headlens
