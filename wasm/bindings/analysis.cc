// SPDX-License-Identifier: Apache-2.0
#include "headlens/analysis.h"

#include "convert.h"

namespace headlens {
namespace {

/// `inputs` is an array of { name, dtype, shape, data }. Gives { tensors, values }, the latter as JSON.
val Analyze(const std::string& name, const val& inputs, const std::string& options) {
  return Guard([&] {
    Analysis analysis(name);
    Feed(analysis, inputs);
    const AnalysisResults results = analysis.Run(options);
    val tensors = val::object(), answer = val::object();
    for (const auto& [result, tensor] : results.tensors) tensors.set(result, TensorToJs(tensor));
    answer.set("tensors", tensors);
    answer.set("values", results.values);
    return answer;
  });
}

EMSCRIPTEN_BINDINGS(analysis) { emscripten::function("analyze", &Analyze); }

}  // namespace
}  // namespace headlens
