// SPDX-License-Identifier: Apache-2.0
/// Analyses of attention by name. They offer the functions of metrics.h, attribution.h, circuits.h and positions.h to
/// callers who have named tensors and JSON options, such as the npm package.
#ifndef HEADLENS_ANALYSIS_H_
#define HEADLENS_ANALYSIS_H_

#include <memory>
#include <string>
#include <string_view>

#include "headlens/problem.h"

namespace headlens {

struct AnalysisResults {
  Results tensors;            ///< the maps that were computed; a single one is named "output"
  std::string values = "{}";  ///< numbers and names as a JSON object; a value that does not exist is null
};

/// One analysis. It is given named tensors and then run. Each analysis has a function in core/src/by_name/analyses,
/// which documents its tensors and options.
class Analysis {
 public:
  /// Throws kOption when no analysis has this name.
  explicit Analysis(std::string_view name);
  ~Analysis();
  Analysis(Analysis&&) noexcept;
  Analysis& operator=(Analysis&&) noexcept;

  /// Declares an input and returns its storage, dense and row-major, which the caller fills before Run. Throws kOption
  /// for a name that this analysis does not know.
  std::span<std::byte> Input(std::string_view name, DType dtype, const Shape& shape);

  /// Runs the analysis. `options` is a JSON object. Throws kOption for an option that is not known and kValue for a NaN
  /// or an infinity in a tensor. Masked parts may hold anything: rows that are not valid, and the values of keys that
  /// no query may look at.
  AnalysisResults Run(std::string_view options = "{}") const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlens

#endif  // HEADLENS_ANALYSIS_H_
