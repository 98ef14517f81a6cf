// SPDX-License-Identifier: Apache-2.0
#include "cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "system/replace_file.h"

namespace headlens::cli {
namespace {

std::string SystemMessage() { return std::strerror(errno); }

/// The error of a file that the system does not let us read, in its words.
InputError Unreadable(const std::string& path) {
  const std::string reason = SystemMessage();
  return InputError({ErrorCode::kFormat, path, reason, "a file that can be read", {path, ": ", reason}});
}

InputError WrongFile(const std::string& path, const Fragment& verb, const Fragment& got, const Fragment& expected) {
  return InputError(Wrong(ErrorCode::kFormat, path, verb, got, expected));
}

Index CheckedSize(const std::string& path, int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) throw Unreadable(path);
  if (S_ISDIR(info.st_mode)) throw WrongFile(path, "is", "a directory", "a file");
  if (!S_ISREG(info.st_mode)) throw WrongFile(path, "is", "a device, a pipe or a socket", "a regular file");
  if (info.st_size > MostBytes()) {
    throw WrongFile(path, "has", {info.st_size, " bytes"},
                    {"at most ", MostBytes(), ", half of this machine's memory"});
  }
  return info.st_size;
}

}  // namespace

Index MostBytes() { return static_cast<Index>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2; }

// Without O_NONBLOCK, opening a pipe would wait until somebody writes to it.
FileReader::FileReader(const std::string& path)
    : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) throw Unreadable(path);
  try {
    size_ = CheckedSize(path, fd_);
  } catch (...) {
    close(fd_);
    throw;
  }
}

FileReader::~FileReader() { close(fd_); }

Index FileReader::Read(std::span<std::byte> to) {
  while (true) {
    const ssize_t count = read(fd_, to.data(), to.size());
    if (count > 0) return count;
    if (count == 0) throw WrongFile(path_, "became", "shorter while it was read", {size_, " bytes"});
    if (errno != EINTR) throw Unreadable(path_);
  }
}

File::File(const std::string& path) {
  FileReader file(path);
  buffer_ = Blaming(path, [&] { return Buffer<std::byte>(file.size()); });
  const std::span<std::byte> all(buffer_.data(), static_cast<std::size_t>(buffer_.size()));
  for (std::size_t at = 0; at < all.size();) at += static_cast<std::size_t>(file.Read(all.subspan(at)));
}

void WriteFile(const std::string& to, std::span<const std::byte> bytes) {
  const auto fail = [&to] { throw std::runtime_error(to + ": cannot be written: " + SystemMessage()); };
  std::error_code missing;
  const std::filesystem::file_status status = std::filesystem::status(to, missing);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    Descriptor device(open(to.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.get() < 0 || !WriteAll(device.get(), bytes) || !device.Close()) fail();
    return;
  }
  const mode_t mask = umask(0);
  umask(mask);
  if (!ReplaceFile(to, bytes, 0666 & ~mask)) fail();
}

InputError Blamed(const std::string& path, const Error& error) {
  return InputError(error.In({path, ": ", ToString(error.code()), " error"}));
}

InputError TooLarge(const std::string& path) {
  return Blamed(path, {ErrorCode::kMemory, "it takes more memory than there is"});
}

std::string InstalledPath(const std::string& name) {
  std::error_code unknown;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return unknown ? "" : (program.parent_path().parent_path() / "share" / "headlens" / name).string();
}

void ExpectOther(const std::string& output, const std::string& input) {
  std::error_code missing;
  if (std::filesystem::equivalent(output, input, missing)) {
    throw InputError(OptionError("--out", output, {"another file than ", input}));
  }
}

nlohmann::json ParseJson(std::string_view text) {
  constexpr int kDeepest = 64;
  bool too_deep = false;
  const auto watch = [&too_deep](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    too_deep |= depth > kDeepest;
    return !too_deep;
  };
  nlohmann::json parsed = nlohmann::json::parse(text, watch, /*allow_exceptions=*/false);
  return too_deep ? nlohmann::json(nlohmann::json::value_t::discarded) : parsed;
}

}  // namespace headlens::cli
