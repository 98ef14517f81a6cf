// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_CLI_PROGRESS_H_
#define HEADLENS_NATIVE_CLI_PROGRESS_H_

#include <unistd.h>

#include <iostream>
#include <string>

#include "cli/show.h"

namespace headlens::cli {

/// One line on the standard error that tells the progress, only if that is a terminal. The line disappears at the end
/// of the scope.
class Progress {
 public:
  Progress() : shown_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() { Show(""); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(const std::string& text) const {
    if (shown_) std::cerr << "\r\x1b[K" << Shown(text) << std::flush;
  }

 private:
  bool shown_;
};

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_PROGRESS_H_
