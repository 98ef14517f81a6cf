// SPDX-License-Identifier: Apache-2.0
/// NumPy's .npy format, versions 1 to 3: a magic word, the length of the header, the header as a Python literal, then
/// the numbers.
#ifndef HEADLENS_NATIVE_CLI_NPY_H_
#define HEADLENS_NATIVE_CLI_NPY_H_

#include <cstddef>
#include <span>

#include "headlens/tensor.h"

namespace headlens::cli {

/// The array of a .npy file: little-endian floats of 16, 32 or 64 bits in C order. It borrows the file's bytes. Throws
/// kFormat for a file that breaks the format, and kUnsupported, by name, for arrays of another kind. Never reads
/// outside `file`, and allocates no more than in proportion to its header.
RawTensor ReadNpy(std::span<const std::byte> file);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_NPY_H_
