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

/// An open file that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  /// Returns false when the written data could not be saved.
  bool Close() { return close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

/// Returns false, with the reason in errno, when not all bytes could be written.
bool WriteAll(int fd, std::span<const std::byte> bytes);

/// Writes `bytes` to the file `path`, completely or not at all: writes a temporary file next to it and renames that.
/// Follows links, also to a file that does not exist yet. A signal that would end the program takes effect once the
/// temporary file is gone. Returns false, with the reason in errno, when it fails.
bool ReplaceFile(const std::string& path, std::span<const std::byte> bytes, mode_t mode);

}  // namespace headlens

#endif  // HEADLENS_NATIVE_SYSTEM_REPLACE_FILE_H_
