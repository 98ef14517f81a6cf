// SPDX-License-Identifier: Apache-2.0
#include "headlens/analysis.h"

#include "base/words.h"
#include "by_name/analyses/call.h"
#include "files/json.h"

namespace headlens {
namespace {

struct Question {
  std::string_view name;
  std::vector<std::string_view> inputs;
  void (*answer)(AnalysisCall& call);
};

/// One line per question: its name, the tensors it takes, and the function in analyses/ that answers it.
const std::vector<Question>& Questions() {
  using Names = std::vector<std::string_view>;
  const auto with = [](Names names, const Names& more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
  };
  static const Names kMasks = {"visible", "padded_queries", "padded_keys"};
  static const Names kMap = with(kMasks, {"weights", "tokens", "special"});
  static const Names kSummands = with(kMasks, {"weights", "values", "out_weight"});
  static const std::vector<Question> kQuestions = {
      {"metrics", {}, ListMetrics},
      {"head_metrics", kMap, AnswerHeadMetrics},
      {"head_metric_counts", kMap, AnswerHeadMetricCounts},
      {"head_similarity", kMap, AnswerHeadSimilarity},
      {"head_importance", {"contributions", "output"}, AnswerHeadImportance},
      {"pruning_curve", {"contributions", "output"}, AnswerPruningCurve},
      {"weighted_map", kSummands, AnswerWeightedMap},
      {"layer_norms", kSummands, AnswerLayerNorms},
      {"mixing_ratio", with(kSummands, {"residual", "layer_norm"}), AnswerMixingRatio},
      {"value_zeroing", with(kSummands, {"bias", "residual"}), AnswerValueZeroing},
      {"rollout", with(kMasks, {"weights"}), AnswerRollout},
      {"flow", with(kMasks, {"weights"}), AnswerFlow},
      {"circuits",
       {"in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight", "norm", "embedding",
        "unembedding"},
       AnswerCircuits},
      {"composition_scores",
       {"earlier.in_proj_weight", "earlier.q_proj_weight", "earlier.k_proj_weight", "earlier.v_proj_weight",
        "earlier.out_proj.weight", "earlier_norm", "later.in_proj_weight", "later.q_proj_weight", "later.k_proj_weight",
        "later.v_proj_weight", "later.out_proj.weight", "later_norm"},
       AnswerComposition},
      {"sinusoidal_positions", {}, AnswerSinusoidalPositions},
      {"alibi_slopes", {}, AnswerAlibiSlopes},
      {"t5_bucket", {}, AnswerT5Bucket},
  };
  return kQuestions;
}

const Question& FindQuestion(std::string_view name) {
  for (const Question& question : Questions())
    if (question.name == name) return question;
  throw Error(ErrorCode::kOption, "unknown analysis " + Quoted(name));
}

}  // namespace

struct Analysis::State {
  const Question& question;
  Inputs inputs;
};

Analysis::Analysis(std::string_view name) : state_(new State{FindQuestion(name), {}}) {}

Analysis::~Analysis() = default;
Analysis::Analysis(Analysis&&) noexcept = default;
Analysis& Analysis::operator=(Analysis&&) noexcept = default;

std::span<std::byte> Analysis::Input(std::string_view name, DType dtype, const Shape& shape) {
  const auto& known = state_->question.inputs;
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw Error(ErrorCode::kOption, "unknown tensor " + Quoted(name));
  Given input{dtype, shape, Buffer<std::byte>(ElementCount(shape) * static_cast<Index>(ByteSize(dtype)))};
  const std::span<std::byte> bytes(input.bytes.data(), static_cast<std::size_t>(input.bytes.size()));
  state_->inputs.insert_or_assign(std::string(name), std::move(input));
  return bytes;
}

AnalysisResults Analysis::Run(std::string_view options) const {
  AnalysisCall call(state_->inputs, ParseObject(options, "options"));
  state_->question.answer(call);
  return {std::move(call.tensors), call.values.dump()};
}

}  // namespace headlens
