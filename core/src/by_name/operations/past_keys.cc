// SPDX-License-Identifier: Apache-2.0
#include "by_name/operations/past_keys.h"

#include "base/checks.h"

namespace headlens {
PastKeys::PastKeys(OperationRun& run, const CallOptions& options, const ReadHeads& as_heads,
                   const std::array<Index, 4>& key_sizes, Index value_width)
    : cache_(run.cache) {
  const Given *key = run.args.Find("past_key"), *value = run.args.Find("past_value");
  if (!key && !value && !options.Wants("present_key") && !options.Wants("present_value")) return;
  if (cache_ && (key || value)) {
    throw Error(ErrorCode::kOption, "past_key and past_value stand in the cache already: leave one out");
  }
  if (!cache_) cache_ = &own_.emplace();
  if (!key && !value) return;
  const View<const float, 4> k = as_heads("past_key", run.args.Need("past_key")),
                             v = as_heads("past_value", run.args.Need("past_value"));
  const auto& [batch, heads, length, width] = key_sizes;
  ExpectSizes("past_key", SizesOf(k), {batch, heads, k.shape[2], width});
  ExpectSizes("past_value", SizesOf(v), {batch, heads, k.shape[2], value_width});
  cache_->Append(k, v);
}

void PastKeys::Store(ResultSet& set) const {
  set.CopyIfWanted("present_key", cache_ ? cache_->k() : KeyValueView());
  set.CopyIfWanted("present_value", cache_ ? cache_->v() : KeyValueView());
}

}  // namespace headlens
