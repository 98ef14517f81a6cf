// SPDX-License-Identifier: Apache-2.0
#include "by_name/operations/past_keys.h"

#include "base/checks.h"

namespace headlens {
namespace {

/// Throws kShape unless the sizes [B, G, P, d] are as expected. The error shows them in the dimensions that the caller
/// gave, of which one before the length stands for all.
void ExpectHeads(std::string_view what, const Shape& given, const Shape& sizes, Shape expected) {
  if (sizes == expected) return;
  if (given.size() < 4) expected.erase(expected.begin() + (expected[0] == 1 ? 0 : 1));
  if (given.size() < 3) expected.erase(expected.begin());
  throw ShapeError(Fragment::OfLibrary(what), given, expected);
}

}  // namespace

PastKeys::PastKeys(OperationRun& run, const CallOptions& options, const ReadHeads& as_heads,
                   const std::array<Index, 4>& key_sizes, Index value_width)
    : cache_(run.cache) {
  const Given *key = run.args.Find("past_key"), *value = run.args.Find("past_value");
  if (!key && !value && !options.Wants("present_key") && !options.Wants("present_value")) return;
  if (cache_ && (key || value)) {
    throw Error(ErrorCode::kOption, "`past_key` and `past_value` stand in the cache already: leave them out");
  }
  if (!cache_) cache_ = &own_.emplace();
  if (!key && !value) return;
  const Given &given_key = run.args.Need("past_key"), &given_value = run.args.Need("past_value");
  const View<const float, 4> k = as_heads("past_key", given_key), v = as_heads("past_value", given_value);
  const auto& [batch, heads, length, width] = key_sizes;
  ExpectHeads("`past_key`", given_key.shape, SizesOf(k), {batch, heads, k.shape[2], width});
  ExpectHeads("`past_value`", given_value.shape, SizesOf(v), {batch, heads, k.shape[2], value_width});
  cache_->Append(k, v);
}

void PastKeys::Store(ResultSet& set) const {
  set.CopyIfWanted("present_key", cache_ ? cache_->k() : KeyValueView());
  set.CopyIfWanted("present_value", cache_ ? cache_->v() : KeyValueView());
}

}  // namespace headlens
