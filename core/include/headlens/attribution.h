// SPDX-License-Identifier: Apache-2.0
/// Beyond single weights: how alike heads are, what weights carry (values and their norms), how layers combine
/// (rollout, flow), and what is lost without a head or a token. Everything is accumulated in fp64.
///
/// Weights are checked as HeadMap checks them: kValue for what is negative, above 1 or not finite, kShape for sizes
/// that do not fit. Rows that are not valid (padded, fully masked, without any weight) stay zeros whatever they hold,
/// and what keys that no valid row may look at hold reaches nothing; MapInfo says which those are.
#ifndef HEADLENS_ATTRIBUTION_H_
#define HEADLENS_ATTRIBUTION_H_

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "headlens/matrix.h"
#include "headlens/metrics.h"
#include "headlens/tensor.h"

namespace headlens {

/// Called now and then with the fraction that is done; false stops the work.
using ProgressCallback = std::function<bool(double done)>;

// How alike heads are

/// Jensen–Shannon divergence between the heads of weights [H, T, S], in nats, summed over the rows that are valid in
/// both (Clark et al. 2019, head_distances.py): JS(a,b) = Σ_i ½[KL(A^a_i‖M_i) + KL(A^b_i‖M_i)], M = (A^a + A^b)/2, of
/// (1 − smoothing)·A + smoothing/S. Symmetric, 0 on the diagonal, at most ln 2 a row. → [H, H]. Throws kValue unless
/// valid rows sum to 1 and 0 ≤ smoothing ≤ 1.
Matrix JensenShannon(View<const float, 3> weights, const MapInfo& info = {}, double smoothing = 0.001);

// What weights carry

/// Value-weighted map of one head: A[i,j]·‖v_j‖ / max_j ‖v_j‖ (CircuitsVis), the maximum over all keys that a valid row
/// may look at. weights [T, S], values [S, dv] → [T, S]; zeros when all values are. Throws kValue when one of those
/// keys' values is not finite.
Matrix ValueWeighted(View<const float, 2> weights, View<const float, 2> values, const MapInfo& info = {});

/// What head `head` writes for each key: f(x_j) = v_j W_O^h. values [S, dv]; out_weight [D, H·dv] as PyTorch's
/// out_proj.weight → [S, D]. ValueWeighted with these as values is the info-weighted map (CircuitsVis).
Tensor TransformedValues(View<const float, 2> values, View<const float, 2> out_weight, Index head);

/// Norms of the summands of one head's output: ‖α_ij f(x_j)‖ = A[i,j]·‖f(x_j)‖ (Kobayashi et al. 2020,
/// arXiv 2004.10102, eq. 7). weights [T, S], transformed [S, D] → [T, S]. Throws as ValueWeighted.
Matrix WeightedNorms(View<const float, 2> weights, View<const float, 2> transformed, const MapInfo& info = {});

/// The attention layer whose summands are looked at: weights [H, T, S], values [H, S, dv] after projection and bias
/// (grouped heads repeated by stride), out_weight [D, H·dv]; its output bias is no part of any summand.
struct AttentionSummands {
  View<const float, 3> weights;
  View<const float, 3> values;
  View<const float, 2> out_weight;
  MapInfo info = {};  ///< which rows are valid
};

/// Norms of the whole layer's summands: N_ij = ‖Σ_h α^h_ij f^h(x_j)‖ (Kobayashi et al. 2020, §4.1) → [T, S]. Computed
/// from the Gram matrix of f^h(x_j) over the heads, N_ij² = a_ijᵀ G_j a_ij: no T × S × D numbers anywhere.
Matrix LayerNorms(const AttentionSummands& layer);

/// What follows the attention, for MixingRatio: x_i is added, then the layer norm taken (post-norm models).
struct MixingOptions {
  View<const float, 2> residual = {};      ///< x [T, D]; absent: none
  std::span<const float> layer_norm = {};  ///< γ [D]; empty: none
  double layer_norm_eps = 1e-5;
};

/// r_i = ‖Σ_{j≠i} u_ij‖ / (‖Σ_{j≠i} u_ij‖ + ‖u_ii‖), u_ij = Σ_h α^h_ij f^h(x_j), plus x_i when i = j; with a layer
/// norm, u_ij ← (u_ij − mean(u_ij)) / √(var(Σ_j u_ij) + eps)·γ (Kobayashi et al. 2021, arXiv 2109.07152). How much a
/// token's vector comes from others: 0 keeps itself, 1 takes all from others. T = S. → [T]; no value in rows that are
/// not valid and where both norms are 0.
std::vector<std::optional<double>> MixingRatio(const AttentionSummands& layer, const MixingOptions& options = {});

/// Runs a layer with the values of token `zeroed` set to 0 (−1: none) and fills its output [T, D].
using ZeroedForward = std::function<void(Index zeroed, View<float, 2> output)>;

/// Value zeroing: C_ij = 1 − cos(y_i, y_i with v_j := 0), rows normalised to sum 1, rows of zeros left so (Mohebbi et
/// al. 2023, arXiv 2301.12971). `forward` runs S + 1 times. → [T, S]. Throws kValue when an output is not finite.
Matrix ValueZeroing(Index queries, Index keys, Index width, const ZeroedForward& forward);

/// The same of an attention layer's own output, `bias` [D] and `residual` [T, D] added when they are there.
Matrix ValueZeroing(const AttentionSummands& layer, std::span<const float> bias = {},
                    View<const float, 2> residual = {});

// How layers combine

enum class HeadFusion { kMean, kMax, kMin };

struct RolloutOptions {
  HeadFusion fusion = HeadFusion::kMean;
  double discard_ratio = 0.0;  ///< this fraction of each layer's fused weights, the smallest, counts as 0
  Index start_layer = 0;       ///< layers before it are left out
  MapInfo info = {};           ///< of every layer's maps; a token whose row is not valid keeps itself alone
};

/// One layer for rollout and flow: rows of (fused heads + I), each divided by its sum. weights [H, T, T] → [T, T].
Matrix FuseHeads(View<const float, 3> weights, HeadFusion fusion = HeadFusion::kMean, double discard_ratio = 0.0,
                 const MapInfo& info = {});

/// Attention rollout, a layer at a time: Â_l = rownorm(mean_h A_l + I), R_1 = Â_1, R_l = Â_l R_{l−1} (Abnar & Zuidema
/// 2020, arXiv 2005.00928). Fusion and discarding as usual for ViT. Rows sum to 1.
class Rollout {
 public:
  /// Throws kValue unless 0 ≤ discard_ratio < 1 and start_layer ≥ 0.
  explicit Rollout(const RolloutOptions& options = {});
  /// The next layer's weights [H, T, T], from the first on.
  void Add(View<const float, 3> weights);
  /// R [T, T] of the layers so far; throws kValue when there was none from start_layer on.
  const Matrix& result() const;

