// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "by_name/operations/past_keys.h"

namespace headlens {
namespace {

/// A copy of a tensor of heads that can be rotated in place.
View<float, 4> Turnable(Tensor& storage, const View<const float, 4>& from) {
  storage = Tensor(Shape(from.shape.begin(), from.shape.end()));
  const View<float, 4> to = storage.view<4>();
  if (HasNoElements(from)) return to;
  for (Index b = 0; b < from.shape[0]; ++b)
    for (Index h = 0; h < from.shape[1]; ++h)
      for (Index t = 0; t < from.shape[2]; ++t) std::copy_n(from.at(b, h, t), from.shape[3], to.at(b, h, t));
  return to;
}

/// Throws kShape for sizes that do not fit together, in the dimensions that the caller gave.
void CheckSizes(const Qkv& in, bool gqa) {
  const Shape& query = in.query.shape;
  const std::size_t rank = query.size();
  Shape key = query;
  key[rank - 2] = in.key.shape[rank - 2];
  if (gqa && rank > 2) {
    const Index heads = query[rank - 3], kv_heads = key[rank - 3] = in.key.shape[rank - 3];
    if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0) {
      throw ShapeError(Fragment::Name(in.key_name), in.key.shape,
                       {"a number of heads that divides the ", heads, " of `query`"});
    }
  }
  if (in.key.shape != key) {
    const bool fewer = !gqa && rank == 4 && in.key.shape[1] < key[1];
    throw ShapeError(Fragment::Name(in.key_name), in.key.shape,
                     {key, ", as `query` has but for the length", fewer ? "; `enable_gqa` allows fewer heads" : ""});
  }
  Shape value = key;
  value.back() = in.value.shape.back();
  if (in.value.shape != value) {
    throw ShapeError(Fragment::Name(in.value_name), in.value.shape,
                     {value, ", as ", Fragment::Name(in.key_name), " has but for the width"});
  }
}

CallOptions ReadOptions(OptionReader& reader) {
  CallOptions options = ReadCallOptions(reader, kFunctionDefaults);
  if (options.Wants("head_contributions")) {
    throw Error(ErrorCode::kOption,
                "`stages` names `head_contributions`, but only layers have an output projection to contribute to");
  }
  return options;
}

/// The attention problem of a call, and the shape of its query.
struct HeadsCall {
  HeadsCall(OperationRun& run, const CallOptions& options, const Qkv& in)
      : shape(in.query.shape),
        as_heads([&args = run.args, rank = shape.size(), gqa = options.enable_gqa](std::string_view name,
                                                                                   const Given& input) {
          return AsHeads(name, args.Floats(name, input), input.shape, rank, gqa);
        }) {
    problem.q = as_heads("query", in.query);
    problem.k = as_heads(in.key_name, in.key);
    problem.v = as_heads(in.value_name, in.value);
    CheckSizes(in, options.enable_gqa);
    problem.scale = options.scale.value_or(DefaultScale(std::max<Index>(problem.q.shape[3], 1)));
  }

  Sizes SizesAfter(Index past) const {
    return {problem.q.shape[0], problem.q.shape[1], problem.q.shape[2], past + problem.k.shape[2]};
  }
  Shape Lead() const { return {shape.begin(), shape.end() - 2}; }
  Shape MeanLead() const { return shape.size() == 4 ? Shape{shape[0]} : Lead(); }

  const Shape& shape;  ///< of the query, as the caller gave it
  PastKeys::ReadHeads as_heads;
  AttentionProblem problem;
};

class ScaledDotProductWork : public Work {
 public:
  explicit ScaledDotProductWork(OperationRun& run)
      : args_(run.args),
        options_(ReadOptions(run.reader)),
        call_(run, options_, Qkv(run.args)),
        past_(run, options_, call_.as_heads, call_.problem.k.shape, call_.problem.v.shape[3]),
        n_(call_.SizesAfter(past_.count())),
        set_(results, "", options_, n_, n_.keys, call_.Lead(), call_.MeanLead()) {
    static_cast<AttentionSettings&>(call_.problem) = ReadSettings(run.reader, run.args, options_, n_);
    run.reader.RejectUnknown();
    wanted_ = set_.Attention(call_.problem.v.shape[3]);
    output_ = set_.PerHead("output", n_.queries, call_.problem.v.shape[3]);
  }

  void Compute() override {
    if (call_.shape.back() < 1) throw ShapeError("`query`", call_.shape, "a head width of at least 1");
    AttentionProblem problem = call_.problem;
    Tensor q, k;
    KeyValueView own_k = problem.k;
    const KeyValueView own_v = problem.v;
    if (options_.rotary || past_.cache()) {
      const View<float, 4> turned_q = Turnable(q, problem.q.host()), turned_k = Turnable(k, problem.k.floats().host());
      problem.q = turned_q;
      problem.k = own_k = turned_k;
      RotateAndCache(*options_.backend, options_.rotary, turned_q, turned_k, past_.cache(), problem);
    }
    AttentionResults wanted = wanted_;
    wanted.output = output_;
    options_.backend->Attention(problem, wanted);
    past_.Store(set_);
    set_.CopyIfWanted("q", problem.q);
    set_.CopyIfWanted("k", own_k);
    set_.CopyIfWanted("v", own_v);
    if (wanted_.output) Copy(View<const float, 4>(output_), wanted_.output.host());
  }

  bool repeatable() const override { return args_.only_views() && !past_.cache(); }

 private:
  const Arguments& args_;
  CallOptions options_;
  HeadsCall call_;
  PastKeys past_;
  Sizes n_;
  ResultSet set_;
  AttentionResults wanted_;  ///< its output is the stage of the heads' outputs
  View<float, 4> output_;
};

class ScaledDotProduct : public Operation {
 public:
  std::unique_ptr<Work> Prepare(OperationRun& run) override { return std::make_unique<ScaledDotProductWork>(run); }
  void Build(OptionReader&, const Parameters&) override {}
  Index ParameterCount(OptionReader&) const override { return 0; }
};

}  // namespace

std::unique_ptr<Operation> MakeScaledDotProduct() { return std::make_unique<ScaledDotProduct>(); }

}  // namespace headlens
