// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_MATRIX_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_MATRIX_H_

#include <span>
#include <string>

#include "opencl/matrix/places.h"
#include "opencl/runtime/session.h"
#include "opencl/tuning/tuning.h"

namespace headlens::opencl {

/// A matrix for each head of a launch, and where these are.
struct Operand {
  Memory buffer;
  Place place;
};

/// C [m, n] = A [m, k] · B + bias [n] for each head. B is [k, n], or [n, k] with `b_columns`, and of type F32, F16 or
/// BF16. No size is 0.
struct Product {
  Operand a, b, c;
  Index m, n, k;
  bool b_columns = false;
  DType b_type = DType::kF32;
  Memory bias{};
  Heads heads{};
  Index head_count = 1;
  /// A and B may be rounded to 16 bits, where the settings say so.
  bool rounds = false;
};

/// By the kernel that suits the product and the device; the second never on matrix units.
void Multiply(Session& session, const Product& product);
void MultiplyWithoutUnits(Session& session, const Product& product);

/// A kernel for any product: matrix.cl says what the parameters are.
struct Tile {
  Index m, n, depth, work_m, work_n, wide, buffers;

  constexpr Index items() const { return m / work_m * (n / work_n); }
  constexpr Index local_memory() const { return buffers * depth * (m + n + wide + 4) * Index{sizeof(float)}; }
};

/// A kernel for products of few rows: vectors.cl says what the parameters are.
struct Lanes {
  static constexpr Index kMostRows = 8;
  static constexpr Index kMostSums = 16;  ///< of an item, with b_columns: more would not stay in registers
  static constexpr Index kColumns = 4;    ///< of an item, at most, without

  Index lanes, lines, work;

  constexpr Index items() const { return lanes * lines; }
  /// At most: for as many rows as can be.
  constexpr Index local_memory(bool b_columns) const {
    const Index floats = b_columns ? lines * kMostSums * (lanes + 1) : lanes * kMostRows * kColumns * (lines + 1);
    return floats * Index{sizeof(float)};
  }
};

/// Parameters as text: the candidates' names.
std::string NameOf(const Tile& tile);
std::string NameOf(const Lanes& lanes);

/// The candidates; the last of each runs on every device.
std::span<const Tile> Tiles();
std::span<const Lanes> LanesFor(bool b_columns);

/// Whether the device has the items and the local memory.
bool Fits(const Session& session, const Tile& tile);
bool Fits(const Session& session, const Lanes& lanes, bool b_columns);

/// By that kernel, which must fit; with Lanes: at most kMostRows rows.
void Multiply(Session& session, const Product& product, const Tile& tile);
void Multiply(Session& session, const Product& product, const Lanes& lanes);

/// Kinds of products, each with a kernel of its own: by how many tiles they have for each compute unit, rows of A, and
/// for few rows by what B's rows lie along.
enum class ProductKind : std::size_t { kLarge, kMiddle, kSmall, kFewAlongDepth, kFewAlongColumns };

ProductKind KindOf(const Session& session, const Product& product);

/// For kernels that compete for products of a kind: launch(session, product, candidate) starts one of them.
using LaunchProduct = std::function<void(Session&, const Product&, std::size_t)>;
Trial ProductTrialOf(Session& session, ProductKind kind, const LaunchProduct& launch);

/// By ProductKind: which of the candidates.
std::span<const Tunable> ProductTunables();

/// The build option that defines a macro.
std::string Define(const char* name, Index value);

/// The build option that keeps a work-item to so many registers, where NVIDIA's compiler takes it; else none.
std::string MostRegisters(const Session& session, Index count);

/// Build options for weights of that type: ELEMENT, what they are in memory; VALUE(p, i), element i as a float; and
/// VALUES(p), four from an aligned p on, for sources that include elements.cl.
std::string ElementOptions(DType type);

/// A work-group for kernels that reduce or count: a power of two.
Index GroupItems(const Session& session);
std::string GroupOption(const Session& session);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_MATRIX_H_
