// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_SYSTEM_REPLACE_FILE_H_
#define HEADLENS_NATIVE_SYSTEM_REPLACE_FILE_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace headlens {

/// An open file, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  /// Returns false when what was written could not be kept.
  bool Close() { return close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

/// Returns false when not all could be written; errno says why.
bool WriteAll(int fd, std::span<const std::byte> bytes);

/// Puts `bytes` under `path`, wholly or not at all: they go to a file beside it, which is then renamed. Links are
/// followed, and may lead to what is not there yet. A signal that would end the program does so when that file is
/// gone. Returns false when it cannot be done; errno says why.
bool ReplaceFile(const std::string& path, std::span<const std::byte> bytes, mode_t mode);

}  // namespace headlens

#endif  // HEADLENS_NATIVE_SYSTEM_REPLACE_FILE_H_
