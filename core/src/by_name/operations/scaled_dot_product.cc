// SPDX-License-Identifier: Apache-2.0
#include "by_name/operations/heads_call.h"
#include "by_name/operations/past_keys.h"

namespace headlens {
namespace {

CallOptions ReadOptions(OptionReader& reader) {
  CallOptions options = ReadCallOptions(reader, kFunctionDefaults);
  if (options.Wants("head_contributions")) {
    throw Error(ErrorCode::kOption,
                "`stages` names `head_contributions`, but only layers have an output projection to contribute to");
  }
  return options;
}

class ScaledDotProductWork : public Work {
 public:
  explicit ScaledDotProductWork(OperationRun& run)
      : args_(run.args),
        options_(ReadOptions(run.reader)),
        call_(run.args, options_, options_.enable_gqa),
        past_(run, options_, call_.as_heads, call_.problem.k.shape, call_.problem.v.shape[3]),
        n_(call_.SizesAfter(past_.count())),
        set_(results, "", options_, n_, n_.keys, call_.Lead(), call_.MeanLead()) {
    static_cast<AttentionSettings&>(call_.problem) = ReadSettings(run.reader, run.args, options_, n_);
    run.reader.RejectUnknown();
    wanted_ = set_.Attention(call_.problem.v.shape[3]);
    output_ = set_.PerHead("output", n_.queries, call_.problem.v.shape[3]);
  }

  void Compute() override {
    call_.ExpectWidth();
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
