// SPDX-License-Identifier: Apache-2.0
/// The kinds of products, each of which has a kernel of its own.
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_PRODUCT_KIND_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_PRODUCT_KIND_H_

#include <span>

#include "opencl/matrix/product.h"
#include "opencl/tuning/tunable.h"

namespace headlens::opencl {

/// Kinds of products: by how many tiles they have for each compute unit and by the rows of A, and for few rows by
/// whether B's rows lie along the depth or the columns.
enum class ProductKind : std::size_t { kLarge, kMiddle, kSmall, kFewAlongDepth, kFewAlongColumns };
inline constexpr std::size_t kProductKinds = 5;

ProductKind KindOf(const Session& session, const Product& product);

/// The candidates for that kind: tiles, or lanes for few rows.
const Tunable& TunableOf(ProductKind kind);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_PRODUCT_KIND_H_
