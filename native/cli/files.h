// SPDX-License-Identifier: Apache-2.0
/// Reading and writing whole files, and reading JSON.
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

/// The most bytes that are read into memory: half of this machine's memory. The other half is for what is made of them.
Index MostBytes();

/// A file that is read in pieces.
class FileReader {
 public:
  /// Throws InputError, naming the file, when it is not a readable regular file or is larger than MostBytes().
  explicit FileReader(const std::string& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  Index size() const { return size_; }
  /// Fills a part of `to`, which must not be empty, with the next bytes, and returns their number. Throws InputError at
  /// the end of the file.
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

/// Where a file or folder of this name is when it is installed with this program: in share/headlens beside its bin.
/// Empty where the program's own place is not known.
std::string InstalledPath(const std::string& name);

/// Throws InputError, naming both files, when --out would overwrite an input.
void ExpectOther(const std::string& output, const std::string& input);

/// Writes `bytes` to the file `path`, completely or not at all, as ReplaceFile does. Devices and pipes are written to
/// directly. Throws std::runtime_error.
void WriteFile(const std::string& path, std::span<const std::byte> bytes);

inline void WriteFile(const std::string& path, std::string_view text) {
  WriteFile(path, std::as_bytes(std::span(text)));
}

/// The same error, whose message begins with the file and the error's code.
InputError Blamed(const std::string& path, const Error& error);

/// The error of an allocation of the standard library that failed.
InputError TooLarge(const std::string& path);

/// Runs `work`, which uses the contents of the file `path`. An Error in it becomes an InputError that names the file
/// and the error's code, and so does a failed allocation of the standard library.
template <class Work>
auto Blaming(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    throw Blamed(path, error);
  } catch (const std::bad_alloc&) {
    throw TooLarge(path);
  } catch (const std::length_error&) {
    throw TooLarge(path);
  }
}

/// Parses JSON that is nested at most 64 deep, since functions that print values recurse. The result is discarded
/// (is_discarded()) when the text is not JSON or is nested deeper.
nlohmann::json ParseJson(std::string_view text);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_FILES_H_
