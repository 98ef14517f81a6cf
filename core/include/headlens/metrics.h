// SPDX-License-Identifier: Apache-2.0
/// Heads in numbers: what kind of head made a map of attention weights. Everything is accumulated in fp64.
///
/// Notation of the formulas: A [T, S] the weights of one head, i the place of a query among the keys, V the valid rows
/// (not padded, at least one key to look at), n_i the number of keys that query i may look at, t_i tokens, 0·ln 0 = 0.
/// What is not defined (no repeated token, one key only, …) has no value; it is never NaN.
///
/// A cell that is masked says nothing of a head: where a formula names one cell of each row (self, previous, next,
/// duplicate, induction, sink), rows that may not look there are left out, of the mean's divisor too. Of texts with
/// nothing but causality and padding, that is the sources' mean over V or L − 1 rows; under a window or another mask
/// they would count zeros (n_valid says how many rows are left).
#ifndef HEADLENS_METRICS_H_
#define HEADLENS_METRICS_H_

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headlens/tensor.h"

namespace headlens {

/// A sequence of `length` tokens that stands twice in a row, the first time at `begin`. Length 0: there is none.
struct RepeatedSequence {
  Index begin = 0;
  Index length = 0;
};

/// How the keys of an image model lie: after `prefix` tokens that are no patches (CLS, distillation, registers), row by
/// row, `columns` patches in a row. Columns 0: no image.
struct PatchGrid {
  Index prefix = 0;
  Index columns = 0;
  double patch_size = 1.0;  ///< pixels
};

/// What is known of a map beside its weights, the same for all heads of one text. Everything is optional; metrics that
/// need what is not there have no value. Borrowed.
struct MapInfo {
  Index query_offset = 0;                    ///< query t is the token of key t + query_offset
  bool causal = false;                       ///< no query may look at keys after itself
  Index window = 0;                          ///< a query looks at itself and the window − 1 keys before; 0: at all
  View<const std::uint8_t, 2> visible = {};  ///< [T, S]; 0 where a mask hides the key
  std::span<const std::uint8_t> padded_queries = {};  ///< [T]; nonzero: padding
  std::span<const std::uint8_t> padded_keys = {};     ///< [S]
  std::span<const std::int32_t> tokens = {};          ///< [S], ids
  std::span<const std::uint8_t> special = {};         ///< [S]; nonzero: BOS, CLS, SEP, EOS, punctuation, …
  RepeatedSequence repeat = {};
  PatchGrid grid = {};
};

/// The weights of one head, checked: what every metric starts from. Borrows the weights and what `info` points to.
class HeadMap {
 public:
  /// `weights` [T, S], computed or from anywhere. Throws kShape for sizes that do not fit or are 0, kValue for a weight
  /// in a valid row that is negative, above 1 or not finite, or that is not 0 in a masked cell.
  HeadMap(View<const float, 2> weights, const MapInfo& info);

  const MapInfo& info() const { return info_; }
  Index queries() const { return weights_.shape[0]; }
  Index keys() const { return weights_.shape[1]; }
  /// V: rows that are padded, that may look at no key, or without any weight are left out.
  std::span<const Index> rows() const { return rows_; }
  /// n_i of a valid row.
  Index VisibleKeys(Index t) const { return visible_keys_[static_cast<std::size_t>(t)]; }
  /// Place of query t among the keys.
  Index Position(Index t) const { return t + info_.query_offset; }
  /// Whether key s is there and query t may look at it.
  bool Sees(Index t, Index s) const;
  double weight(Index t, Index s) const { return double{weights_(t, s)}; }
  /// Whether each valid row sums to 1 (within 0.005: weights may come from half precision).
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
  Index n_valid = 0;  ///< number of rows (or other terms) that the mean was taken over
};

/// What a metric needs of MapInfo; flags.
enum MetricNeeds : unsigned {
  kNeedsNothing = 0,
  kNeedsTokens = 1,
  kNeedsRepeat = 2,
  kNeedsSpecial = 4,
  kNeedsGrid = 8
};

/// One number of one head.
struct Metric {
  std::string_view name;     ///< "previous", "induction", …
  unsigned needs;            ///< of MetricNeeds
  std::string_view formula;  ///< in the notation above
  std::string_view source;   ///< who defined it
  MetricValue (*function)(const HeadMap& map);
};

/// All of them, in the order of their themes.
std::span<const Metric> Metrics();

/// Throws kOption and lists the names when there is none such.
const Metric& FindMetric(std::string_view name);

/// Values of the named metrics (all when `names` is empty) for each head of `weights` [H, T, S]: [head][metric].
std::vector<std::vector<MetricValue>> HeadMetrics(View<const float, 3> weights, const MapInfo& info,
                                                  std::span<const std::string_view> names = {});

/// The sequence repeated when the tokens are [s][s] or [one token][s][s], |s| ≥ 2; else of length 0.
RepeatedSequence FindRepeat(std::span<const std::int32_t> tokens);

/// mean_i Σ_{|i−j| ≤ width} A[i,j], for any width (M8; the table has the bands of Anthropic's HeadVis).
MetricValue Locality(const HeadMap& map, Index width);

/// α_k = 1/(T−k+1) Σ_{i ≥ k} A[i,k], k counted from 1 over the keys that are not padded (Gu et al. 2024,
/// arXiv 2410.10781, §3). Rows that may not look at key k, being beyond a window say, are left out of the mean. Throws
/// kValue when k < 1; no value when there are fewer keys.
MetricValue SinkScore(const HeadMap& map, Index k);

/// Sink_k^ε: the fraction of heads with α_k > ε (Gu et al. 2024; ε = 0.3). Heads without a value are left out.
MetricValue SinkFraction(std::span<const MetricValue> alphas, double epsilon = 0.3);

/// Patterns that TransformerLens' detect_head compares a map with: D[i,i−1] = 1; 1[t_i = t_j, j < i]; and the latter
/// one column to the right.
enum class HeadPattern { kPrevious, kDuplicate, kInduction };

struct DetectOptions {
  bool absolute = false;         ///< 1 − 1/T Σ|A − D| instead of Σ A·D / Σ A
  bool exclude_first = false;    ///< the first column (BOS) is left out, of weights and pattern alike
  bool exclude_current = false;  ///< so is the diagonal
};

/// How well a map fits a pattern (TransformerLens, head_detector.py, error measures "mul" and "abs").
MetricValue DetectHead(const HeadMap& map, HeadPattern pattern, const DetectOptions& options);

}  // namespace headlens

#endif  // HEADLENS_METRICS_H_
