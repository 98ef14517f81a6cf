// SPDX-License-Identifier: Apache-2.0
/// What an analysis is given and what it answers.
#ifndef HEADLENS_SRC_BY_NAME_ANALYSES_CALL_H_
#define HEADLENS_SRC_BY_NAME_ANALYSES_CALL_H_

#include <array>
#include <limits>
#include <list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/checks.h"
#include "by_name/inputs.h"
#include "by_name/option_reader.h"
#include "headlens/attribution.h"
#include "headlens/matrix.h"
#include "headlens/metrics.h"
#include "headlens/problem.h"

namespace headlens {

/// One question under way. Inputs are views that live as long as the call.
class AnalysisCall {
 public:
  AnalysisCall(const Inputs& inputs, nlohmann::json options) : args(inputs), options(std::move(options)) {}

  Arguments args;
  OptionReader options;
  Results tensors;
  nlohmann::json values = nlohmann::json::object();

  bool Has(std::string_view name) const { return args.Find(name) != nullptr; }
  /// Floats, all finite, of exactly `Rank` dimensions; the leading ones of size 1 may be missing or too many. Throws
  /// kShape when it was not given.
  template <std::size_t Rank>
  View<const float, Rank> Need(const char* name) {
    const View<const float, Rank> view = NeedMasked<Rank>(name);
    ExpectFinite(name, view);
    return view;
  }
  /// The same of what may hold anything in places that are masked; whoever computes with it checks the others.
  template <std::size_t Rank>
  View<const float, Rank> NeedMasked(const char* name) {
    const Given& input = args.Need(name);
    const Shape shape = Fit(name, input.shape, Rank);
    std::array<Index, Rank> sizes{};
    std::copy(shape.begin(), shape.end(), sizes.begin());
    return DenseView(args.Floats(name, input), sizes);
  }
  /// Empty when it was not given.
  template <std::size_t Rank>
  View<const float, Rank> Find(const char* name) {
    return Has(name) ? Need<Rank>(name) : View<const float, Rank>();
  }
  template <std::size_t Rank>
  View<const float, Rank> FindMasked(const char* name) {
    return Has(name) ? NeedMasked<Rank>(name) : View<const float, Rank>();
  }
  std::span<const float> Vector(const char* name);
  /// An option that must be there.
  Index NeedCount(const char* name, Index least);

  /// Which cells of a map count: options query_offset, is_causal, window; tensors visible [T, S], padded_queries [T],
  /// padded_keys [S].
  MapInfo Masks();
  /// All that is known of a map: also options repeat_begin, repeat_length, patch_prefix, patch_columns, patch_size;
  /// tensors tokens [S], special [S]. Tokens that form a repeated sequence are one without being told.
  MapInfo Info();
  HeadFusion Fusion();

  void Answer(const Matrix& matrix);
  void Answer(Tensor tensor) { tensors.insert_or_assign("output", std::move(tensor)); }

 private:
  static Shape Fit(const char* name, Shape shape, std::size_t rank);
  /// Elements of a list, which must have some.
  static Index Length(const char* name, const Given& list);
  std::span<const std::uint8_t> Flags(const char* name);
};

inline nlohmann::json ToJson(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

// heads.cc
void ListMetrics(AnalysisCall& call);
void AnswerHeadMetrics(AnalysisCall& call);
void AnswerHeadMetricCounts(AnalysisCall& call);
void AnswerHeadSimilarity(AnalysisCall& call);
void AnswerHeadImportance(AnalysisCall& call);
void AnswerPruningCurve(AnalysisCall& call);
// values.cc
void AnswerWeightedMap(AnalysisCall& call);
void AnswerLayerNorms(AnalysisCall& call);
void AnswerMixingRatio(AnalysisCall& call);
void AnswerValueZeroing(AnalysisCall& call);
// layers.cc
void AnswerRollout(AnalysisCall& call);
void AnswerFlow(AnalysisCall& call);
// circuits.cc
void AnswerCircuits(AnalysisCall& call);
void AnswerComposition(AnalysisCall& call);
// positions.cc
void AnswerSinusoidalPositions(AnalysisCall& call);
void AnswerAlibiSlopes(AnalysisCall& call);
void AnswerT5Bucket(AnalysisCall& call);

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_ANALYSES_CALL_H_
