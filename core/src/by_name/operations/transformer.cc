// SPDX-License-Identifier: Apache-2.0
#include "headlens/transformer.h"

#include "base/checks.h"
#include "by_name/operations/layer.h"
#include "by_name/operations/registry.h"

namespace headlens {
namespace {

/// The options of a call of an encoder layer, or of a decoder layer, which also attends to the memory.
struct LayerCall {
  LayerCall(OperationRun& run, bool decoder)
      : input(decoder ? "tgt" : "src"),
        config(ReadTransformerLayer(run.reader, decoder)),
        options(ReadCallOptions(run.reader, kTransformerDefaults, decoder)),
        of_memory(options),
        given(run.args.Need(input)),
        x(Read(run, input, given)) {
    of_memory.stages = options.memory_stages;
    ExpectBatches(input, given.shape, {x.shape[0], x.shape[1], config.attention.embed_dim}, options.batch_first,
                  "the width is `embed_dim`");
  }

  View<const float, 3> Read(OperationRun& run, std::string_view name, const Given& tensor) const {
    return AsBatches(name, run.args.Floats(name, tensor), tensor.shape, options.batch_first);
  }

  bool batched() const { return given.shape.size() == 3; }

  std::string input;
  TransformerLayerConfig config;
  CallOptions options, of_memory;
  const Given& given;
  View<const float, 3> x;
};

class TransformerWork : public Work {
 public:
  TransformerWork(OperationRun& run, BuiltLayer<TransformerLayer>& layer, bool decoder)
      : args_(run.args),
        parameters_(run.parameters),
        layer_(layer),
        call_(run, decoder),
        past_(run, call_.options, LayerHeads(run.args, call_.batched()),
              {call_.x.shape[0], heads().kv_heads(), call_.x.shape[1], heads().head_dim()}, heads().head_dim()),
        self_(Self(run)) {
    self_.inputs.rotary = call_.options.rotary;
    self_.inputs.cache = past_.cache();
    const Shape& shape = call_.given.shape;
    self_.results.output = AsBatches("output", self_.set.Make("output", shape), shape, call_.options.batch_first);
    if (decoder) cross_.emplace(Cross(run));
    run.reader.RejectUnknown();
  }

  void Compute() override {
    const TransformerLayer& layer = layer_.Get(call_.config, parameters_, *call_.options.backend);
    try {
      layer.Forward(call_.x, self_.inputs, cross_ ? cross_->inputs : MultiheadInputs(), self_.results,
                    cross_ ? cross_->results : MultiheadResults());
    } catch (const Error& error) {
      throw error.Renamed(SelfNames());  // attention itself knows the names of its own fields alone
    }
    past_.Store(self_.set);
  }

  bool repeatable() const override { return args_.only_views() && !past_.cache(); }

 private:
  const MultiheadConfig& heads() const { return call_.config.attention; }
  Renames SelfNames() const { return call_.config.cross_attention ? DecoderNames() : EncoderNames(); }

  LayerAttention Self(OperationRun& run) {
    const Index length = call_.x.shape[1];
    const Sizes n{call_.x.shape[0], heads().num_heads, length, past_.count() + length, call_.batched()};
    return {run, results, "", call_.options, heads(), n, {SelfNames()}, n.keys, length};
  }

  LayerAttention Cross(OperationRun& run) {
    const Given& given = run.args.Need("memory");
    const View<const float, 3> memory = call_.Read(run, "memory", given);
    const Index batch = call_.x.shape[0], keys = memory.shape[1];
    ExpectBatches("memory", given.shape, {batch, keys, heads().embed_dim}, call_.options.batch_first,
                  "the batch of `tgt`, the width `embed_dim`");
    const Sizes n{batch, heads().num_heads, call_.x.shape[1], keys, call_.batched()};
    LayerAttention cross(run, results, "memory_", call_.of_memory, heads(), n, {MemoryNames(), /*over_memory=*/true},
                         keys, keys);
    ++cross.inputs.seed;  // otherwise both attentions would drop the same cells
    cross.inputs.key = cross.inputs.value = memory;
    return cross;
  }

  const Arguments& args_;
  const Parameters& parameters_;
  BuiltLayer<TransformerLayer>& layer_;
  LayerCall call_;
  PastKeys past_;
  LayerAttention self_;
  std::optional<LayerAttention> cross_;
};

class Transformer : public Operation {
 public:
  explicit Transformer(bool decoder) : decoder_(decoder) {}

  std::unique_ptr<Work> Prepare(OperationRun& run) override {
    return std::make_unique<TransformerWork>(run, layer_, decoder_);
  }

  void Build(OptionReader& reader, const Parameters& parameters) override {
    layer_.Get(ReadTransformerLayer(reader, decoder_), parameters, reader.Backend());
  }

  Index ParameterCount(OptionReader& reader) const override {
    return TransformerLayer::ParameterCount(ReadTransformerLayer(reader, decoder_));
  }

 private:
  bool decoder_;
  BuiltLayer<TransformerLayer> layer_;
};

}  // namespace

Renames EncoderNames() {
  static constexpr Rename kNames[] = {{"attn_mask", "src_mask"}, {"key_padding_mask", "src_key_padding_mask"}};
  return kNames;
}

Renames DecoderNames() {
  static constexpr Rename kNames[] = {
      {"attn_mask", "tgt_mask"}, {"key_padding_mask", "tgt_key_padding_mask"}, {"is_causal", "tgt_is_causal"}};
  return kNames;
}

Renames MemoryNames() {
  static constexpr Rename kNames[] = {
      {"attn_mask", "memory_mask"}, {"key_padding_mask", "memory_key_padding_mask"}, {"is_causal", "memory_is_causal"}};
  return kNames;
}

std::unique_ptr<Operation> MakeEncoderLayer() { return std::make_unique<Transformer>(/*decoder=*/false); }
std::unique_ptr<Operation> MakeDecoderLayer() { return std::make_unique<Transformer>(/*decoder=*/true); }

}  // namespace headlens
