// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/program_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>

#include "system/replace_file.h"
#include "system/sha256.h"

namespace headlens::opencl {
namespace {

namespace fs = std::filesystem;

/// No program is larger. A file that is larger would only take memory.
constexpr off_t kMostBytes = off_t{256} << 20;

std::string_view TextOf(const Binary& binary) { return {reinterpret_cast<const char*>(binary.data()), binary.size()}; }

/// Each file begins with this header. It shows which files are of another program, and which were cut or changed and so
/// might crash a driver.
std::string Header(const std::string& key, std::string_view binary) {
  return "headlens OpenCL program\n" + key + "\n" + Sha256Digits(binary) + "\n";
}

fs::path CacheFolder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return fs::path(cache) / "headlens";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".cache" / "headlens";
  return {};
}

std::string NameOf(const std::string& key) { return "opencl-" + Sha256Digits(key); }

/// Returns true for a file of this kind that belongs to the user and that no one else may write: its content is given
/// to a driver.
bool IsOurs(const struct stat& info, mode_t kind) {
  return (info.st_mode & S_IFMT) == kind && info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Opens the cache folder, which must not be a link.
int OpenFolder() { return open(CacheFolder().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

bool IsOurFolder(const Descriptor& folder) {
  struct stat info{};
  return fstat(folder.get(), &info) == 0 && IsOurs(info, S_IFDIR);
}

/// Returns all of the file `name` in the cache folder, or nothing when it is not there or cannot be trusted.
std::string ReadOurs(const std::string& name) {
  const Descriptor folder(OpenFolder());
  if (!IsOurFolder(folder)) return "";
  const Descriptor file(openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (fstat(file.get(), &info) != 0 || !IsOurs(info, S_IFREG) || info.st_size > kMostBytes) return "";
  std::string content(static_cast<std::size_t>(info.st_size), '\0');
  for (std::size_t at = 0; at < content.size();) {
    const ssize_t count = read(file.get(), content.data() + at, content.size() - at);
    if (count <= 0) return "";
    at += static_cast<std::size_t>(count);
  }
  return content;
}

}  // namespace

std::string CacheFile(const std::string& key) {
  const fs::path folder = CacheFolder();
  return folder.empty() ? "" : (folder / NameOf(key)).string();
}

std::optional<Binary> FindBinary(const std::string& key) {
  const std::string content = ReadOurs(NameOf(key));
  const std::size_t size = Header(key, "").size();
  if (content.size() <= size) return std::nullopt;
  const std::string_view binary = std::string_view(content).substr(size);
  if (!content.starts_with(Header(key, binary))) return std::nullopt;
  return Binary(binary.begin(), binary.end());
}

void KeepBinary(const std::string& key, const Binary& binary) {
  const fs::path folder = CacheFolder();
  if (folder.empty() || binary.empty()) return;
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  mkdir(folder.c_str(), S_IRWXU);
  if (!IsOurFolder(Descriptor(OpenFolder()))) return;
  const std::string content = Header(key, TextOf(binary)).append(TextOf(binary));
  // Others may read or write the same file at this moment, so the new one appears whole or not at all.
  ReplaceFile(CacheFile(key), std::as_bytes(std::span(content)), S_IRUSR | S_IWUSR);
}

}  // namespace headlens::opencl
