// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_SHA256_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_SHA256_H_

#include <string>
#include <string_view>

namespace headlens::opencl {

/// SHA-256 (FIPS 180-4) as 64 hexadecimal digits. Our own, since no library that the program is linked with has one.
std::string Sha256(std::string_view bytes);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_SHA256_H_
