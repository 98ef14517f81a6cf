// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_TESTS_NATIVE_ENVIRONMENT_H_
#define HEADLENS_TESTS_NATIVE_ENVIRONMENT_H_

#include <cstdlib>
#include <optional>
#include <string>

namespace headlens::testing {

/// Sets an environment variable during its lifetime.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace headlens::testing

#endif  // HEADLENS_TESTS_NATIVE_ENVIRONMENT_H_
