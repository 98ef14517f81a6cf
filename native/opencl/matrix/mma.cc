// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/mma.h"

#include "opencl/kernels/options.h"

namespace headlens::opencl {
namespace {

const char* PrecisionOption(Precision precision) {
  switch (precision) {
    case Precision::kFp16:
      return "-D FP16 ";
    case Precision::kBf16:
      return "-D BF16 ";
    default:
      return "-D TF32X3 ";
  }
}

}  // namespace

/// Emulation is for small problems, which take less time than a compiler that optimises.
std::string MmaOptions(const Session& session) {
  const bool emulates = session.settings().emulate_matrix_units;
  return PrecisionOption(session.precision()) + std::string(emulates ? "-D EMULATE -cl-opt-disable " : "");
}

bool MmaFits(const Session& session, Index numbers, Index warps, Index lefts, Index rights) {
  const MmaLayout layout(session.precision());
  const Index bytes = numbers * layout.number_bytes();
  if (warps * kWarp > session.group_items() || bytes > session.local_memory()) return false;
  if (!session.settings().emulate_matrix_units) return true;
  const Index words = warps * kWarp * (lefts * layout.left_words() + rights * layout.right_words());
  return bytes + words * static_cast<Index>(sizeof(cl_uint)) <= static_cast<Index>(session.device().local_memory);
}

std::string MmaRaceName(Precision precision, const std::string& work) {
  return (precision == Precision::kTf32x3 ? "tf32x3." : "16-bit.") + work;
}

}  // namespace headlens::opencl
