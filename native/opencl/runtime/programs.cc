// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/programs.h"

#include <algorithm>

#include "opencl/runtime/program_cache.h"

namespace headlens::opencl {
namespace {

/// No option may allow faster arithmetic: the kernels count on the answers that IEEE 754 gives. Warnings are switched
/// off, since PoCL writes their number to the standard error.
constexpr char kCommonOptions[] = "-cl-std=CL1.2 -w ";

std::string BuildLog(const cl::Program& program, const cl::Device& device) {
  try {
    return program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device);
  } catch (const cl::Error&) {
    return "no log";
  }
}

std::string OneLine(std::string text) {
  constexpr std::size_t kMostLetters = 400;
  if (text.size() > kMostLetters) text = text.substr(0, kMostLetters) + " ...";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string TextOf(const Source& source) {
  std::string text;
  for (const char* common : source.common) text += common;
  return text + source.text;
}

}  // namespace

const cl::Program& Programs::Get(const Source& source, const std::string& options) {
  const std::string name = std::string(source.name) + " " + options;
  const auto it = programs_.find(name);
  if (it != programs_.end()) return it->second;
  return programs_.emplace(name, Make(source, kCommonOptions + options)).first->second;
}

cl::Program Programs::Make(const Source& source, const std::string& options) const {
  const std::string text = TextOf(source);
  const std::string key =
      info_.platform + "\n" + info_.name + "\n" + info_.driver + "\n" + info_.version + "\n" + options + "\n" + text;
  if (std::optional<cl::Program> program = FromCache(key, options)) return *program;
  cl::Program program = Compile(source, text, options);
  if (CacheFile(key).empty()) return program;  // some drivers compile every kernel once more to give a binary
  const auto binaries = program.getInfo<CL_PROGRAM_BINARIES>();
  if (binaries.size() == 1) KeepBinary(key, binaries.front());
  return program;
}

cl::Program Programs::Compile(const Source& source, const std::string& text, const std::string& options) const {
  cl::Program program(context_, text);
  if (const cl_int status = Build(program, options); status != CL_SUCCESS) {
    const Error why = Explained(cl::Error(status, "clBuildProgram"));
    throw Error(why.code(), {why.message(), "; ", source.name, " for ", info_.name, " with ", options, ": ",
                             OneLine(BuildLog(program, device_))});
  }
  return program;
}

/// Returns nothing when the cache has no such program, or the driver does not take it back.
std::optional<cl::Program> Programs::FromCache(const std::string& key, const std::string& options) const {
  const std::optional<Binary> binary = FindBinary(key);
  if (!binary) return std::nullopt;
  try {
    cl::Program program(context_, {device_}, cl::Program::Binaries{*binary});
    if (Build(program, options) == CL_SUCCESS) return program;
  } catch (const cl::Error&) {  // as if the cache had none
  }
  return std::nullopt;
}

/// The bindings are not used here, because they ask for the log at once: where that fails too, its status would hide
/// the build's.
cl_int Programs::Build(const cl::Program& program, const std::string& options) const {
  const cl_device_id device = device_();
  return clBuildProgram(program(), 1, &device, options.c_str(), nullptr, nullptr);
}

}  // namespace headlens::opencl