 private:
  RolloutOptions options_;
  Index layers_ = 0;
  Matrix product_;
};

struct FlowOptions {
  HeadFusion fusion = HeadFusion::kMean;
  double discard_ratio = 0.0;
  Index max_tokens = 64;  ///< more are refused: T² maximal flows take long
  MapInfo info = {};      ///< as in RolloutOptions
};

/// Attention flow (Abnar & Zuidema 2020, §3): a node for each token of each layer, an edge (l, i) → (l−1, j) of
/// capacity Â_l[i,j]; the relevance of input j for token i is the maximal flow from (L, i) to (0, j) (Dinic's
/// algorithm), rows then divided by their sums. weights [L, H, T, T] → [T, T]. Throws kUnsupported when T > max_tokens;
/// nothing when `progress` stopped it.
std::optional<Matrix> AttentionFlow(View<const float, 4> weights, const FlowOptions& options = {},
                                    const ProgressCallback& progress = {});

// What is lost without a head

struct HeadImportance {
  std::optional<double> output_change;  ///< ‖out − out without the head‖ / ‖out‖ = ‖c_h‖ / ‖out‖ (M16, by ablation)
  std::optional<double> norm_share;     ///< ‖c_h‖ / Σ_h ‖c_h‖ (M19)
  std::optional<double> cosine;         ///< of c_h with the layer's output (M19)
};

/// Importance of each head from what it adds to the layer's output: contributions c [H, T, D], the sum of which, with
/// the output's bias, is out. `output` [T, D]; absent: the sum of the contributions. Norms are over all T tokens. The
/// ablation is exact, since the output is a sum over heads; Michel et al. 2019 (arXiv 1905.10650) estimate it by a
/// gradient.
std::vector<HeadImportance> ImportanceOfHeads(View<const float, 3> contributions, View<const float, 2> output = {});

/// The same from the heads' outputs before the output projection: heads z [H, T, d], out_weight [D, H·d] as PyTorch's
/// out_proj.weight, `bias` [D] or empty; c_h = z_h W_O^h. Needs no H × T × D numbers.
std::vector<HeadImportance> ImportanceOfHeads(View<const float, 3> heads, View<const float, 2> out_weight,
                                              std::span<const float> bias);

/// Divides by the l2 norm, as Michel et al. 2019 do with the heads of each layer; zeros stay.
void NormalizeImportance(std::span<double> importance);

struct PruningStep {
  Index head;     ///< removed in this step
  double change;  ///< ‖out − out without all heads removed so far‖ / ‖out‖
};

/// Greedy pruning: each step removes the head without which the output changes least (Michel et al. 2019, §4, with the
/// exact change of the output in place of the gradient). H steps; none when the output is 0.
std::vector<PruningStep> PruningCurve(View<const float, 3> contributions, View<const float, 2> output = {});

}  // namespace headlens

#endif  // HEADLENS_ATTRIBUTION_H_
