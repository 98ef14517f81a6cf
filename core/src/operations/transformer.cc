// SPDX-License-Identifier: Apache-2.0
#include "headlens/transformer.h"

#include "checks.h"
#include "operations/layer.h"

namespace headlens {
namespace {

/// An encoder layer, or a decoder layer, which also attends to the memory.
class Transformer : public Operation {
 public:
  explicit Transformer(bool decoder) : decoder_(decoder), input_(decoder ? "tgt" : "src") {}

  Results Run(OperationRun& run) override {
    const TransformerLayerConfig config = ReadTransformerLayer(run.reader, decoder_);
    const CommonOptions options = ReadCommon(run.reader, /*mask_keeps=*/false, /*need_weights=*/false, decoder_);
    CommonOptions of_memory = options;
    of_memory.stages = options.memory_stages;
    const bool batch_first = run.reader.Flag("batch_first", false);
    const Given& given = run.args.Need(input_);
    const View<const float, 3> x = Read(run, input_, given, batch_first);
    const MultiheadConfig& heads = config.attention;
    ExpectSizes(input_.c_str(), SizesOf(x), {x.shape[0], x.shape[1], heads.embed_dim});
    const bool batched = given.shape.size() == 3;
    const PastKeys past(run, options, LayerHeads(run.args, batched),
                        {x.shape[0], heads.kv_heads(), x.shape[1], heads.head_dim()}, heads.head_dim());
    const Sizes n{x.shape[0], heads.num_heads, x.shape[1], past.count() + x.shape[1], batched};
    LayerAttention self = Self(run, options, heads, n, past);
    self.results.output = AsBatches("output", self.set.Make("output", given.shape), given.shape, batch_first);
    std::optional<LayerAttention> cross;
    if (decoder_) cross.emplace(Cross(run, of_memory, heads, n, batch_first));
    run.reader.RejectUnknown();
    layer_.Get(config, run.parameters, *options.backend)
        .Forward(x, self.inputs, cross ? cross->inputs : MultiheadInputs(), self.results,
                 cross ? cross->results : MultiheadResults());
    past.Store(self.set);
    if (cross) {
      for (auto& [name, tensor] : cross->set.results)
        self.set.results.insert_or_assign("memory_" + name, std::move(tensor));
    }
    return std::move(self.set.results);
  }

  void Build(OptionReader& reader, const Parameters& parameters) override {
    layer_.Get(ReadTransformerLayer(reader, decoder_), parameters, FindBackend(reader.Text("backend", "simd")));
  }

  Index ParameterCount(OptionReader& reader) const override {
    return TransformerLayer::ParameterCount(ReadTransformerLayer(reader, decoder_));
  }

 private:
  static View<const float, 3> Read(OperationRun& run, std::string_view name, const Given& input, bool batch_first) {
    return AsBatches(name, run.args.Floats(name, input), input.shape, batch_first);
  }

  LayerAttention Self(OperationRun& run, const CommonOptions& options, const MultiheadConfig& heads, const Sizes& n,
                      const PastKeys& past) const {
    const MaskNames names{input_ + "_mask", input_ + "_key_padding_mask", decoder_ ? "tgt_is_causal" : "is_causal"};
    LayerAttention self(run, options, heads, n, names, n.keys, n.queries);
    self.inputs.rotary = options.rotary;
    self.inputs.cache = past.cache();
    return self;
  }

  static LayerAttention Cross(OperationRun& run, const CommonOptions& options, const MultiheadConfig& heads,
                              const Sizes& of_self, bool batch_first) {
    const View<const float, 3> memory = Read(run, "memory", run.args.Need("memory"), batch_first);
    ExpectSizes("memory", SizesOf(memory), {of_self.batch, memory.shape[1], heads.embed_dim});
    Sizes n = of_self;
    n.keys = memory.shape[1];
    const MaskNames names{"memory_mask", "memory_key_padding_mask", "memory_is_causal", true};
    LayerAttention cross(run, options, heads, n, names, n.keys, n.keys);
    ++cross.inputs.seed;  // or both attentions would drop the same cells
    cross.inputs.key = cross.inputs.value = memory;
    return cross;
  }

  bool decoder_;
  std::string input_;
  BuiltLayer<TransformerLayer> layer_;
};

}  // namespace

std::unique_ptr<Operation> MakeEncoderLayer() { return std::make_unique<Transformer>(/*decoder=*/false); }
std::unique_ptr<Operation> MakeDecoderLayer() { return std::make_unique<Transformer>(/*decoder=*/true); }

}  // namespace headlens
