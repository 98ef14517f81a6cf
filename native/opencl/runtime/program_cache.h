// SPDX-License-Identifier: Apache-2.0
/// Program binaries in the user's cache folder, $XDG_CACHE_HOME/headlens or ~/.cache/headlens: compiling takes seconds.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_PROGRAM_CACHE_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_PROGRAM_CACHE_H_

#include <optional>
#include <string>
#include <vector>

namespace headlens::opencl {

using Binary = std::vector<unsigned char>;

/// What was kept under `key`, whole and unchanged; else nothing.
std::optional<Binary> FindBinary(const std::string& key);

/// Keeps `binary` under `key`. Where that cannot be done, nothing happens.
void KeepBinary(const std::string& key, const Binary& binary);

/// The file that holds what is kept under `key`; empty without a cache folder.
std::string CacheFile(const std::string& key);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_PROGRAM_CACHE_H_
