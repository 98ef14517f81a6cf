// SPDX-License-Identifier: Apache-2.0
/// Measures beyond single weights: how similar heads are, what the weights carry (values and their norms), how layers
/// combine (rollout, flow), and how much the output changes without a head or a token. Everything is accumulated in
/// fp64.
///
/// Weights are checked as HeadMap checks them: kValue for a weight that is negative, above 1 or not finite, kShape for
/// sizes that do not fit. MapInfo says which rows are valid. A row that is not valid (padded, fully masked, or without
/// any weight) gives zeros whatever it holds, and a key that no valid row may look at has no effect.
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

/// A callback that is called from time to time with the fraction of the work that is done. It returns false to stop the
/// work.
using ProgressCallback = std::function<bool(double done)>;

// Similarity of heads

/// Jensen–Shannon divergence between the heads of weights [H, T, S], in nats, summed over the rows that are valid in
/// both (Clark et al. 2019, head_distances.py): JS(a,b) = Σ_i ½[KL(A^a_i‖M_i) + KL(A^b_i‖M_i)], with M = (A^a + A^b)/2
/// and every A smoothed to (1 − smoothing)·A + smoothing/S. Returns [H, H], symmetric, 0 on the diagonal, and at most
/// ln 2 for each row. Throws kValue unless valid rows sum to 1 and 0 ≤ smoothing ≤ 1.
Matrix JensenShannon(View<const float, 3> weights, const MapInfo& info = {}, double smoothing = 0.001);

// Values behind the weights

/// The value-weighted map of one head: A[i,j]·‖v_j‖ / max_j ‖v_j‖ (CircuitsVis), where the maximum is over all keys
/// that a valid row may look at. Takes weights [T, S] and values [S, dv], and returns [T, S], which is zero when all
/// values are. Throws kValue when the value of one of those keys is not finite.
Matrix ValueWeighted(View<const float, 2> weights, View<const float, 2> values, const MapInfo& info = {});

/// The vector that head `head` writes for each key: f(x_j) = v_j W_O^h. Takes values [S, dv] and out_weight [D, H·dv],
/// as PyTorch's out_proj.weight, and returns [S, D]. ValueWeighted with these vectors as its values gives the
/// info-weighted map of CircuitsVis.
Tensor TransformedValues(View<const float, 2> values, View<const float, 2> out_weight, Index head);

/// Norms of the summands of one head's output: ‖α_ij f(x_j)‖ = A[i,j]·‖f(x_j)‖ (Kobayashi et al. 2020, arXiv
/// 2004.10102, eq. 7). Takes weights [T, S] and transformed [S, D], and returns [T, S]. Throws as ValueWeighted.
Matrix WeightedNorms(View<const float, 2> weights, View<const float, 2> transformed, const MapInfo& info = {});

/// An attention layer whose output is taken apart into summands: weights [H, T, S], values [H, S, dv] after projection
/// and bias (grouped heads are repeated by stride), and out_weight [D, H·dv]. The output bias belongs to no summand.
struct AttentionSummands {
  View<const float, 3> weights;
  View<const float, 3> values;
  View<const float, 2> out_weight;
  MapInfo info = {};  ///< says which rows are valid
};

/// Norms of the whole layer's summands: N_ij = ‖Σ_h α^h_ij f^h(x_j)‖ (Kobayashi et al. 2020, §4.1). Returns [T, S]. It
/// is computed from the Gram matrix G_j of f^h(x_j) over the heads, N_ij² = a_ijᵀ G_j a_ij, and so never needs memory
/// for T × S × D numbers.
Matrix LayerNorms(const AttentionSummands& layer);

/// The steps after the attention that MixingRatio includes: x_i is added, and then the layer norm is taken (post-norm
/// models).
struct MixingOptions {
  View<const float, 2> residual = {};      ///< x [T, D]; empty: not added
  std::span<const float> layer_norm = {};  ///< γ [D]; empty: no norm
  double layer_norm_eps = 1e-5;
};

/// The mixing ratio r_i = ‖Σ_{j≠i} u_ij‖ / (‖Σ_{j≠i} u_ij‖ + ‖u_ii‖), where u_ij = Σ_h α^h_ij f^h(x_j), plus x_i when i
/// = j. With a layer norm, u_ij ← (u_ij − mean(u_ij)) / √(var(Σ_j u_ij) + eps)·γ (Kobayashi et al. 2021, arXiv
/// 2109.07152). The ratio says how much of a token's vector comes from other tokens: 0 is none, 1 is all. Needs T = S
/// and returns [T], without a value in rows that are not valid or where both norms are 0.
std::vector<std::optional<double>> MixingRatio(const AttentionSummands& layer, const MixingOptions& options = {});

/// A function that runs a layer with the values of token `zeroed` set to 0 (−1: of no token) and fills its output [T,
/// D].
using ZeroedForward = std::function<void(Index zeroed, View<float, 2> output)>;

