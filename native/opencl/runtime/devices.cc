// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/devices.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <utility>

#include "backends/parts.h"

namespace headlens::opencl {
namespace {

constexpr char kVariable[] = "HEADLENS_OPENCL_DEVICE";

/// CL_PLATFORM_NOT_FOUND_KHR of the extension cl_khr_icd.
constexpr cl_int kNoPlatform = -1001;

/// Returns true for a device that is taken before all others.
bool IsGpu(const cl::Device& device) { return (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_GPU) != 0; }

bool IsUsable(const cl::Device& device) {
  return device.getInfo<CL_DEVICE_AVAILABLE>() && device.getInfo<CL_DEVICE_COMPILER_AVAILABLE>() &&
         device.getInfo<CL_DEVICE_ENDIAN_LITTLE>();
}

std::vector<cl::Device> UsableDevices() {
  // The C++ bindings would throw here: a loader without any platform reports that as a failure.
  cl_uint count = 0;
  const cl_int status = clGetPlatformIDs(0, nullptr, &count);
  if (status == kNoPlatform || (status == CL_SUCCESS && count == 0)) return {};
  if (status != CL_SUCCESS) throw cl::Error(status, "clGetPlatformIDs");
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  std::vector<cl::Device> usable;
  for (const cl::Platform& platform : platforms) {
    std::vector<cl::Device> devices;
    try {
      platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
    } catch (const cl::Error& error) {
      if (error.err() != CL_DEVICE_NOT_FOUND) throw;
    }
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(usable), IsUsable);
  }
  std::vector<cl::Device> sorted;
  for (const bool gpus : {true, false})
    std::copy_if(usable.begin(), usable.end(), std::back_inserter(sorted),
                 [gpus](const cl::Device& device) { return IsGpu(device) == gpus; });
  return sorted;
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Drivers pad names with spaces and zeros.
std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

std::string NameOf(const cl::Device& device) { return Trimmed(device.getInfo<CL_DEVICE_NAME>()); }

const char* TypeOf(cl_device_type type) {
  if (type & CL_DEVICE_TYPE_GPU) return "GPU";
  if (type & CL_DEVICE_TYPE_CPU) return "CPU";
  return type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator" : "custom";
}

/// Returns the device with that number or name, or null.
const cl::Device* Match(const std::vector<cl::Device>& devices, const std::string& selector) {
  std::size_t number = 0;
  const char* end = selector.data() + selector.size();
  if (const auto [at, error] = std::from_chars(selector.data(), end, number); error == std::errc() && at == end)
    return number < devices.size() ? &devices[number] : nullptr;
  const std::string wanted = Lower(selector);
  const auto it = std::find_if(devices.begin(), devices.end(), [&](const cl::Device& device) {
    return Lower(NameOf(device)).find(wanted) != std::string::npos;
  });
  return it == devices.end() ? nullptr : &*it;
}

}  // namespace

DeviceInfo Describe(const cl::Device& device) {
  DeviceInfo info;
  info.name = NameOf(device);
  info.vendor = Trimmed(device.getInfo<CL_DEVICE_VENDOR>());
  info.platform = Trimmed(cl::Platform(device.getInfo<CL_DEVICE_PLATFORM>()).getInfo<CL_PLATFORM_NAME>());
  info.driver = Trimmed(device.getInfo<CL_DRIVER_VERSION>());
  info.version = Trimmed(device.getInfo<CL_DEVICE_VERSION>());
  info.type = TypeOf(device.getInfo<CL_DEVICE_TYPE>());
  info.compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
  info.global_memory = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
  info.local_memory = device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>();
  info.largest_allocation = device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
  info.work_group_size = device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  std::istringstream words(Trimmed(device.getInfo<CL_DEVICE_EXTENSIONS>()));
  for (std::string word; words >> word;) info.extensions.push_back(word);
  return info;
}

/// The names that drivers have for themselves decide. PoCL may drive a GPU, too.
Family FamilyOf(const DeviceInfo& device) {
  if (device.type == "CPU") return Family::kCpu;
  const std::string text = Lower(device.vendor + " " + device.name + " " + device.platform);
  constexpr std::pair<const char*, Family> kWords[] = {
      {"nvidia", Family::kNvidia}, {"adreno", Family::kMobile},      {"qualcomm", Family::kMobile},
      {"mali", Family::kMobile},   {"powervr", Family::kMobile},     {"apple m", Family::kApple},
      {"amd", Family::kAmd},       {"advanced micro", Family::kAmd}, {"radeon", Family::kAmd},
      {"intel", Family::kIntel},   {"apple", Family::kApple},
  };
  for (const auto& [word, family] : kWords)
    if (text.find(word) != std::string::npos) return family;
  return Family::kOther;
}

cl::Device ChooseDevice(const std::string& selector) {
  const std::vector<cl::Device> devices = UsableDevices();
  if (devices.empty()) {
    throw Error(ErrorCode::kUnsupported,
                "there is no OpenCL device on this machine (a GPU's driver brings one, and so does PoCL)");
  }
  const char* variable = std::getenv(kVariable);
  const bool from_variable = selector.empty() && variable != nullptr && *variable != '\0';
  const std::string wanted = from_variable ? variable : selector;
  if (wanted.empty()) return devices.front();
  if (const cl::Device* device = Match(devices, wanted)) return *device;
  std::string known;
  for (std::size_t i = 0; i < devices.size(); ++i)
    known += (i == 0 ? "" : ", ") + std::to_string(i) + " " + NameOf(devices[i]);
  throw OptionError(from_variable ? kVariable : "device", Quoted(wanted),
                    {"the number or a part of the name of one of: ", known});
}

std::vector<DeviceInfo> Devices() {
  return Explaining([] {
    std::vector<DeviceInfo> infos;
    for (const cl::Device& device : UsableDevices()) infos.push_back(Describe(device));
    return infos;
  });
}

DeviceInfo FindDevice(const std::string& selector) {
  return Explaining([&] { return Describe(ChooseDevice(selector)); });
}

}  // namespace headlens::opencl
