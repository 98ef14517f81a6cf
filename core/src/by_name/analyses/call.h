// SPDX-License-Identifier: Apache-2.0
/// The description of an analysis: its name, its inputs, and the function that answers it.
#ifndef HEADLENS_SRC_BY_NAME_ANALYSES_CALL_H_
#define HEADLENS_SRC_BY_NAME_ANALYSES_CALL_H_

#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "by_name/field_reader.h"
#include "headlens/matrix.h"
#include "headlens/problem.h"

namespace headlens {

/// A call of an analysis, and its answer.
class AnalysisCall {
 public:
  AnalysisCall(const Inputs& inputs, nlohmann::json options) : args(inputs), options(std::move(options)) {}

  Arguments args;
  OptionReader options;
  Results tensors;
  nlohmann::json values = nlohmann::json::object();

  void Answer(const Matrix& matrix);
  void Answer(Tensor tensor) { tensors.insert_or_assign("output", std::move(tensor)); }
};

inline nlohmann::json ToJson(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

/// The ways in which other languages give a field to the function of an analysis.
enum class Part {
  kArgument,   ///< by position
  kParameter,  ///< as one of a layer's parameters
  kMask,       ///< as one of the options that say which cells of a map count
  kContext,    ///< as one of the options that describe a map
  kOption      ///< as an option of this analysis only
};

/// Takes a list of fields, and the object that they are read into, with what it has by default.
using FieldTaker = std::function<void(Part part, std::span<const AnyField> fields, void* owner)>;

/// One analysis.
struct AnalysisKind {
  std::string_view name;
  Doc doc;
  /// The name of the group of its options: "map_masks" when it has no options but these, and empty when it has none.
  std::string_view options;
  Doc options_doc;
  /// Gives `take` all fields. Answers `call`, unless it is null, when they have been read.
  void (*ask)(const FieldTaker& take, AnalysisCall* call);
};

/// Makes the analysis of a `Question`, a class with members for all inputs of the analysis and with two functions:
///   * `Fields(take)` calls take(part, fields, owner) with each list of fields and the object that they are read into,
///      in the order in which other languages give them;
///   * `Answer(call)` is called when everything has been read.
template <class Question>
constexpr AnalysisKind MakeAnalysis(std::string_view name, Doc doc, std::string_view options = {},
                                    Doc options_doc = "") {
  const auto ask = [](const FieldTaker& taker, AnalysisCall* call) {
    Question question;
    question.Fields([&](Part part, const auto& fields, auto& owner) {
      using Owner = typename std::decay_t<decltype(*std::begin(fields))>::Owner;
      taker(part, AnyFields<Owner>(fields), static_cast<Owner*>(&owner));
    });
    if (!call) return;
    call->options.RejectUnknown();
    question.Answer(*call);
  };
  return {name, doc, options, options_doc, ask};
}

/// Every analysis.
std::span<const AnalysisKind* const> AnalysisKinds();

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_ANALYSES_CALL_H_
