// SPDX-License-Identifier: Apache-2.0
#include "opencl/kernels/options.h"

#include <algorithm>

namespace headlens::opencl {

std::string Define(const char* name, Index value) {
  return std::string("-D ") + name + "=" + std::to_string(value) + " ";
}

std::string MostRegisters(const Session& session, Index count) {
  const auto& extensions = session.device().extensions;
  const bool can = std::find(extensions.begin(), extensions.end(), "cl_nv_compiler_options") != extensions.end();
  return can ? "-cl-nv-maxrregcount=" + std::to_string(count) + " " : "";
}

/// Floats of 16 bits are declared as whole numbers, or are read by vload_half, so devices need no extension for them.
std::string ElementOptions(DType type) {
  switch (type) {
    case DType::kF16:
      return "-D ELEMENT=half -D VALUE(p,i)=vload_half(i,p) -D VALUES(p)=vloada_half4(0,p) ";
    case DType::kBF16:
      return "-D ELEMENT=ushort -D VALUE(p,i)=as_float((uint)(p)[i]<<16) "
             "-D VALUES(p)=as_float4(convert_uint4(*(Shorts4)(p))<<16) ";
    default:
      return "-D ELEMENT=float -D VALUE(p,i)=(p)[i] -D VALUES(p)=(*(Floats4)(p)) ";
  }
}

std::string HalvesOption(Precision precision) { return precision == Precision::kFp16 ? "-D HALVES " : "-D BFLOATS "; }

Index GroupItems(const Session& session) {
  Index items = 128;
  while (items > session.group_items()) items /= 2;
  return items;
}

std::string GroupOption(const Session& session) { return Define("GROUP_ITEMS", GroupItems(session)); }

Grid ForEach(const Session& session, Index count) { return {count, GroupItems(session)}; }

}  // namespace headlens::opencl
