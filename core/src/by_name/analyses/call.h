// SPDX-License-Identifier: Apache-2.0
/// What an analysis is: a question with a name, what it takes, and the function that answers.
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

/// One question under way, and its answer.
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

/// How other languages give a field to the function of an analysis.
enum class Part {
  kArgument,   ///< by its place
  kParameter,  ///< as one of a layer's parameters
  kMask,       ///< as one of the options that say which cells of a map count
  kContext,    ///< as one of the options that say what is known of a map
  kOption      ///< as an option of this analysis
};

/// Is shown each field of an analysis, and an object that it would be read into, with what it has by default.
using FieldViewer = std::function<void(Part part, const AnyField& field, const void* owner)>;

/// One analysis.
struct AnalysisKind {
  std::string_view name;
  Doc doc;
  /// The name of its options all together: "map_masks" when it has none but these, and none without any.
  std::string_view options;
  Doc options_doc;
  void (*show)(const FieldViewer& viewer);
  void (*answer)(AnalysisCall& call);
};

/// The analysis that a `Question` is: an object with places for all that it takes, which has
///  * a function `Fields(take)`, which calls take(part, fields, owner) with each list of fields and what these are read
///    into, in the order in which other languages give them;
///  * a function `Answer(call)`, which is called when all has been read.
template <class Question>
constexpr AnalysisKind MakeAnalysis(std::string_view name, Doc doc, std::string_view options = {},
                                    Doc options_doc = "") {
  const auto show = [](const FieldViewer& viewer) {
    Question question;
    question.Fields([&](Part part, const auto& fields, auto& owner) {
      using Owner = typename std::decay_t<decltype(*std::begin(fields))>::Owner;
      for (const AnyField& field : fields) viewer(part, field, static_cast<Owner*>(&owner));
    });
  };
  const auto answer = [](AnalysisCall& call) {
    Question question;
    FieldReader reader(call.options, call.args, Sizes());
    question.Fields([&](Part, const auto& fields, auto& owner) {
      using Owner = typename std::decay_t<decltype(*std::begin(fields))>::Owner;
      reader.Read<Owner>(fields, owner);
    });
    call.options.RejectUnknown();
    question.Answer(call);
  };
  return {name, doc, options, options_doc, show, answer};
}

/// Every analysis there is.
std::span<const AnalysisKind* const> AnalysisKinds();

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_ANALYSES_CALL_H_
