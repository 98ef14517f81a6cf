// SPDX-License-Identifier: Apache-2.0
#include "headlens/circuits.h"

#include <cmath>
#include <limits>

#include "Eigen/Eigenvalues"
#include "Eigen/SVD"
#include "support.h"

namespace headlens::testing {
namespace {

using Dense = Eigen::MatrixXd;

/// A random head of width d in a stream of width D.
struct RandomHead {
  Tensor q, k, v, o;
  RandomHead(Random& random, Index width, Index d, Index dv)
      : q(random.NormalTensor({d, width})),
        k(random.NormalTensor({d, width})),
        v(random.NormalTensor({dv, width})),
        o(random.NormalTensor({width, dv})) {}
  HeadWeights weights() const { return {q.view<2>(), k.view<2>(), v.view<2>(), o.view<2>()}; }
};

Dense ToDense(const Tensor& x) {
  Dense dense(x.shape()[0], x.shape()[1]);
  for (Index i = 0; i < x.shape()[0]; ++i)
    for (Index j = 0; j < x.shape()[1]; ++j) dense(i, j) = double{x.view<2>()(i, j)};
  return dense;
}
/// The circuits as full matrices.
Dense FullQk(const RandomHead& head) { return ToDense(head.q).transpose() * ToDense(head.k); }
Dense FullOv(const RandomHead& head) { return ToDense(head.o) * ToDense(head.v); }

/// The eigenvalues of the small matrix must be the largest of the full one, whose others are zeros.
void CheckEigenvalues(const std::vector<std::complex<double>>& got, const Dense& full) {
  const Eigen::EigenSolver<Dense> solver(full, false);
  std::vector<std::complex<double>> expected(solver.eigenvalues().begin(), solver.eigenvalues().end());
  const double tolerance = 1e-9 * full.norm();
  for (std::size_t i = 1; i < got.size(); ++i) CHECK(std::abs(got[i - 1]) >= std::abs(got[i]));
  for (const std::complex<double>& value : got) {
    const auto nearest = std::min_element(expected.begin(), expected.end(), [&](const auto& a, const auto& b) {
      return std::abs(a - value) < std::abs(b - value);
    });
    REQUIRE(nearest != expected.end());
    CHECK(std::abs(*nearest - value) < tolerance);
    expected.erase(nearest);
  }
  // Multiple zero eigenvalues of a non-symmetric matrix are only accurate to about the square root of the precision.
  for (const std::complex<double>& value : expected) CHECK(std::abs(value) < 1e-6 * full.norm());
}

TEST_CASE("spectra from the small core are those of the full matrices") {
  Random random(21);
  for (const auto& [width, d, dv] : {std::tuple<Index, Index, Index>{12, 4, 3}, {7, 1, 1}, {16, 5, 8}, {5, 5, 5}}) {
    const RandomHead head(random, width, d, dv);
    CheckEigenvalues(Eigenvalues(CircuitKind::kQk, head.weights()), FullQk(head));
    CheckEigenvalues(Eigenvalues(CircuitKind::kOv, head.weights()), FullOv(head));
    for (const CircuitKind kind : {CircuitKind::kQk, CircuitKind::kOv}) {
      const Dense full = kind == CircuitKind::kQk ? FullQk(head) : FullOv(head);
      const Eigen::JacobiSVD<Dense> svd(full);
      const std::vector<double> got = SingularValues(kind, head.weights());
      REQUIRE(static_cast<Index>(got.size()) == (kind == CircuitKind::kQk ? d : dv));
      for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(std::abs(got[i] - svd.singularValues()[static_cast<Eigen::Index>(i)]) < 1e-12 * full.norm());
    }
  }
}

TEST_CASE("a head wider than the stream") {
  Random random(22);
  const RandomHead head(random, 3, 6, 6);
  CHECK(SingularValues(CircuitKind::kOv, head.weights()).size() == 3);
  const Eigen::JacobiSVD<Dense> svd(FullOv(head));
  CHECK(SingularValues(CircuitKind::kOv, head.weights())[0] == doctest::Approx(svd.singularValues()[0]));
  const auto values = Eigenvalues(CircuitKind::kOv, head.weights());
  CHECK(values.size() == 6);
  CHECK(CopyingScore(values).value() ==
        doctest::Approx(FullOv(head).trace() /
                        Eigen::EigenSolver<Dense>(FullOv(head), false).eigenvalues().cwiseAbs().sum())
            .epsilon(1e-5));
}

TEST_CASE("full circuits over the vocabulary") {
  Random random(23);
  const Index width = 8;
  const RandomHead head(random, width, 3, 4);
  // The many tokens are more than one block of rows; the eigenvalues of their full matrices would take long.
  for (const auto& [vocab, solves] : {std::pair<Index, bool>{300, false}, {60, true}}) {
    const Tensor embedding = random.NormalTensor({vocab, width}), unembedding = random.NormalTensor({vocab, width});
    const Dense e = ToDense(embedding), u = ToDense(unembedding);
    const Matrix ov = VocabularyProduct(embedding.view<2>(), unembedding.view<2>()),
                 qk = VocabularyProduct(embedding.view<2>(), embedding.view<2>());
    const Dense full_ov = e.transpose() * u, full_qk = e.transpose() * e;
    for (Index i = 0; i < width; ++i)
      for (Index j = 0; j < width; ++j) {
        CHECK(std::abs(ov(i, j) - full_ov(i, j)) < 1e-10);
        CHECK(std::abs(qk(i, j) - full_qk(i, j)) < 1e-10);
      }
    if (solves) {
      CheckEigenvalues(FullEigenvalues(CircuitKind::kOv, head.weights(), ov), u * FullOv(head) * e.transpose());
      CheckEigenvalues(FullEigenvalues(CircuitKind::kQk, head.weights(), qk), e * FullQk(head) * e.transpose());
    }
    const auto packed_e = ReferenceBackend().PackLinear(embedding.view<2>(), {}),
               packed_u = SimdBackend().PackLinear(unembedding.view<2>(), {});
    const Matrix packed = VocabularyProduct(*packed_e, *packed_u);
    for (std::size_t i = 0; i < 64; ++i) CHECK(packed.values()[i] == ov.values()[i]);
  }
}

TEST_CASE("copying scores: 1 for a head that copies, -1 for one that inverts, 0 for a rotation") {
  const auto score = [](std::vector<float> v, std::vector<float> o) {
    const Tensor value({2, 3}, v), output({3, 2}, o);
    return CopyingScore(Eigenvalues(CircuitKind::kOv, {{}, {}, value.view<2>(), output.view<2>()}));
  };
  CHECK(score({1, 0, 0, 0, 1, 0}, {2, 0, 0, 3, 0, 0}).value() == doctest::Approx(1.0));
  CHECK(score({1, 0, 0, 0, 1, 0}, {-2, 0, 0, -3, 0, 0}).value() == doctest::Approx(-1.0));
  CHECK(std::abs(score({1, 0, 0, 0, 1, 0}, {0, -1, 1, 0, 0, 0}).value()) < 1e-12);
  CHECK(score({1, 0, 0, 0, 1, 0}, {3, 0, 0, -1, 0, 0}).value() == doctest::Approx(0.5));
  CHECK(!score({1, 0, 0, 0, 1, 0}, {0, 0, 0, 0, 5, 5}));  // it writes only where it does not read
  CHECK(!CopyingScore({}));
}

TEST_CASE("composition scores are the ratios of full Frobenius norms") {
  Random random(24);
  const RandomHead earlier(random, 10, 3, 4), later(random, 10, 2, 5);
  const Dense ov = FullOv(earlier), qk = FullQk(later), reads = FullOv(later);
  const auto expect = [&](Composition kind, const Dense& left) {
    CHECK(CompositionScore(kind, earlier.weights(), later.weights()).value() ==
          doctest::Approx((left * ov).norm() / (left.norm() * ov.norm())).epsilon(1e-10));
  };
  expect(Composition::kQuery, qk.transpose());
  expect(Composition::kKey, qk);
  expect(Composition::kValue, reads);

  // One head reads exactly what the earlier head wrote, and another cannot see it.
  const Tensor first({1, 3}, std::vector<float>{1, 0, 0}), second({1, 3}, std::vector<float>{0, 1, 0});
  const auto column = [](const Tensor& row) { return View<const float, 2>{row.data(), {3, 1}, {1, 1}}; };
  const HeadWeights writer{first.view<2>(), first.view<2>(), first.view<2>(), column(second)};
  const HeadWeights reader{first.view<2>(), second.view<2>(), first.view<2>(), column(first)};
  CHECK(CompositionScore(Composition::kKey, writer, reader).value() == doctest::Approx(1.0));
  CHECK(CompositionScore(Composition::kQuery, writer, reader).value() == 0.0);
  CHECK(CompositionScore(Composition::kValue, writer, reader).value() == 0.0);
  const Tensor zeros({1, 3}, std::vector<float>(3, 0.0f));
  CHECK(!CompositionScore(Composition::kKey, {{}, {}, zeros.view<2>(), column(first)}, reader));
}

TEST_CASE("heads of a layer, grouped; the norm before them folded in") {
  Random random(25);
  const Index heads = 4, groups = 2, d = 3, width = 7;
  const Tensor q = random.NormalTensor({heads * d, width}), k = random.NormalTensor({groups * d, width}),
               v = random.NormalTensor({groups * d, width}), o = random.NormalTensor({width, heads * d}),
               norm = random.NormalTensor({width});
  const LayerWeights layer{q.view<2>(), k.view<2>(), v.view<2>(), o.view<2>(), heads, groups};
  const HeadWeights head = HeadOf(layer, 3);
  CHECK(head.q(1, 2) == q.view<2>()(3 * d + 1, 2));
  CHECK(head.k(1, 2) == k.view<2>()(d + 1, 2));
  CHECK(head.v(2, 6) == v.view<2>()(d + 2, 6));
  CHECK(head.o(6, 1) == o.view<2>()(6, 3 * d + 1));

  LayerWeights normed = layer;
  normed.norm = norm.values();
  Tensor q_folded = q.Clone(), k_folded = k.Clone();
  for (Index i = 0; i < heads * d; ++i)
    for (Index e = 0; e < width; ++e) q_folded.view<2>()(i, e) *= norm.data()[e];
  for (Index i = 0; i < groups * d; ++i)
    for (Index e = 0; e < width; ++e) k_folded.view<2>()(i, e) *= norm.data()[e];
  const LayerWeights folded{q_folded.view<2>(), k_folded.view<2>(), v.view<2>(), o.view<2>(), heads, groups};
  const auto got = SingularValues(CircuitKind::kQk, HeadOf(normed, 1)),
             expected = SingularValues(CircuitKind::kQk, HeadOf(folded, 1));
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5));

