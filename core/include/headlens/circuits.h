// SPDX-License-Identifier: Apache-2.0
/// What a head does, read out of its weights alone: the circuits of Elhage et al. 2021, "A Mathematical Framework for
/// Transformer Circuits". A head's query–key circuit W_QK = W_Qᵀ W_K says what looks at what (score = xᵀ W_QK y, before
/// scaling and without positions), its output–value circuit W_OV = W_O W_V what is then written (x ↦ W_OV x). Both are
/// D × D of rank d at most, and are never formed: all that is asked of them comes from d × d cores. In fp64.
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

/// One head's rows and columns of its layer's projections, in PyTorch's layout [out, in]. Borrowed. Biases are no part
/// of a circuit.
struct HeadWeights {
  View<const float, 2> q, k;  ///< [d, D]
  View<const float, 2> v;     ///< [dv, D]
  View<const float, 2> o;     ///< [D, dv]
  /// γ [D] of the norm before the projections, folded into q, k and v; empty: none. (The norm's division is no part of
  /// a circuit.)
  std::span<const float> norm = {};
};

/// A whole layer's projections as models store them: q_proj [H·d, D], k_proj [G·d, D], v_proj [G·dv, D], o_proj
/// [D, H·dv].
struct LayerWeights {
  View<const float, 2> q, k, v, o;
  Index heads = 0;
  Index kv_heads = 0;
  std::span<const float> norm = {};
};

/// Head `head` of a layer; with grouped heads, k and v are those of group floor(head·G/H). Throws kShape for sizes that
/// do not fit, kValue for a head that is not there.
HeadWeights HeadOf(const LayerWeights& layer, Index head);

enum class CircuitKind { kQk, kOv };

/// Singular values of W_QK or W_OV, the largest first: the min(d, D) of them that can be above 0.
std::vector<double> SingularValues(CircuitKind kind, const HeadWeights& head);

/// Eigenvalues of W_QK or W_OV, by modulus, the largest first: the d of them that can be other than 0. (All D are these
/// and zeros; when d > D, d − D of these are the zeros of the core.)
std::vector<std::complex<double>> Eigenvalues(CircuitKind kind, const HeadWeights& head);

/// Eᵀ U [D, D], in blocks of rows: what the full circuits need of the vocabulary. E [V, D] the token embeddings, U
/// [V, D] the rows that give the logits; Eᵀ E for the full QK circuit.
Matrix VocabularyProduct(View<const float, 2> embedding, View<const float, 2> unembedding);
Matrix VocabularyProduct(const LinearWeights& embedding, const LinearWeights& unembedding);

/// Eigenvalues of the full circuits, V × V over the vocabulary: OV: U W_O W_V Eᵀ with `vocabulary` = Eᵀ U; QK:
/// E W_Qᵀ W_K Eᵀ with `vocabulary` = Eᵀ E. As above, the d that can be other than 0.
std::vector<std::complex<double>> FullEigenvalues(CircuitKind kind, const HeadWeights& head, const Matrix& vocabulary);

/// Σλ / Σ|λ|, −1 to 1 (Elhage et al. 2021, "Copying heads"): 1 when all eigenvalues are positive. Of the full OV
/// circuit, it says that a token makes itself more likely: the head copies. No value when all are 0.
std::optional<double> CopyingScore(std::span<const std::complex<double>> eigenvalues);

/// Which input of the later head the earlier one feeds.
enum class Composition { kQuery, kKey, kValue };

/// How strongly a head of a later layer reads what a head of an earlier one wrote (Elhage et al. 2021, "Composition"):
/// Q: ‖W_QKᵀ W_OV‖ / ‖W_QK‖‖W_OV‖; K: ‖W_QK W_OV‖ / …; V: ‖W_OV W_OV‖ / …; the left matrix is the later head's, norms
/// are Frobenius'. 0 to 1. No value when one of the matrices is 0.
std::optional<double> CompositionScore(Composition kind, const HeadWeights& earlier, const HeadWeights& later);

}  // namespace headlens

#endif  // HEADLENS_CIRCUITS_H_
