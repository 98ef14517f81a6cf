// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_SHARED_DEVICE_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_SHARED_DEVICE_H_

#include <mutex>
#include <optional>
#include <utility>

#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// A device that threads take turns with. It is opened when it is first used, and again after it was lost.
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
        session_->residents() = std::exchange(lost_, {});
      }
      try {
        return f(*session_);
      } catch (...) {
        if (!session_->IsAlive()) Lose();
        throw;
      }
    });
  }

  Backend::Transfers transfers() {
    const std::lock_guard lock(mutex_);
    return session_ ? session_->transfers() : Backend::Transfers();
  }

  /// To be called when a resident's tensor is gone.
  void Forget(const float* host) {
    const std::lock_guard lock(mutex_);
    (session_ ? session_->residents() : lost_).Remove(host);
  }

 private:
  void Lose() {
    lost_ = std::move(session_->residents());
    lost_.Lose();
    session_.reset();
  }

  const Settings settings_;
  std::mutex mutex_;
  std::optional<Session> session_;
  Residents lost_;  // the residents while there is no session
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_SHARED_DEVICE_H_
