// SPDX-License-Identifier: Apache-2.0
#include "headlens/analysis.h"

#include <algorithm>

#include "base/words.h"
#include "by_name/analyses/call.h"
#include "files/json.h"

namespace headlens {

// One line per analysis.
#define HEADLENS_ANALYSES(ANALYSIS)      \
  ANALYSIS(kMetricsAnalysis)             \
  ANALYSIS(kHeadMetricsAnalysis)         \
  ANALYSIS(kHeadMetricCountsAnalysis)    \
  ANALYSIS(kHeadSimilarityAnalysis)      \
  ANALYSIS(kHeadImportanceAnalysis)      \
  ANALYSIS(kPruningCurveAnalysis)        \
  ANALYSIS(kRolloutAnalysis)             \
  ANALYSIS(kFlowAnalysis)                \
  ANALYSIS(kWeightedMapAnalysis)         \
  ANALYSIS(kLayerNormsAnalysis)          \
  ANALYSIS(kMixingRatioAnalysis)         \
  ANALYSIS(kValueZeroingAnalysis)        \
  ANALYSIS(kCircuitsAnalysis)            \
  ANALYSIS(kCompositionScoresAnalysis)   \
  ANALYSIS(kSinusoidalPositionsAnalysis) \
  ANALYSIS(kAlibiSlopesAnalysis)         \
  ANALYSIS(kT5BucketAnalysis)

#define HEADLENS_DECLARE(analysis) extern const AnalysisKind analysis;
HEADLENS_ANALYSES(HEADLENS_DECLARE)
#undef HEADLENS_DECLARE

std::span<const AnalysisKind* const> AnalysisKinds() {
#define HEADLENS_ADDRESS(analysis) &analysis,
  static constexpr const AnalysisKind* kKinds[] = {HEADLENS_ANALYSES(HEADLENS_ADDRESS)};
#undef HEADLENS_ADDRESS
  return kKinds;
}

namespace {

const AnalysisKind& FindAnalysis(std::string_view name) {
  for (const AnalysisKind* kind : AnalysisKinds())
    if (kind->name == name) return *kind;
  throw OptionError("analysis", Quoted(name), {"one of: ", Joined(AnalysisKinds(), &AnalysisKind::name)});
}

std::vector<std::string_view> TensorsOf(const AnalysisKind& kind) {
  std::vector<std::string_view> names;
  const auto look = [&](Part, std::span<const AnyField> fields, const void*) {
    for (const AnyField& field : fields)
      if (IsTensor(field.type)) names.push_back(field.name);
  };
  kind.ask(look, nullptr);
  return names;
}

}  // namespace

struct Analysis::State {
  const AnalysisKind& kind;
  Inputs inputs;
};

Analysis::Analysis(std::string_view name) : state_(new State{FindAnalysis(name), {}}) {}

Analysis::~Analysis() = default;
Analysis::Analysis(Analysis&&) noexcept = default;
Analysis& Analysis::operator=(Analysis&&) noexcept = default;

std::span<std::byte> Analysis::Input(std::string_view name, DType dtype, const Shape& shape) {
  const std::vector<std::string_view> known = TensorsOf(state_->kind);
  if (std::find(known.begin(), known.end(), name) == known.end()) throw UnknownName("tensor", name, known);
  return Declare(state_->inputs, name, dtype, shape);
}

AnalysisResults Analysis::Run(std::string_view options) const {
  AnalysisCall call(state_->inputs, ParseObject(options, "options"));
  FieldReader reader(call.options, call.args, Sizes());
  state_->kind.ask([&](Part, std::span<const AnyField> fields, void* owner) { reader.Read(fields, owner); }, &call);
  return {std::move(call.tensors), call.values.dump()};
}

}  // namespace headlens
