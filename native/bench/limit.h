// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_BENCH_LIMIT_H_
#define HEADLENS_NATIVE_BENCH_LIMIT_H_

namespace headlens::bench {

/// What one thread of this machine can do at most now: multiply-adds on registers alone, with the widest vectors the
/// SIMD backend uses. The best of so many runs of 5 to 20 ms; floating-point operations in a second, two for each
/// multiply-add. Clocks change: to be compared with what is measured at the same time.
double MultiplyAddLimit(int runs);

}  // namespace headlens::bench

#endif  // HEADLENS_NATIVE_BENCH_LIMIT_H_
