// SPDX-License-Identifier: Apache-2.0
#include "headlens/multihead.h"

#include "by_name/operations/layer.h"

namespace headlens {
namespace {

/// Query, key and value as [B, length, width].
struct Batches {
  Batches(OperationRun& run, const Qkv& tensors, bool is_batch_first) : given(tensors), batch_first(is_batch_first) {
    const auto as_batches = [&](std::string_view name, const Given& input) {
      return AsBatches(name, run.args.Floats(name, input), input.shape, batch_first);
    };
    query = as_batches("query", given.query);
    key = as_batches(given.key_name, given.key);
    value = as_batches(given.value_name, given.value);
  }

  /// Throws kShape, in the dimensions that the caller gave, for sizes that do not fit together or into the layer.
  void Check(const MultiheadConfig& config) const {
    const Index batch = query.shape[0], length = key.shape[1];
    ExpectBatches("query", given.query.shape, {batch, query.shape[1], config.embed_dim}, batch_first,
                  "the width is `embed_dim`");
    ExpectBatches("key", given.key.shape, {batch, length, config.key_width()}, batch_first,
                  "the batch of `query`, the width `kdim`");
    ExpectBatches("value", given.value.shape, {batch, length, config.value_width()}, batch_first,
                  "the batch and length of `key`, the width `vdim`");
  }

  Qkv given;
  bool batch_first;
  View<const float, 3> query, key, value;
};

class MultiheadWork : public Work {
 public:
  MultiheadWork(OperationRun& run, BuiltLayer<MultiheadAttention>& layer)
      : MultiheadWork(run, layer, ReadMultihead(run.reader), Qkv(run.args)) {}

  void Compute() override {
    const MultiheadAttention& layer = layer_.Get(config_, parameters_, *options_.backend);
    x_.Check(config_);
    layer.Forward(attention_.inputs, attention_.results);
    past_.Store(attention_.set);
  }

  bool repeatable() const override { return args_.only_views() && !past_.cache(); }

 private:
  MultiheadWork(OperationRun& run, BuiltLayer<MultiheadAttention>& layer, const MultiheadConfig& config,
                const Qkv& given)
      : args_(run.args),
        parameters_(run.parameters),
        layer_(layer),
        config_(config),
        options_(ReadCallOptions(run.reader, kMultiheadDefaults)),
        batched_(given.query.shape.size() == 3),
        x_(run, given, options_.batch_first),
        past_(run, options_, LayerHeads(run.args, batched_),
              {x_.query.shape[0], config.kv_heads(), x_.key.shape[1], config.head_dim()}, config.head_dim()),
        attention_(run, results, "", options_, config,
                   {x_.query.shape[0], config.num_heads, x_.query.shape[1], past_.count() + x_.key.shape[1], batched_},
                   {}, past_.count() + x_.key.shape[1] + config.appended_keys(),
                   x_.key.shape[1] + config.appended_keys()) {
    run.reader.RejectUnknown();
    attention_.inputs.query = x_.query;
    attention_.inputs.key = x_.key;
    attention_.inputs.value = x_.value;
    attention_.inputs.rotary = options_.rotary;
    attention_.inputs.cache = past_.cache();
    const Shape& shape = given.query.shape;
    attention_.results.output = AsBatches("output", attention_.set.Make("output", shape), shape, options_.batch_first);
  }

  const Arguments& args_;
  const Parameters& parameters_;
  BuiltLayer<MultiheadAttention>& layer_;
  MultiheadConfig config_;
  CallOptions options_;
  bool batched_;
  Batches x_;
  PastKeys past_;
  LayerAttention attention_;
};

class Multihead : public Operation {
 public:
  std::unique_ptr<Work> Prepare(OperationRun& run) override { return std::make_unique<MultiheadWork>(run, layer_); }

  void Build(OptionReader& reader, const Parameters& parameters) override {
    layer_.Get(ReadMultihead(reader), parameters, reader.Backend());
  }

  Index ParameterCount(OptionReader& reader) const override {
    return MultiheadAttention::ParameterCount(ReadMultihead(reader));
  }

 private:
  BuiltLayer<MultiheadAttention> layer_;
};

}  // namespace

std::unique_ptr<Operation> MakeMultihead() { return std::make_unique<Multihead>(); }

}  // namespace headlens
