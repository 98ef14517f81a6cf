// SPDX-License-Identifier: Apache-2.0
/// Questions about attention by name: what metrics.h, attribution.h, circuits.h and positions.h offer, for callers who
/// have named tensors and options as JSON, such as the npm package.
#ifndef HEADLENS_ANALYSIS_H_
#define HEADLENS_ANALYSIS_H_

#include <memory>
#include <string>
#include <string_view>

#include "headlens/problem.h"

namespace headlens {

struct AnalysisResults {
  Results tensors;            ///< maps: "output"
  std::string values = "{}";  ///< numbers and names, as a JSON object; what has no value is null
};

/// A question, to be given named tensors and asked. core/src/by_name/analyses has one function for each, which says
/// what it takes.
class Analysis {
 public:
  /// Throws kOption for a name that is not known.
  explicit Analysis(std::string_view name);
  ~Analysis();
  Analysis(Analysis&&) noexcept;
  Analysis& operator=(Analysis&&) noexcept;

  /// Declares an input and returns its storage, dense and row-major, to be filled before Run. Throws kOption for a name
  /// that this question does not know.
  std::span<std::byte> Input(std::string_view name, DType dtype, const Shape& shape);

  /// Answers. `options` is a JSON object; an unknown name in it is an error, and so is a number that is not finite in
  /// any tensor, but for what is masked: rows of weights and the like that are not valid, values of keys that nobody
  /// may look at.
  AnalysisResults Run(std::string_view options = "{}") const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlens

#endif  // HEADLENS_ANALYSIS_H_
