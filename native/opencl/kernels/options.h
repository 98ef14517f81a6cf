// SPDX-License-Identifier: Apache-2.0
/// Build options that several kernels take. Each ends with a space, so that they can be put together.
#ifndef HEADLENS_NATIVE_OPENCL_KERNELS_OPTIONS_H_
#define HEADLENS_NATIVE_OPENCL_KERNELS_OPTIONS_H_

#include <string>

#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// Defines a macro.
std::string Define(const char* name, Index value);

/// The option that limits a work-item to `count` registers with NVIDIA's compiler. It is empty for all others.
std::string MostRegisters(const Session& session, Index count);

/// Says what weights of that type are: ELEMENT, their type in memory; VALUE(p, i), element i as a float; and VALUES(p),
/// four floats from an aligned p on, for sources that include elements.cl.
std::string ElementOptions(DType type);

/// Says which numbers of 16 bits there are: HALVES or BFLOATS.
std::string HalvesOption(Precision precision);

/// The number of work-items in a group of kernels that reduce or count, a power of two, and the option for it.
Index GroupItems(const Session& session);
std::string GroupOption(const Session& session);

/// A work-item for each of `count` elements.
Grid ForEach(const Session& session, Index count);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_KERNELS_OPTIONS_H_