/// Value zeroing: C_ij = 1 − cos(y_i, y_i with v_j := 0), each row divided by its sum unless that is 0 (Mohebbi et al.
/// 2023, arXiv 2301.12971). Calls `forward` S + 1 times and returns [T, S]. Throws kValue when an output is not finite.
Matrix ValueZeroing(Index queries, Index keys, Index width, const ZeroedForward& forward);

/// Value zeroing of an attention layer's own output, to which `bias` [D] and `residual` [T, D] are added when they are
/// given.
Matrix ValueZeroing(const AttentionSummands& layer, std::span<const float> bias = {},
                    View<const float, 2> residual = {});

// Combination of layers

enum class HeadFusion { kMean, kMax, kMin };

struct RolloutOptions {
  HeadFusion fusion = HeadFusion::kMean;
  double discard_ratio = 0.0;  ///< this fraction of each layer's fused weights, the smallest ones, is set to 0
  Index start_layer = 0;       ///< layers before it are left out
  MapInfo info = {};           ///< describes the maps of every layer; a token whose row is not valid keeps only itself
};

/// One layer of rollout and flow: the rows of (fused heads + I), each divided by its sum. Takes [H, T, T], returns [T,
/// T].
Matrix FuseHeads(View<const float, 3> weights, HeadFusion fusion = HeadFusion::kMean, double discard_ratio = 0.0,
                 const MapInfo& info = {});

/// Attention rollout, one layer at a time: Â_l = rownorm(mean_h A_l + I), R_1 = Â_1, R_l = Â_l R_{l−1} (Abnar & Zuidema
/// 2020, arXiv 2005.00928). The options choose another fusion of the heads and discard small weights, as is usual for
/// vision transformers. Rows of the result sum to 1.
class Rollout {
 public:
  /// Throws kValue unless 0 ≤ discard_ratio < 1 and start_layer ≥ 0.
  explicit Rollout(const RolloutOptions& options = {});
  /// Adds the next layer's weights [H, T, T], starting with the first layer.
  void Add(View<const float, 3> weights);
  /// R [T, T] of the layers so far. Throws kValue when no layer from start_layer on has been added.
  const Matrix& result() const;

 private:
  RolloutOptions options_;
  Index layers_ = 0;
  Matrix product_;
};

struct FlowOptions {
  HeadFusion fusion = HeadFusion::kMean;
  double discard_ratio = 0.0;
  Index max_tokens = 64;  ///< a longer text is refused, since T² maximal flows take long
  MapInfo info = {};      ///< as in RolloutOptions
};

/// Attention flow (Abnar & Zuidema 2020, §3). The graph has a node for each token of each layer, and an edge (l, i) →
/// (l−1, j) of capacity Â_l[i,j]. The relevance of input j for token i is the maximal flow from (L, i) to (0, j), found
/// by Dinic's algorithm; each row is then divided by its sum. Takes weights [L, H, T, T] and returns [T, T], or nothing
/// when `progress` stopped it. Throws kUnsupported when T > max_tokens.
std::optional<Matrix> AttentionFlow(View<const float, 4> weights, const FlowOptions& options = {},
                                    const ProgressCallback& progress = {});

// Importance of heads

struct HeadImportance {
  std::optional<double> output_change;  ///< ‖out − out without the head‖ / ‖out‖ = ‖c_h‖ / ‖out‖, by ablation
  std::optional<double> norm_share;     ///< ‖c_h‖ / Σ_h ‖c_h‖
  std::optional<double> cosine;         ///< of c_h and the layer's output
};

/// The importance of each head, measured by its contribution to the layer's output. `contributions` c is [H, T, D];
/// their sum plus the output's bias is `output` [T, D], which is that sum alone when it is not given. Norms are over
/// all T tokens. The ablation is exact, because the output is a sum over heads; Michel et al. 2019 (arXiv 1905.10650)
/// estimate it by a gradient.
std::vector<HeadImportance> ImportanceOfHeads(View<const float, 3> contributions, View<const float, 2> output = {});

/// The same from the heads' outputs before the output projection: `heads` z [H, T, d], out_weight [D, H·d] as PyTorch's
/// out_proj.weight, and `bias` [D] or empty, with c_h = z_h W_O^h. It never needs memory for H × T × D numbers.
std::vector<HeadImportance> ImportanceOfHeads(View<const float, 3> heads, View<const float, 2> out_weight,
                                              std::span<const float> bias);

/// Divides by the l2 norm, as Michel et al. 2019 do with the heads of each layer. Zeros stay zeros.
void NormalizeImportance(std::span<double> importance);

struct PruningStep {
  Index head;     ///< the head that this step removes
  double change;  ///< ‖out − out without all heads removed so far‖ / ‖out‖
};

/// Greedy pruning: each step removes the head whose loss changes the output least (Michel et al. 2019, §4, with the
/// exact change of the output in place of the gradient). Returns H steps, or none when the output is 0.
std::vector<PruningStep> PruningCurve(View<const float, 3> contributions, View<const float, 2> output = {});

}  // namespace headlens

#endif  // HEADLENS_ATTRIBUTION_H_