  Refused(ErrorCode::kValue, "the head is 4, expected one of 4", [&] { HeadOf(layer, 4); });
  Refused(ErrorCode::kShape, "k_proj", [&] { HeadOf({q.view<2>(), q.view<2>(), v.view<2>(), o.view<2>(), 4, 2}, 0); });
}

TEST_CASE("weights that are no head's are refused") {
  Random random(26);
  RandomHead head(random, 6, 2, 3);
  const RandomHead other(random, 5, 2, 3);
  HeadWeights weights = head.weights();
  weights.k = head.v.view<2>();
  Refused(ErrorCode::kShape, "k of a head", [&] { Eigenvalues(CircuitKind::kQk, weights); });
  weights = head.weights();
  weights.o = head.v.view<2>();
  Refused(ErrorCode::kShape, "o of a head", [&] { SingularValues(CircuitKind::kOv, weights); });
  Refused(ErrorCode::kShape, "at least one element", [&] { Eigenvalues(CircuitKind::kOv, {}); });
  Refused(ErrorCode::kShape, "width of the later head",
          [&] { CompositionScore(Composition::kValue, head.weights(), other.weights()); });
  Refused(ErrorCode::kShape, "vocabulary", [&] { FullEigenvalues(CircuitKind::kOv, head.weights(), Matrix(5, 5)); });
  Refused(ErrorCode::kShape, "unembedding", [&] { VocabularyProduct(head.q.view<2>(), head.v.view<2>()); });
  Refused(ErrorCode::kShape, "at least one element", [&] { VocabularyProduct(View<const float, 2>{}, {}); });
  const std::vector<float> norm(5);
  weights = head.weights();
  weights.norm = norm;
  Refused(ErrorCode::kShape, "norm", [&] { Eigenvalues(CircuitKind::kQk, weights); });
  head.q.data()[3] = std::numeric_limits<float>::quiet_NaN();
  Refused(ErrorCode::kValue, "q has values that are not finite, expected finite ones",
          [&] { Eigenvalues(CircuitKind::kQk, head.weights()); });
  Refused(ErrorCode::kValue, "not finite", [&] { VocabularyProduct(head.q.view<2>(), head.q.view<2>()); });
}

