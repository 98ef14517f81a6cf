// SPDX-License-Identifier: Apache-2.0
/// Whole files in and out, and JSON out of them.
#ifndef HEADLENS_NATIVE_CLI_FILES_H_
#define HEADLENS_NATIVE_CLI_FILES_H_

#include <cstddef>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "headlens/tensor.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {

/// The most that is read into memory: half of this machine's; the rest is for what is made of it.
Index MostBytes();

/// A file that is read piece by piece.
class FileReader {
 public:
  /// Throws InputError, naming the file, for what is no readable regular file, or larger than MostBytes().
  explicit FileReader(const std::string& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  Index size() const { return size_; }
  /// Fills some of `to`, which is not empty, with the next bytes and returns how many. Throws InputError at the end.
  Index Read(std::span<std::byte> to);

 private:
  std::string path_;
  int fd_;
  Index size_ = 0;
};

/// A whole file in memory.
class File {
 public:
  /// Throws as FileReader.
  explicit File(const std::string& path);

  std::span<const std::byte> bytes() const { return {buffer_.data(), static_cast<std::size_t>(buffer_.size())}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(buffer_.data()), bytes().size()}; }

 private:
  Buffer<std::byte> buffer_;
};

/// Throws InputError, naming both, when --out would replace what is read.
void ExpectOther(const std::string& output, const std::string& input);

/// Puts `bytes` under `path`, wholly or not at all, as ReplaceFile does; devices and pipes are written to. Throws
/// std::runtime_error.
void WriteFile(const std::string& path, std::span<const std::byte> bytes);

inline void WriteFile(const std::string& path, std::string_view text) {
  WriteFile(path, std::as_bytes(std::span(text)));
}

inline constexpr char kTooLarge[] = ": memory error: it takes more memory than there is";

/// Does `work`, which uses what is in the file `path`; an Error from it becomes an InputError that names the file and
/// the error's code. So does what the standard library throws when it gets no memory.
template <class Work>
auto Blaming(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw InputError(path + ": " + std::string(ToString(error.code())) + " error: " + error.what());
  } catch (const std::bad_alloc&) {
    throw InputError(path + kTooLarge);
  } catch (const std::length_error&) {
    throw InputError(path + kTooLarge);
  }
}

/// JSON at most 64 deep, since values are shown by functions that recurse; discarded, as what is no JSON, beyond.
nlohmann::json ParseJson(std::string_view text);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_FILES_H_
