// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "operations/settings.h"

namespace headlens {
namespace {

/// A copy in which heads can be turned.
View<float, 4> Turnable(Tensor& storage, const View<const float, 4>& from) {
  storage = Tensor(Shape(from.shape.begin(), from.shape.end()));
  const View<float, 4> to = storage.view<4>();
  for (Index b = 0; b < from.shape[0]; ++b)
    for (Index h = 0; h < from.shape[1]; ++h)
      for (Index t = 0; t < from.shape[2]; ++t) std::copy_n(from.at(b, h, t), from.shape[3], to.at(b, h, t));
  return to;
}

void ExpectSameHeads(const Qkv& in, const AttentionProblem& problem) {
  if (problem.q.shape[1] == problem.k.shape[1]) return;
  throw Error(ErrorCode::kShape, "query " + ToString(in.query.shape) + " and key " + ToString(in.key.shape) +
                                     " differ in heads; enable_gqa allows fewer key/value heads");
}

CommonOptions ReadOptions(OptionReader& reader) {
  CommonOptions options = ReadCommon(reader, /*mask_keeps=*/true, /*need_weights=*/false);
  // Per-head, unless the average was asked for: PyTorch's function has no heads to average over.
  options.average_weights = reader.Flag("average_attn_weights", false);
  if (options.Wants("head_contributions")) {
    throw Error(ErrorCode::kOption,
                "stages names head_contributions, but only layers have an output projection to contribute to");
  }
  return options;
}

class ScaledDotProduct : public Operation {
 public:
  Results Run(OperationRun& run) override {
    const CommonOptions options = ReadOptions(run.reader);
    const bool enable_gqa = run.reader.Flag("enable_gqa", false);
    const Qkv in(run.args);
    const std::size_t rank = in.query.shape.size();
    const auto as_heads = [&](std::string_view name, const Given& input) {
      return AsHeads(name, run.args.Floats(name, input), input.shape, rank, enable_gqa);
    };
    AttentionProblem problem;
    problem.q = as_heads("query", in.query);
    problem.k = as_heads(in.key_name, in.key);
    problem.v = as_heads(in.value_name, in.value);
    if (!enable_gqa) ExpectSameHeads(in, problem);
    const PastKeys past(run, options, as_heads, problem.k.shape, problem.v.shape[3]);
    const Sizes n{problem.q.shape[0], problem.q.shape[1], problem.q.shape[2], past.count() + problem.k.shape[2]};
    static_cast<AttentionSettings&>(problem) = ReadSettings(run, options, n, {});
    problem.scale = options.scale.value_or(DefaultScale(std::max<Index>(problem.q.shape[3], 1)));
    run.reader.RejectUnknown();
    const Shape lead(in.query.shape.begin(), in.query.shape.end() - 2);
    return Compute(options, problem, past, ResultSet(options, n, n.keys, lead, rank == 4 ? Shape{n.batch} : lead));
  }

  void Build(OptionReader&, const Parameters&) override {}
  Index ParameterCount(OptionReader&) const override { return 0; }

 private:
  static Results Compute(const CommonOptions& options, AttentionProblem& problem, const PastKeys& past, ResultSet set) {
    Tensor q, k;
    View<const float, 4> own_k = problem.k;
    const View<const float, 4> own_v = problem.v;
    if (options.rotary || past.cache()) {
      const View<float, 4> turned_q = Turnable(q, problem.q), turned_k = Turnable(k, problem.k);
      problem.q = turned_q;
      problem.k = own_k = turned_k;
      RotateAndCache(*options.backend, options.rotary, turned_q, turned_k, past.cache(), problem);
    }
    AttentionResults results = set.Attention(problem.v.shape[3]);
    if (!results.output) results.output = set.PerHead("output", problem.q.shape[2], problem.v.shape[3]);
    options.backend->Attention(problem, results);
    past.Store(set);
    set.CopyIfWanted("q", problem.q);
    set.CopyIfWanted("k", own_k);
    set.CopyIfWanted("v", own_v);
    if (const auto it = set.results.find("head_outputs"); it != set.results.end())
      set.results.insert_or_assign("output", it->second.Clone());
    return std::move(set.results);
  }
};

}  // namespace

std::unique_ptr<Operation> MakeScaledDotProduct() { return std::make_unique<ScaledDotProduct>(); }

}  // namespace headlens
