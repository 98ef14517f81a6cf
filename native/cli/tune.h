// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_CLI_TUNE_H_
#define HEADLENS_NATIVE_CLI_TUNE_H_

#include "cli/backends.h"

namespace headlens::cli {

/// Finds the kernels with which the device of the opencl backend is fastest, saves the choice for all later sessions,
/// and prints it. Throws InputError for another backend.
void TuneDevice(const BackendOptions& options);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_TUNE_H_
