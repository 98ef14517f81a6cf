// SPDX-License-Identifier: Apache-2.0
#include "opencl/program_cache.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace headlens::opencl {
namespace {

namespace fs = std::filesystem;

/// No program is larger; a file that is would only take memory.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20;

/// FNV-1a.
std::uint64_t HashOf(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string Hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string_view TextOf(const Binary& binary) { return {reinterpret_cast<const char*>(binary.data()), binary.size()}; }

/// What a file begins with: two programs of equal hash differ in it, and so does a file that was cut or changed.
std::string Header(const std::string& key, const Binary& binary) {
  return "headlens OpenCL program\n" + key + "\n" + std::to_string(binary.size()) + " " + Hex(HashOf(TextOf(binary))) +
         "\n";
}

fs::path CacheFolder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return fs::path(cache) / "headlens";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".cache" / "headlens";
  return {};
}

}  // namespace

std::string CacheFile(const std::string& key) {
  const fs::path folder = CacheFolder();
  return folder.empty() ? "" : (folder / ("opencl-" + Hex(HashOf(key)))).string();
}

std::optional<Binary> FindBinary(const std::string& key) {
  const std::string path = CacheFile(key);
  std::error_code error;
  if (path.empty() || !fs::is_regular_file(path, error) || fs::file_size(path, error) > kMostBytes) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string begin = Header(key, {});
  const std::size_t line = begin.find_last_of('\n', begin.size() - 2) + 1;  // where size and hash stand
  const std::size_t body = content.find('\n', line);
  if (content.compare(0, line, begin, 0, line) != 0 || body == std::string::npos) return std::nullopt;
  Binary binary(content.begin() + static_cast<std::ptrdiff_t>(body) + 1, content.end());
  if (binary.empty() || content.compare(0, body + 1, Header(key, binary)) != 0) return std::nullopt;
  return binary;
}

void KeepBinary(const std::string& key, const Binary& binary) {
  const std::string path = CacheFile(key);
  if (path.empty() || binary.empty()) return;
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  // Others may read or write the same file at this moment: it appears whole, or not at all.
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) return;
  close(descriptor);
  std::ofstream file(temporary, std::ios::binary);
  file << Header(key, binary) << TextOf(binary);
  file.close();
  if (file) fs::rename(temporary, path, error);
  if (!file || error) fs::remove(temporary, error);
}

}  // namespace headlens::opencl
