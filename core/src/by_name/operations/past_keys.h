// SPDX-License-Identifier: Apache-2.0
/// The keys and values that come before those of a run.
#ifndef HEADLENS_SRC_BY_NAME_OPERATIONS_PAST_KEYS_H_
#define HEADLENS_SRC_BY_NAME_OPERATIONS_PAST_KEYS_H_

#include <array>
#include <functional>
#include <optional>

#include "by_name/call_options.h"
#include "by_name/inputs.h"
#include "by_name/operations/operation.h"
#include "by_name/results.h"
#include "headlens/attention.h"
#include "headlens/cache.h"

namespace headlens {

/// The cache of a run: the caller's, one made from `past_key` and `past_value`, or none.
class PastKeys {
 public:
  /// Views a tensor as [B, G, P, d].
  using ReadHeads = std::function<View<const float, 4>(std::string_view name, const Given& input)>;

  /// The keys of this run are [B, G, S, d], and its values have the width `value_width`.
  PastKeys(OperationRun& run, const CallOptions& options, const ReadHeads& as_heads,
           const std::array<Index, 4>& key_sizes, Index value_width);

  KvCache* cache() const { return cache_; }
  /// The number of keys that come before those of this run.
  Index count() const { return cache_ ? cache_->reachable() : 0; }

  void Store(ResultSet& set) const;

 private:
  std::optional<KvCache> own_;
  KvCache* cache_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_OPERATIONS_PAST_KEYS_H_
