// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_SHARED_DEVICE_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_SHARED_DEVICE_H_

#include <mutex>
#include <optional>
#include <utility>

#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// A device that threads use in turn. It is opened when it is first used, and again after it was lost; buffers and
/// residents of the earlier session are then useless.
class SharedDevice {
 public:
  explicit SharedDevice(Settings settings) : settings_(std::move(settings)) {}

  /// Returns f(session). Failed OpenCL calls become an Error.
  template <class F>
  auto Use(const F& f) {
    const std::lock_guard lock(mutex_);
    return Explaining([&] {
      if (!session_) {
        if (settings_.before_opening) settings_.before_opening();
        session_.emplace(settings_);
      }
      try {
        return f(*session_);
      } catch (...) {
        if (!session_->IsAlive()) session_.reset();
        throw;
      }
    });
  }

  Backend::Transfers transfers() {
    const std::lock_guard lock(mutex_);
    return session_ ? session_->transfers() : Backend::Transfers();
  }

 private:
  const Settings settings_;
  std::mutex mutex_;
  std::optional<Session> session_;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_SHARED_DEVICE_H_
