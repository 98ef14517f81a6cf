// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_CLI_TUNE_H_
#define HEADLENS_NATIVE_CLI_TUNE_H_

#include "cli/backends.h"

namespace headlens::cli {

/// Finds the kernels that the device of the opencl backend is fastest with, keeps them for all sessions to come, and
/// prints them. Throws InputError for another backend.
void TuneDevice(const BackendOptions& options);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_TUNE_H_
