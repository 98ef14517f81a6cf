// SPDX-License-Identifier: Apache-2.0
/// The kernels of this folder, which are part of the program. Each source is put behind gpu/kernel_arguments.h where it
/// takes the structures that are defined there.
#ifndef HEADLENS_NATIVE_OPENCL_KERNELS_SOURCES_H_
#define HEADLENS_NATIVE_OPENCL_KERNELS_SOURCES_H_

#include "opencl/runtime/source.h"

namespace headlens::opencl {

extern const Source kMatrixSource, kVectorsSource, kPartsSource, kWeightsSource, kLayersSource, kRowsSource,
    kOnlineSource, kPooledSource, kFewSource, kMergeSource, kRoundSource, kLimitsSource, kMmaProbeSource,
    kMatrixMmaSource, kMatrixRingSource, kOnlineMmaSource;

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_KERNELS_SOURCES_H_
