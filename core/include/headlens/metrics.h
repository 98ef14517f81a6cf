// SPDX-License-Identifier: Apache-2.0
/// Metrics of heads: numbers that describe a map of attention weights. Everything is accumulated in fp64.
///
/// Notation of the formulas: A [T, S] are the weights of one head, i is the place of a query among the keys, V the set
/// of valid rows (not padded, with at least one key to look at), n_i the number of keys that query i may look at, t_i
/// the tokens, and 0·ln 0 = 0. A metric that is not defined (no repeated token, only one key, …) has no value; it is
/// never NaN.
///
/// A masked cell says nothing about a head. Where a formula names one cell of each row (self, previous, next,
/// duplicate, induction, sink), rows that may not look there are left out of the sum and of the mean's divisor. For
/// texts that are only causal and padded, this is the mean over V or L − 1 rows that the sources define. Under a window
/// or another mask, the sources would count zeros instead; n_valid says how many rows are left.
#ifndef HEADLENS_METRICS_H_
#define HEADLENS_METRICS_H_

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headlens/tensor.h"

namespace headlens {

/// A sequence of `length` tokens that occurs twice in a row, the first time at `begin`. Length 0: there is none.
struct RepeatedSequence {
  Index begin = 0;
  Index length = 0;
};

/// The layout of the keys of an image model: `prefix` tokens that are not patches (CLS, distillation, registers), then
/// the patches row by row, `columns` to a row. Columns 0: the keys are not an image.
struct PatchGrid {
  Index prefix = 0;
  Index columns = 0;
  double patch_size = 1.0;  ///< in pixels
};

/// Facts about a map beside its weights, the same for all heads of one text. Everything is optional, and a metric that
/// needs a missing part has no value. Borrowed.
struct MapInfo {
  Index query_offset = 0;                    ///< query t is the same token as key t + query_offset
  bool causal = false;                       ///< no query may look at keys after its own
  Index window = 0;                          ///< a query may look at its own key and the window − 1 before; 0: no limit
  View<const std::uint8_t, 2> visible = {};  ///< [T, S]; 0 where a mask hides the key
  std::span<const std::uint8_t> padded_queries = {};  ///< [T]; nonzero means padding
  std::span<const std::uint8_t> padded_keys = {};     ///< [S]; nonzero means padding
  std::span<const std::int32_t> tokens = {};          ///< [S]; token ids
  std::span<const std::uint8_t> special = {};         ///< [S]; nonzero means BOS, CLS, SEP, EOS, punctuation, …
  RepeatedSequence repeat = {};
  PatchGrid grid = {};
};

/// The checked weights of one head, which every metric starts from. Borrows the weights and everything that `info`
/// points to.
class HeadMap {
 public:
  /// `weights` is [T, S], from headlens or from elsewhere. Throws kShape for sizes that do not fit or are 0, and kValue
  /// when a weight of a valid row is negative, above 1, not finite, or not 0 in a masked cell.
  HeadMap(View<const float, 2> weights, const MapInfo& info);

  const MapInfo& info() const { return info_; }
  Index queries() const { return weights_.shape[0]; }
  Index keys() const { return weights_.shape[1]; }
  /// V: all rows except those that are padded, may look at no key, or have no weight anywhere.
  std::span<const Index> rows() const { return rows_; }
  /// n_i of a valid row.
  Index VisibleKeys(Index t) const { return visible_keys_[static_cast<std::size_t>(t)]; }
  /// The place of query t among the keys.
  Index Position(Index t) const { return t + info_.query_offset; }
  /// Returns true when key s exists and query t may look at it.
  bool Sees(Index t, Index s) const;
  double weight(Index t, Index s) const { return double{weights_(t, s)}; }
  /// True when every valid row sums to 1, within 0.005 since weights may come from half precision.
  bool stochastic() const { return stochastic_; }

 private:
  void CheckInfo() const;
  void CheckRow(Index t);

  View<const float, 2> weights_;
  MapInfo info_;
  std::vector<Index> rows_, visible_keys_;
  bool stochastic_ = true;
};

struct MetricValue {
  std::optional<double> value;
  Index n_valid = 0;  ///< the number of rows (or other terms) that the mean was taken over
};

/// Flags that say which parts of MapInfo a metric needs.
enum MetricNeeds : unsigned {
  kNeedsNothing = 0,
  kNeedsTokens = 1,
  kNeedsRepeat = 2,
  kNeedsSpecial = 4,
  kNeedsGrid = 8
};

/// A metric: a function that computes one number from the map of one head.
struct Metric {
  std::string_view name;     ///< "previous", "induction", …
  unsigned needs;            ///< flags of MetricNeeds
  std::string_view formula;  ///< in the notation at the top of this file
  std::string_view source;   ///< the publication or program that defined it
  MetricValue (*function)(const HeadMap& map);
};

/// All metrics, in the order of their themes.
std::span<const Metric> Metrics();

/// Returns the metric of that name. Throws kOption, listing the names, when there is none.
const Metric& FindMetric(std::string_view name);

/// The values of the named metrics (of all metrics when `names` is empty) for each head of `weights` [H, T, S], indexed
/// [head][metric].
std::vector<std::vector<MetricValue>> HeadMetrics(View<const float, 3> weights, const MapInfo& info,
                                                  std::span<const std::string_view> names = {});

/// Finds the repeated sequence s in tokens of the form [s][s] or [one token][s][s] with |s| ≥ 2. Otherwise the result
/// has length 0.
RepeatedSequence FindRepeat(std::span<const std::int32_t> tokens);

/// mean_i Σ_{|i−j| ≤ width} A[i,j] for any width. The table of metrics has it for the widths of Anthropic's HeadVis.
MetricValue Locality(const HeadMap& map, Index width);

/// α_k = 1/(T−k+1) Σ_{i ≥ k} A[i,k], where k counts from 1 over the keys that are not padded (Gu et al. 2024, arXiv
/// 2410.10781, §3). Rows that may not look at key k, for example because of a window, are left out of the mean. No
/// value when there are fewer than k keys. Throws kValue when k < 1.
MetricValue SinkScore(const HeadMap& map, Index k);

/// Sink_k^ε: the fraction of heads with α_k > ε (Gu et al. 2024, where ε = 0.3). Heads without a value are left out.
MetricValue SinkFraction(std::span<const MetricValue> alphas, double epsilon = 0.3);

/// The patterns D that TransformerLens' detect_head compares a map with. kPrevious: D[i,i−1] = 1. kDuplicate: D[i,j] =
/// 1 when t_i = t_j and j < i. kInduction: kDuplicate moved one column to the right.
enum class HeadPattern { kPrevious, kDuplicate, kInduction };

struct DetectOptions {
  bool absolute = false;         ///< use 1 − 1/T Σ|A − D| instead of Σ A·D / Σ A
  bool exclude_first = false;    ///< leave the first column (BOS) out of weights and pattern
  bool exclude_current = false;  ///< leave the diagonal out of both
};

/// The fit of a map to a pattern (TransformerLens, head_detector.py, error measures "mul" and "abs").
MetricValue DetectHead(const HeadMap& map, HeadPattern pattern, const DetectOptions& options);

}  // namespace headlens

#endif  // HEADLENS_METRICS_H_
