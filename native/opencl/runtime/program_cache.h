// SPDX-License-Identifier: Apache-2.0
/// Binaries of programs are kept in the user's cache folder, $XDG_CACHE_HOME/headlens or ~/.cache/headlens, since
/// compiling takes seconds. The folder has mode 0700, and nothing is read that others own or may write.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_PROGRAM_CACHE_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_PROGRAM_CACHE_H_

#include <optional>
#include <string>
#include <vector>

namespace headlens::opencl {

using Binary = std::vector<unsigned char>;

/// The binary that was kept under `key`, if it is there whole and unchanged.
std::optional<Binary> FindBinary(const std::string& key);

/// Keeps `binary` under `key`. Does nothing when the cache folder cannot be written.
void KeepBinary(const std::string& key, const Binary& binary);

/// The path of the file for `key`; empty where there is no cache folder.
std::string CacheFile(const std::string& key);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_PROGRAM_CACHE_H_
