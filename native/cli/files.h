// SPDX-License-Identifier: Apache-2.0
/// Whole files in and out.
#ifndef HEADLENS_NATIVE_CLI_FILES_H_
#define HEADLENS_NATIVE_CLI_FILES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "headlens/tensor.h"

namespace headlens::cli {

/// A whole file in memory.
class File {
 public:
  /// Throws InputError, naming the file, for what is no readable regular file, or larger than half of this machine's
  /// memory (the rest is for what is made of it).
  explicit File(const std::string& path);

  std::span<const std::byte> bytes() const { return {buffer_.data(), static_cast<std::size_t>(buffer_.size())}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(buffer_.data()), bytes().size()}; }

 private:
  Buffer<std::byte> buffer_;
};

/// Puts `bytes` under `path`, wholly or not at all: they go to a file beside it, which is then renamed. Throws
/// std::runtime_error.
void WriteFile(const std::string& path, std::span<const std::byte> bytes);

inline void WriteFile(const std::string& path, std::string_view text) {
  WriteFile(path, std::as_bytes(std::span(text)));
}

/// Does `work`, which uses what is in the file `path`; an Error from it becomes an InputError that names the file and
/// the error's code.
template <class Work>
auto Blaming(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw InputError(path + ": " + std::string(ToString(error.code())) + " error: " + error.what());
  }
}

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_FILES_H_
