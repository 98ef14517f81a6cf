// SPDX-License-Identifier: Apache-2.0
/// The circuits of a head, computed from its weights alone (Elhage et al. 2021, "A Mathematical Framework for
/// Transformer Circuits"). The query–key circuit W_QK = W_Qᵀ W_K decides which tokens attend to which: the score is xᵀ
/// W_QK y, before scaling and without positions. The output–value circuit W_OV = W_O W_V decides what is then written:
/// x ↦ W_OV x. Both are D × D matrices of rank at most d. They are never formed; all results come from d × d matrices,
/// in fp64.
#ifndef HEADLENS_CIRCUITS_H_
#define HEADLENS_CIRCUITS_H_

#include <complex>
#include <optional>
#include <span>
#include <vector>

#include "headlens/backend.h"
#include "headlens/matrix.h"
#include "headlens/tensor.h"

namespace headlens {

/// The part of its layer's projections that belongs to one head, in PyTorch's layout [out, in]. Borrowed. Biases do not
/// belong to a circuit.
struct HeadWeights {
  View<const float, 2> q, k;  ///< [d, D]
  View<const float, 2> v;     ///< [dv, D]
  View<const float, 2> o;     ///< [D, dv]
  /// The scale γ [D] of the norm before the projections, which is folded into q, k and v; empty: no norm. The norm's
  /// division does not belong to a circuit.
  std::span<const float> norm = {};
};

/// The projections of a whole layer as models store them: q_proj [H·d, D], k_proj [G·d, D], v_proj [G·dv, D] and o_proj
/// [D, H·dv].
struct LayerWeights {
  View<const float, 2> q, k, v, o;
  Index heads = 0;
  Index kv_heads = 0;
  std::span<const float> norm = {};
};

/// The weights of head `head` of a layer. With grouped heads, k and v are those of group floor(head·G/H). Throws kShape
/// for sizes that do not fit and kValue for a head that the layer does not have.
HeadWeights HeadOf(const LayerWeights& layer, Index head);

enum class CircuitKind { kQk, kOv };

/// The singular values of W_QK or W_OV that can be above 0, which are min(d, D), the largest first.
std::vector<double> SingularValues(CircuitKind kind, const HeadWeights& head);

/// The eigenvalues of W_QK or W_OV that can differ from 0, in order of falling modulus. They are d numbers; when d > D,
/// the last d − D are always 0.
std::vector<std::complex<double>> Eigenvalues(CircuitKind kind, const HeadWeights& head);

/// Eᵀ U [D, D], the only thing that the full circuits need of the vocabulary. E [V, D] holds the token embeddings, and
/// U [V, D] the rows that give the logits. For the full QK circuit, give E twice.
Matrix VocabularyProduct(View<const float, 2> embedding, View<const float, 2> unembedding);
Matrix VocabularyProduct(const LinearWeights& embedding, const LinearWeights& unembedding);

/// The eigenvalues of the full circuits, which are V × V over the vocabulary: U W_O W_V Eᵀ for OV, with `vocabulary` =
/// Eᵀ U, and E W_Qᵀ W_K Eᵀ for QK, with `vocabulary` = Eᵀ E. Returns the d eigenvalues that can differ from 0.
std::vector<std::complex<double>> FullEigenvalues(CircuitKind kind, const HeadWeights& head, const Matrix& vocabulary);

/// Σλ / Σ|λ|, from −1 to 1 (Elhage et al. 2021, "Copying heads"); 1 when all eigenvalues are positive. For the full OV
/// circuit, a high score means that a token makes itself more likely, so the head copies. No value when all are 0.
std::optional<double> CopyingScore(std::span<const std::complex<double>> eigenvalues);

/// The input of the later head that the earlier head feeds.
enum class Composition { kQuery, kKey, kValue };

/// The strength with which a head of a later layer reads the output of a head of an earlier one (Elhage et al. 2021,
/// "Composition"). Q: ‖W_QKᵀ W_OV‖ / (‖W_QK‖ ‖W_OV‖); K: ‖W_QK W_OV‖ / (‖W_QK‖ ‖W_OV‖); V: ‖W_OV W_OV‖ / (‖W_OV‖
/// ‖W_OV‖). The left matrix is the later head's, and norms are Frobenius norms. From 0 to 1. No value when one of the
/// matrices is 0.
std::optional<double> CompositionScore(Composition kind, const HeadWeights& earlier, const HeadWeights& later);

}  // namespace headlens

#endif  // HEADLENS_CIRCUITS_H_