/// The projections of a layer with views of them.
struct LayerOfModel {
  Tensor q, k, v, o;
  LayerWeights weights;
  LayerOfModel(const Model& model, Index layer)
      : q(model.Weights(layer, Projection::kQuery)),
        k(model.Weights(layer, Projection::kKey)),
        v(model.Weights(layer, Projection::kValue)),
        o(model.Weights(layer, Projection::kOutput)),
        weights{q.view<2>(), k.view<2>(), v.view<2>(), o.view<2>(), model.info().heads, model.info().kv_heads} {}
};

TEST_CASE("the built-in model: its induction head copies, and reads its keys from the previous-token head") {
  const Model model = BuiltInModel();
  const Matrix vocabulary = VocabularyProduct(*model.embedding(), *model.unembedding());
  const KnownHead copies = BestHead("induction"), back = BestHead("previous token");
  const LayerOfModel from(model, back.layer), to(model, copies.layer);
  const HeadWeights induction = HeadOf(to.weights, copies.head);
  CHECK(CopyingScore(FullEigenvalues(CircuitKind::kOv, induction, vocabulary)).value() > 0.97);
  // Of all heads of its layer, the previous-token head's output reaches the keys most.
  const auto composition = [&](Index head) {
    return CompositionScore(Composition::kKey, HeadOf(from.weights, head), induction).value();
  };
  for (Index other = 0; other < model.info().heads; ++other)
    if (other != back.head) CHECK(composition(other) < composition(back.head) / 1.5);
}

}  // namespace
}  // namespace headlens::testing
