// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_BENCH_LIMIT_H_
#define HEADLENS_NATIVE_BENCH_LIMIT_H_

namespace headlens::bench {

/// The highest speed of one thread of this machine, in floating-point operations per second, two for each multiply-add:
/// multiply-adds on registers alone, with the widest vectors that the SIMD backend uses. It is the best of `runs` runs
/// of 5 to 20 ms. Clock rates change, so compare it with measurements of the same time.
double MultiplyAddLimit(int runs);

}  // namespace headlens::bench

#endif  // HEADLENS_NATIVE_BENCH_LIMIT_H_
