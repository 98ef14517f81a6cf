// SPDX-License-Identifier: Apache-2.0
#include "headlens/circuits.h"

#include <cmath>
#include <functional>
#include <string>

#include "base/checks.h"
#include "base/sorting.h"
#include "heads/eigenvalues.h"

namespace headlens {
namespace {

Error NotFinite(const Fragment& what) {
  return Wrong(ErrorCode::kValue, what, "has", "values that are not finite", "finite ones");
}

/// Converts the matrix to fp64 and multiplies its columns by `factors` when there are any. Throws kValue for numbers
/// that are not finite.
Dense CheckedDense(const char* name, const View<const float, 2>& x, std::span<const float> factors = {}) {
  if (ElementCount(SizesOf(x)) == 0 || !x) throw ShapeError(Fragment::Name(name), SizesOf(x), "at least one element");
  Dense dense = ToDense(x);
  if (!factors.empty()) {
    ExpectSizes("`norm`", {static_cast<Index>(factors.size())}, {x.shape[1]});
    const Eigen::Map<const Eigen::RowVectorXf> row(factors.data(), dense.cols());
    dense.array().rowwise() *= row.cast<double>().array();
  }
  if (!dense.allFinite()) throw NotFinite(Fragment::Name(name));
  return dense;
}

/// A circuit as a product left · right, of [D, d] and [d, D].
struct Factors {
  Dense left, right;
};

Factors FactorsOf(CircuitKind kind, const HeadWeights& head) {
  if (kind == CircuitKind::kQk) {
    ExpectSizes("k of a head", SizesOf(head.k), SizesOf(head.q));
    return {CheckedDense("q", head.q, head.norm).transpose(), CheckedDense("k", head.k, head.norm)};
  }
  ExpectSizes("o of a head", SizesOf(head.o), {head.v.shape[1], head.v.shape[0]});
  return {CheckedDense("o", head.o), CheckedDense("v", head.v, head.norm)};
}

/// A matrix of at most as many rows that keeps the lengths of x's columns and the angles between them: R of x = Q R, by
/// Gram and Schmidt, whose modified form gives an R as exact as reflections do (Björck 1967).
Dense WithoutRotation(Dense x) {
  if (x.rows() <= x.cols()) return x;
  Dense triangle = Dense::Zero(x.cols(), x.cols());
  for (Eigen::Index i = 0; i < x.cols(); ++i) {
    triangle(i, i) = x.col(i).norm();
    if (triangle(i, i) > 0.0) x.col(i) /= triangle(i, i);
    for (Eigen::Index j = i + 1; j < x.cols(); ++j) {
      triangle(i, j) = x.col(i).dot(x.col(j));
      x.col(j) -= triangle(i, j) * x.col(i);
    }
  }
  return triangle;
}

/// Rotates two columns in their plane so that they become orthogonal. Returns false when they were already, to within
/// `tolerance`.
bool MakeOrthogonal(Dense& x, Eigen::Index i, Eigen::Index j, double tolerance) {
  const double a = x.col(i).squaredNorm(), b = x.col(j).squaredNorm(), product = x.col(i).dot(x.col(j));
  if (!(std::abs(product) > tolerance * std::sqrt(a) * std::sqrt(b))) return false;
  const double half = (b - a) / (2.0 * product);
  const double tangent = std::copysign(1.0, half) / (std::abs(half) + std::sqrt(1.0 + half * half));
  const double cosine = 1.0 / std::sqrt(1.0 + tangent * tangent), sine = cosine * tangent;
  for (Eigen::Index row = 0; row < x.rows(); ++row) {
    const double left = x(row, i), right = x(row, j);
    x(row, i) = cosine * left - sine * right;
    x(row, j) = sine * left + cosine * right;
  }
  return true;
}

/// The lengths of the columns, from the longest to the shortest, once rotations have made all of them orthogonal
/// (one-sided Jacobi, Hestenes 1958). Eigen's own decomposition would be a good part of the wasm module.
std::vector<double> SingularValuesOf(Dense x) {
  constexpr int kMostSweeps = 60;  // ten are usual
  const double tolerance = 1e-15 * std::sqrt(static_cast<double>(x.rows()));
  bool rotated = true;
  for (int sweep = 0; sweep < kMostSweeps && rotated; ++sweep) {
    rotated = false;
    for (Eigen::Index i = 0; i < x.cols(); ++i)
      for (Eigen::Index j = i + 1; j < x.cols(); ++j) rotated |= MakeOrthogonal(x, i, j, tolerance);
  }
  std::vector<double> values;
  for (Eigen::Index i = 0; i < x.cols(); ++i) values.push_back(x.col(i).norm());
  SortDescending(values);
  return values;
}

/// By falling modulus; of one modulus, the largest real part comes first, and of a pair the one above the real axis.
std::vector<std::complex<double>> SortedEigenvalues(const Dense& core) {
  std::vector<std::complex<double>> values = EigenvaluesOf(core);
  Permute(std::span(values), Order(values.size(), [&](std::size_t i, std::size_t j) {
            const std::complex<double>&a = values[i], &b = values[j];
            if (std::abs(a) != std::abs(b)) return std::abs(a) > std::abs(b);
            return a.real() != b.real() ? a.real() > b.real() : a.imag() > b.imag();
          }));
  return values;
}

using CopyRow = std::function<void(Index row, std::span<float> to)>;

Matrix ProductOfRows(Index rows, Index width, const CopyRow& embedding, const CopyRow& unembedding) {
  constexpr Index kBlock = 256;
  Dense sum = Dense::Zero(EigenIndex(width), EigenIndex(width)), e, u;
  std::vector<float> row(static_cast<std::size_t>(width));
  for (Index begin = 0; begin < rows; begin += kBlock) {
    const Eigen::Index count = EigenIndex(std::min(kBlock, rows - begin));
    e.resize(EigenIndex(width), count);
    u.resize(count, EigenIndex(width));
    for (Eigen::Index i = 0; i < count; ++i) {
      embedding(begin + i, row);
      std::copy(row.begin(), row.end(), e.col(i).begin());
      unembedding(begin + i, row);
      std::copy(row.begin(), row.end(), u.row(i).begin());
    }
    sum += Product(e, u);
  }
  if (!sum.allFinite()) throw NotFinite("the product of the embeddings");
  Matrix product(width, width);
  AsEigen(product) = sum;
  return product;
}

void CheckVocabulary(const Shape& embedding, const Shape& unembedding) {
  if (embedding[0] < 1 || embedding[1] < 1) throw ShapeError("`embedding`", embedding, "at least one element");
  ExpectSizes("`unembedding`", unembedding, embedding);
}

/// ‖left · core · right‖², computed from the Gram matrices of left and right.
double SquaredNorm(const Dense& left, const Dense& core, const Dense& right) {
  const Dense inner = Product(Product(Product(left.transpose(), left), core), Product(right, right.transpose()));
  return std::max(core.cwiseProduct(inner).sum(), 0.0);
}
double SquaredNorm(const Factors& x) {
  return SquaredNorm(x.left, Dense::Identity(x.left.cols(), x.right.rows()), x.right);
}

/// The matrix of the later head that reads the output of the earlier one.
Factors Reader(Composition kind, const HeadWeights& later) {
  if (kind == Composition::kValue) return FactorsOf(CircuitKind::kOv, later);
  Factors qk = FactorsOf(CircuitKind::kQk, later);
  if (kind == Composition::kKey) return qk;
  return {qk.right.transpose(), qk.left.transpose()};
}

}  // namespace

HeadWeights HeadOf(const LayerWeights& layer, Index head) {
  if (layer.heads < 1 || layer.kv_heads < 1 || layer.heads % layer.kv_heads != 0 || head < 0 || head >= layer.heads) {
    throw ValueError("the head", head,
                     {"one of ", layer.heads, ", a multiple of the ", layer.kv_heads, " of keys and values"});
  }
  if (layer.q.shape[0] % layer.heads != 0 || layer.o.shape[1] % layer.heads != 0) {
    throw Error(ErrorCode::kShape, {"q_proj has ", layer.q.shape[0], " rows and o_proj ", layer.o.shape[1],
                                    " columns, expected multiples of `num_heads`, ", layer.heads});
  }
  const Index width = layer.q.shape[1], d = layer.q.shape[0] / layer.heads, dv = layer.o.shape[1] / layer.heads,
              group = head / (layer.heads / layer.kv_heads);
  ExpectSizes("q_proj", SizesOf(layer.q), {layer.heads * d, width});
  ExpectSizes("k_proj", SizesOf(layer.k), {layer.kv_heads * d, width});
  ExpectSizes("v_proj", SizesOf(layer.v), {layer.kv_heads * dv, width});
  ExpectSizes("o_proj", SizesOf(layer.o), {width, layer.heads * dv});
  return {Rows(layer.q, head * d, d),
          Rows(layer.k, group * d, d),
          Rows(layer.v, group * dv, dv),
          {layer.o.at(0, head * dv), {width, dv}, layer.o.strides},
          layer.norm};
}

std::vector<double> SingularValues(CircuitKind kind, const HeadWeights& head) {
  const Factors factors = FactorsOf(kind, head);
  // Orthogonal factors at either end do not change singular values, so the product without them has the same ones.
  return SingularValuesOf(
      Product(WithoutRotation(factors.left), WithoutRotation(factors.right.transpose()).transpose()));
}

std::vector<std::complex<double>> Eigenvalues(CircuitKind kind, const HeadWeights& head) {
  // A B and B A have the same eigenvalues, except for zeros.
  const Factors factors = FactorsOf(kind, head);
  return SortedEigenvalues(Product(factors.right, factors.left));
}

Matrix VocabularyProduct(View<const float, 2> embedding, View<const float, 2> unembedding) {
  CheckVocabulary(SizesOf(embedding), SizesOf(unembedding));
  const auto rows_of = [](const View<const float, 2>& x) {
    return [&x](Index row, std::span<float> to) {
      for (Index e = 0; e < x.shape[1]; ++e) to[static_cast<std::size_t>(e)] = x(row, e);
    };
  };
  return ProductOfRows(embedding.shape[0], embedding.shape[1], rows_of(embedding), rows_of(unembedding));
}

Matrix VocabularyProduct(const LinearWeights& embedding, const LinearWeights& unembedding) {
  const auto rows_of = [](const LinearWeights& x) {
    return [&x](Index row, std::span<float> to) { x.CopyRow(row, to); };
  };
  CheckVocabulary({embedding.out_features(), embedding.in_features()},
                  {unembedding.out_features(), unembedding.in_features()});
  return ProductOfRows(embedding.out_features(), embedding.in_features(), rows_of(embedding), rows_of(unembedding));
}

std::vector<std::complex<double>> FullEigenvalues(CircuitKind kind, const HeadWeights& head, const Matrix& vocabulary) {
  const Factors factors = FactorsOf(kind, head);
  const Index width = factors.left.rows();
  ExpectSizes("vocabulary", {vocabulary.rows(), vocabulary.columns()}, {width, width});
  return SortedEigenvalues(Product(Product(factors.right, AsEigen(vocabulary)), factors.left));
}

std::optional<double> CopyingScore(std::span<const std::complex<double>> eigenvalues) {
  double sum = 0.0, moduli = 0.0;
  for (const std::complex<double>& value : eigenvalues) {
    sum += value.real();  // imaginary parts cancel, since they come in conjugate pairs
    moduli += std::abs(value);
  }
  if (!(moduli > 0.0) || !std::isfinite(moduli)) return std::nullopt;
  return sum / moduli;
}

std::optional<double> CompositionScore(Composition kind, const HeadWeights& earlier, const HeadWeights& later) {
  const Factors reader = Reader(kind, later), writer = FactorsOf(CircuitKind::kOv, earlier);
  ExpectSizes("width of the later head", {reader.right.cols()}, {writer.left.rows()});
  const double norms = std::sqrt(SquaredNorm(reader)) * std::sqrt(SquaredNorm(writer));
  if (norms == 0.0) return std::nullopt;
  return std::min(std::sqrt(SquaredNorm(reader.left, Product(reader.right, writer.left), writer.right)) / norms, 1.0);
}

}  // namespace headlens
