// SPDX-License-Identifier: Apache-2.0
/// Reads options from JSON by name, checks each, and refuses unknown ones.
#ifndef HEADLENS_SRC_BY_NAME_OPTION_READER_H_
#define HEADLENS_SRC_BY_NAME_OPTION_READER_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/field.h"
#include "files/json.h"
#include "headlens/backend.h"

namespace headlens {

/// Reads options one by one. An option that has not been read in the end is unknown. Names must be literals, since they
/// are kept.
class OptionReader {
 public:
  /// Borrows `backends`, of which the option `backend` names one.
  explicit OptionReader(nlohmann::json options, std::span<const headlens::Backend* const> backends = Backends())
      : options_(std::move(options)), backends_(backends) {}

  bool Has(std::string_view name) { return Find(name).has_value(); }
  /// Reads the option `name` as `parameter` describes it. Flags are 0 or 1, and choices are the numbers of their
  /// enumerators. Returns nothing when the option was not given. Throws kOption for a wrong value.
  std::optional<double> Scalar(const AnyField& parameter, std::string_view name);

  bool Flag(std::string_view name, bool fallback);
  std::optional<double> Number(std::string_view name);
  double Number(std::string_view name, double fallback) { return Number(name).value_or(fallback); }
  /// A number that is computed with in fp32. Throws when it would become infinite or 0 there.
  std::optional<float> Single(std::string_view name);
  float Single(std::string_view name, float fallback) { return Single(name).value_or(fallback); }
  /// A whole number of at least `least`.
  std::optional<Index> Count(std::string_view name, Index least);
  Index Count(std::string_view name, Index fallback, Index least) { return Count(name, least).value_or(fallback); }
  /// The number of the choice that is named.
  std::optional<int> OneOf(std::string_view name, std::span<const Choice> choices);
  std::string Text(std::string_view name, std::string_view fallback);
  std::vector<std::string> Names(std::string_view name);
  const headlens::Backend& Backend() { return FindBackend(Text("backend", "simd"), backends_); }

  /// Throws kOption, naming the first option that was not read and all options that were.
  void RejectUnknown() const;

 private:
  /// The option, unless it was not given or is null. Most are not given, and finding that out costs next to nothing.
  std::optional<JsonField> Find(std::string_view name);

  nlohmann::json options_;
  std::span<const headlens::Backend* const> backends_;
  std::vector<std::string_view> known_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_OPTION_READER_H_
