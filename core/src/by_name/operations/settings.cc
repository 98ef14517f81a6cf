// SPDX-License-Identifier: Apache-2.0
#include "by_name/operations/settings.h"

#include "attention/normalizers/registry.h"
#include "attention/positions/bias_table.h"
#include "base/checks.h"

namespace headlens {
namespace {

View<const float, 2> ReadHeadMask(Arguments& args, const Sizes& n) {
  const Given* input = args.Find("head_mask");
  if (!input) return {};
  const bool by_batch = input->shape == Shape{n.batch, n.heads};
  if (!by_batch && input->shape != Shape{n.heads}) {
    throw Error(ErrorCode::kShape, "head_mask has shape " + ToString(input->shape) + ", expected " +
                                       ToString({n.heads}) + " or " + ToString({n.batch, n.heads}));
  }
  return {args.Floats("head_mask", *input), {n.batch, n.heads}, {by_batch ? n.heads : 0, 1}};
}

}  // namespace

AttentionSettings ReadSettings(OperationRun& run, const CommonOptions& options, const Sizes& n,
                               const MaskNames& names) {
  AttentionSettings settings;
  settings.softcap = options.softcap;
  settings.softcap_order = options.softcap_order;
  settings.gqa_order = options.gqa_order;
  settings.fully_masked = options.fully_masked;
  settings.masked_nan = options.masked_nan;
  settings.dropout_p = options.dropout_p;
  settings.seed = options.seed;
  settings.mask = ReadMask(run.reader, run.args, options, n, names);
  settings.normalizer = ReadNormalizer(run.reader, run.args, n.heads);
  if (names.over_memory) return settings;
  settings.position_bias = ReadPositionBias({run.reader, run.args, n.heads});
  settings.head_mask = ReadHeadMask(run.args, n);
  return settings;
}

PastKeys::PastKeys(OperationRun& run, const CommonOptions& options, const ReadHeads& as_heads,
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
