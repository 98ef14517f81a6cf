// SPDX-License-Identifier: Apache-2.0
#include "headlens/multihead.h"

#include "operations/layer.h"

namespace headlens {
namespace {

class Multihead : public Operation {
 public:
  Results Run(OperationRun& run) override {
    const MultiheadConfig config = ReadMultihead(run.reader);
    const CommonOptions options = ReadCommon(run.reader, /*mask_keeps=*/false, /*need_weights=*/true);
    const bool batch_first = run.reader.Flag("batch_first", false);
    const Qkv given(run.args);
    const bool batched = given.query.shape.size() == 3;
    const auto as_batches = [&](std::string_view name, const Given& input) {
      return AsBatches(name, run.args.Floats(name, input), input.shape, batch_first);
    };
    const View<const float, 3> query = as_batches("query", given.query), key = as_batches(given.key_name, given.key),
                               value = as_batches(given.value_name, given.value);
    const PastKeys past(run, options, LayerHeads(run.args, batched),
                        {query.shape[0], config.kv_heads(), key.shape[1], config.head_dim()}, config.head_dim());
    const Sizes n{query.shape[0], config.num_heads, query.shape[1], past.count() + key.shape[1], batched};
    const Index appended = config.appended_keys();
    LayerAttention attention(run, options, config, n, {}, n.keys + appended, key.shape[1] + appended);
    run.reader.RejectUnknown();
    const MultiheadAttention& layer = layer_.Get(config, run.parameters, *options.backend);
    attention.inputs.query = query;
    attention.inputs.key = key;
    attention.inputs.value = value;
    attention.inputs.rotary = options.rotary;
    attention.inputs.cache = past.cache();
    const Shape& shape = given.query.shape;
    attention.results.output = AsBatches("output", attention.set.Make("output", shape), shape, batch_first);
    layer.Forward(attention.inputs, attention.results);
    past.Store(attention.set);
    return std::move(attention.set.results);
  }

  void Build(OptionReader& reader, const Parameters& parameters) override {
    layer_.Get(ReadMultihead(reader), parameters, FindBackend(reader.Text("backend", "simd")));
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
