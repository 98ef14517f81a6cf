// SPDX-License-Identifier: Apache-2.0
#include "by_name/operations/layer.h"

namespace headlens {
namespace {

Shape LeadOf(const Sizes& n) { return n.batched ? Shape{n.batch, n.heads} : Shape{n.heads}; }

}  // namespace

LayerAttention::LayerAttention(OperationRun& run, Results& all, const char* prefix, const CallOptions& options,
                               const MultiheadConfig& config, const Sizes& n, const AttentionNames& names,
                               Index columns, Index new_keys)
    : set(all, prefix, options, n, columns, LeadOf(n), n.batched ? Shape{n.batch} : Shape{}) {
  static_cast<AttentionSettings&>(inputs) =
      ReadSettings(run.reader, run.args, options, n, names.renames, names.over_memory);
  inputs.scale = options.scale;
  const auto wanted = [&](const char* name, Index heads, Index rows, Index width) {
    return options.Wants(name) ? set.PerHead(name, heads, rows, width) : View<float, 4>();
  };
  results.attention = set.Attention(config.head_dim());
  results.q = wanted("q", config.num_heads, n.queries, config.head_dim());
  results.k = wanted("k", config.kv_heads(), new_keys, config.head_dim());
  results.v = wanted("v", config.kv_heads(), new_keys, config.head_dim());
  results.contributions = wanted("head_contributions", config.num_heads, n.queries, config.embed_dim);
}

PastKeys::ReadHeads LayerHeads(Arguments& args, bool batched) {
  return [&args, batched](std::string_view name, const Given& input) {
    return AsHeads(name, args.Floats(name, input), input.shape, batched ? 4 : 3, /*heads_in_three=*/true);
  };
}

}  // namespace headlens
