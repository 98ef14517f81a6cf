// SPDX-License-Identifier: Apache-2.0
/// The parts of the core that backends for GPUs build on although no public header shows them. All of these includes
/// are here, and nowhere else in the rooms of these backends.
#ifndef HEADLENS_NATIVE_GPU_CORE_H_
#define HEADLENS_NATIVE_GPU_CORE_H_

#include "attention/masks/mask_set.h"
#include "attention/normalizers/registry.h"
#include "attention/philox.h"
#include "attention/positions/bias_table.h"
#include "backends/attention_run.h"
#include "backends/checks.h"
#include "backends/simd/online_rows.h"
#include "base/views.h"
#include "base/words.h"

#endif  // HEADLENS_NATIVE_GPU_CORE_H_
