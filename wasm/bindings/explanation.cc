// SPDX-License-Identifier: Apache-2.0
#include "explanation.h"

#include <algorithm>
#include <string>
#include <vector>

namespace headlens {
namespace {

class Answer {
 public:
  void Set(const char* name, const std::vector<StreamPart>& parts) {
    std::string names;
    for (const StreamPart& part : parts) names += (names.empty() ? "" : ",") + ToString(part);
    object_.set(name, names);
  }
  void Set(const char* name, const Tensor& tensor) { object_.set(name, TensorToJs(tensor)); }
  void Set(const char* name, const std::vector<float>& values) {
    Set(name, Tensor({static_cast<Index>(values.size())}, values));
  }
  void Set(const char* name, const std::vector<double>& values) {
    Set(name, std::vector<float>(values.begin(), values.end()));
  }
  void Set(const std::vector<ScoreStep>& steps) {
    Tensor all({static_cast<Index>(steps.size()), static_cast<Index>(steps.front().values.size())});
    float* to = all.data();
    for (const ScoreStep& step : steps) to = std::copy(step.values.begin(), step.values.end(), to);
    Set("steps", all);
  }
  const val& object() const { return object_; }

 private:
  val object_ = val::object();
};

}  // namespace

val ExplanationToJs(const CellExplanation& explanation) {
  Answer answer;
  answer.Set("queryParts", explanation.query_parts);
  answer.Set("keyParts", explanation.key_parts);
  answer.Set("terms", explanation.terms);
  answer.Set("scores", std::vector<double>{explanation.score});
  answer.Set(explanation.steps);
  return answer.object();
}

val ExplanationToJs(const RowExplanation& explanation) {
  Answer answer;
  answer.Set("queryParts", explanation.query_parts);
  answer.Set("keyParts", explanation.key_parts);
  answer.Set("byQuery", explanation.by_query);
  answer.Set("byKey", explanation.by_key);
  answer.Set("scores", explanation.scores);
  answer.Set(explanation.steps);
  return answer.object();
}

val ExplanationToJs(const OutputExplanation& explanation) {
  Answer answer;
  answer.Set("parts", explanation.parts);
  answer.Set("written", explanation.written);
  answer.Set("terms", explanation.terms);
  return answer.object();
}

val ExplanationToJs(const HeadSources& sources) {
  Answer answer;
  answer.Set("queryParts", sources.query_parts);
  answer.Set("keyParts", sources.key_parts);
  answer.Set("valueParts", sources.value_parts);
  answer.Set("query", sources.query);
  answer.Set("key", sources.key);
  answer.Set("value", sources.value);
  return answer.object();
}

val ExplanationToJs(const LogitExplanation& explanation) {
  Answer answer;
  answer.Set("parts", explanation.parts);
  answer.Set("logits", explanation.logits);
  answer.Set("terms", explanation.terms);
  return answer.object();
}

val ExtremesToJs(std::span<const float> numbers, const std::vector<std::vector<double>>& columns, Index count,
                 bool largest) {
  const std::vector<TokenLogit> extremes = ExtremeLogits(numbers, count, largest);
  Tensor all({2 + std::ssize(columns), std::ssize(extremes)});
  for (std::size_t i = 0; i < extremes.size(); ++i) {
    const auto at = static_cast<Index>(i), token = Index{extremes[i].token};
    all.view<2>()(0, at) = static_cast<float>(token);
    all.view<2>()(1, at) = extremes[i].logit;
    for (std::size_t column = 0; column < columns.size(); ++column)
      all.view<2>()(static_cast<Index>(2 + column), at) =
          static_cast<float>(columns[column][static_cast<std::size_t>(token)]);
  }
  return TensorToJs(all);
}

}  // namespace headlens
