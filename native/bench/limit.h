// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_BENCH_LIMIT_H_
#define HEADLENS_NATIVE_BENCH_LIMIT_H_

namespace headlens::bench {

/// What one thread of this machine can do at most now: multiply-adds on registers alone, with the widest vectors the
/// SIMD backend uses. The best of several runs, together about 0.2 s; floating-point operations in a second, two for
/// each multiply-add.
double MultiplyAddLimit();

}  // namespace headlens::bench

#endif  // HEADLENS_NATIVE_BENCH_LIMIT_H_
