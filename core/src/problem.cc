// SPDX-License-Identifier: Apache-2.0
#include "headlens/problem.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "headlens/multihead.h"
#include "headlens/safetensors.h"
#include "headlens/transformer.h"
#include "inputs.h"
#include "options.h"
#include "results.h"

namespace headlens {
namespace {

enum class Op { kScaledDotProduct, kMultihead, kEncoderLayer, kDecoderLayer };

constexpr std::pair<std::string_view, Op> kOps[] = {
    {"scaled_dot_product_attention", Op::kScaledDotProduct},
    {"multihead_attention", Op::kMultihead},
    {"transformer_encoder_layer", Op::kEncoderLayer},
    {"transformer_decoder_layer", Op::kDecoderLayer},
};

Op FindOp(std::string_view name) {
  std::string known;
  for (const auto& [text, op] : kOps) {
    if (text == name) return op;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw Error(ErrorCode::kOption,
              "unknown operation \"" + std::string(name.substr(0, 80)) + "\", expected one of: " + known);
}

/// What a call is given, beside parameters.
std::vector<std::string_view> InputNames(Op op) {
  switch (op) {
    case Op::kEncoderLayer:
      return {"src", "src_mask", "src_key_padding_mask", "valid_lens"};
    case Op::kDecoderLayer:
      return {"tgt", "memory", "tgt_mask", "tgt_key_padding_mask", "memory_mask", "memory_key_padding_mask"};
    default:
      return {"query", "key", "value", "attn_mask", "key_padding_mask", "valid_lens"};
  }
}

std::vector<std::string> ParameterNames(Op op) {
  static constexpr const char* kAttention[] = {"in_proj_weight", "q_proj_weight",   "k_proj_weight",
                                               "v_proj_weight",  "in_proj_bias",    "bias_k",
                                               "bias_v",         "out_proj.weight", "out_proj.bias"};
  std::vector<std::string> names;
  const auto add_attention = [&](const std::string& prefix) {
    for (const char* name : kAttention) names.push_back(prefix + name);
  };
  if (op == Op::kMultihead) add_attention("");
  if (op == Op::kEncoderLayer || op == Op::kDecoderLayer) {
    add_attention("self_attn.");
    std::vector<std::string> modules = {"linear1", "linear2", "norm1", "norm2"};
    if (op == Op::kDecoderLayer) {
      add_attention("multihead_attn.");
      modules.push_back("norm3");
    }
    for (const std::string& module : modules) {
      names.push_back(module + ".weight");
      names.push_back(module + ".bias");
    }
  }
  return names;
}
Results RunScaledDotProduct(Arguments& args, OptionReader& reader) {
  CommonOptions options = ReadCommon(reader, /*mask_keeps=*/true, /*need_weights=*/false);
  const bool enable_gqa = reader.Flag("enable_gqa", false), causal = reader.Flag("is_causal", false);
  // Per-head, unless the average was asked for: PyTorch's function has no heads to average over.
  options.average_weights = reader.Flag("average_attn_weights", false);
  reader.RejectUnknown();

  const Qkv in(args);
  const std::size_t rank = in.query.shape.size();
  AttentionProblem problem;
  problem.q = AsHeads("query", args.Floats("query", in.query), in.query.shape, rank, enable_gqa);
  problem.k = AsHeads(in.key_name, args.Floats(in.key_name, in.key), in.key.shape, rank, enable_gqa);
  problem.v = AsHeads(in.value_name, args.Floats(in.value_name, in.value), in.value.shape, rank, enable_gqa);
  if (!enable_gqa && problem.q.shape[1] != problem.k.shape[1]) {
    throw Error(ErrorCode::kShape, "query " + ToString(in.query.shape) + " and key " + ToString(in.key.shape) +
                                       " differ in heads; enable_gqa allows fewer key/value heads");
  }
  const Sizes n{problem.q.shape[0], problem.q.shape[1], problem.q.shape[2], problem.k.shape[2]};
  problem.scale = options.scale.value_or(DefaultScale(std::max<Index>(problem.q.shape[3], 1)));
  problem.softcap = options.softcap;
  problem.softcap_order = options.softcap_order;
  problem.gqa_order = options.gqa_order;
  problem.fully_masked = options.fully_masked;
  problem.dropout_p = options.dropout_p;
  problem.seed = options.seed;
  problem.mask = ReadMask(args, n, options, causal, "attn_mask", "key_padding_mask", "valid_lens");

  const Shape lead(in.query.shape.begin(), in.query.shape.end() - 2);
  ResultSet set(options, n, n.keys, lead, rank == 4 ? Shape{n.batch} : lead);
  AttentionResults results = set.Attention(problem.v.shape[3]);
  if (!results.output) results.output = set.PerHead("output", n.queries, problem.v.shape[3]);
  options.backend->Attention(problem, results);
  if (const auto it = set.results.find("head_outputs"); it != set.results.end())
    set.results.insert_or_assign("output", it->second.Clone());
  return std::move(set.results);
}

MultiheadInputs InputsFor(const CommonOptions& options) {
  MultiheadInputs in;
  in.fully_masked = options.fully_masked;
  in.scale = options.scale;
  in.softcap = options.softcap;
  in.softcap_order = options.softcap_order;
  in.dropout_p = options.dropout_p;
  in.seed = options.seed;
  return in;
}

MultiheadResults ResultsFor(ResultSet& set, const MultiheadConfig& config, const Sizes& n) {
  const Index head_dim = config.embed_dim / config.num_heads, keys = n.keys + config.appended_keys();
  MultiheadResults r;
  r.attention = set.Attention(head_dim);
  r.q = set.PerHeadIfWanted("q", n.queries, head_dim);
  r.k = set.PerHeadIfWanted("k", keys, head_dim);
  r.v = set.PerHeadIfWanted("v", keys, head_dim);
  r.contributions = set.PerHeadIfWanted("head_contributions", n.queries, config.embed_dim);
  return r;
}

ResultSet MakeResultSet(const CommonOptions& options, const Sizes& n, Index columns) {
  return n.batched ? ResultSet(options, n, columns, {n.batch, n.heads}, {n.batch})
                   : ResultSet(options, n, columns, {n.heads}, {});
}

}  // namespace

struct Problem::State {
  Op op = Op::kScaledDotProduct;
  nlohmann::json options;
  Inputs inputs, parameters;
  std::vector<std::string> parameter_names;

  // The layer as it was last built, and from what.
  std::optional<MultiheadAttention> attention;
  std::optional<TransformerLayer> layer;
  nlohmann::json built_from;
  bool parameters_changed = true;

  StateDict parameter_lookup() const {
    return [this](std::string_view name) -> std::optional<RawTensor> {
      const auto it = parameters.find(name);
      return it == parameters.end() ? std::nullopt : std::optional(it->second.raw());
    };
  }

  /// Whether the layer must be built anew for these options.
  bool Outdated(const nlohmann::json& merged) {
    nlohmann::json key = nlohmann::json::object();
    for (const char* name : {"embed_dim", "num_heads", "kdim", "vdim", "bias", "add_bias_kv", "add_zero_attn",
                             "dim_feedforward", "activation", "layer_norm_eps", "norm_first", "backend"}) {
      if (merged.contains(name)) key[name] = merged[name];
    }
    const bool outdated = parameters_changed || key != built_from;
    built_from = std::move(key);
    return outdated;
  }

  Results RunMultihead(Arguments& args, const nlohmann::json& merged) {
    OptionReader reader(merged);
    const MultiheadConfig config = ReadMultihead(reader);
    const CommonOptions options = ReadCommon(reader, /*mask_keeps=*/false, /*need_weights=*/true);
    const bool batch_first = reader.Flag("batch_first", false), causal = reader.Flag("is_causal", false);
    reader.RejectUnknown();
    if (Outdated(merged) || !attention) {
      parameters_changed = true;  // stays so when the constructor throws
      attention.emplace(config, parameter_lookup(), *options.backend);
      parameters_changed = false;
    }
    const Qkv given(args);
    MultiheadInputs in = InputsFor(options);
    in.query = AsBatches("query", args.Floats("query", given.query), given.query.shape, batch_first);
    in.key = AsBatches(given.key_name, args.Floats(given.key_name, given.key), given.key.shape, batch_first);
    in.value = AsBatches(given.value_name, args.Floats(given.value_name, given.value), given.value.shape, batch_first);
    const Sizes n{in.query.shape[0], config.num_heads, in.query.shape[1], in.key.shape[1],
                  given.query.shape.size() == 3};
    in.mask = ReadMask(args, n, options, causal, "attn_mask", "key_padding_mask", "valid_lens");
    ResultSet set = MakeResultSet(options, n, n.keys + config.appended_keys());
    MultiheadResults results = ResultsFor(set, config, n);
    results.output = AsBatches("output", set.Make("output", given.query.shape), given.query.shape, batch_first);
    attention->Forward(in, results);
    return std::move(set.results);
  }

  Results RunLayer(Arguments& args, const nlohmann::json& merged) {
    const bool decoder = op == Op::kDecoderLayer;
    OptionReader reader(merged);
    const TransformerLayerConfig config = ReadTransformerLayer(reader, decoder);
    const CommonOptions options = ReadCommon(reader, /*mask_keeps=*/false, /*need_weights=*/false);
    const bool batch_first = reader.Flag("batch_first", false);
    const bool causal = reader.Flag(decoder ? "tgt_is_causal" : "is_causal", false);
    const bool memory_causal = decoder && reader.Flag("memory_is_causal", false);
    reader.RejectUnknown();
    if (Outdated(merged) || !layer) {
      parameters_changed = true;
      layer.emplace(config, parameter_lookup(), *options.backend);
      parameters_changed = false;
    }
    const std::string name = decoder ? "tgt" : "src";
    const Given& input = args.Need(name);
    const View<const float, 3> x = AsBatches(name, args.Floats(name, input), input.shape, batch_first);
    const Sizes n{x.shape[0], config.attention.num_heads, x.shape[1], x.shape[1], input.shape.size() == 3};
    MultiheadInputs self = InputsFor(options), cross = InputsFor(options);
    self.mask = ReadMask(args, n, options, causal, name + "_mask", name + "_key_padding_mask", "valid_lens");
    ResultSet set = MakeResultSet(options, n, n.keys + config.attention.appended_keys());
    MultiheadResults results = ResultsFor(set, config.attention, n), memory_results;
    results.output = AsBatches("output", set.Make("output", input.shape), input.shape, batch_first);
    if (!decoder) {
      layer->Forward(x, self, cross, results, memory_results);
      return std::move(set.results);
    }
    const Given& memory = args.Need("memory");
    cross.key = cross.value = AsBatches("memory", args.Floats("memory", memory), memory.shape, batch_first);
    const Sizes m{n.batch, n.heads, n.queries, cross.key.shape[1], n.batched};
    cross.mask = ReadMask(args, m, options, memory_causal, "memory_mask", "memory_key_padding_mask", "");
    // Of the attention over the memory only the weights are handed out, as "memory_weights".
    CommonOptions weights_only = options;
    weights_only.stages.clear();
    ResultSet memory_set = MakeResultSet(weights_only, m, m.keys + config.attention.appended_keys());
    memory_results.attention = memory_set.Attention(0);
    layer->Forward(x, self, cross, results, memory_results);
    for (auto& [key, tensor] : memory_set.results) set.results.insert_or_assign("memory_" + key, std::move(tensor));
    return std::move(set.results);
  }
};

Problem::Problem(std::string_view op, std::string_view options) : state_(std::make_unique<State>()) {
  state_->op = FindOp(op);
  state_->options = ParseObject(options, "options");
  state_->parameter_names = ParameterNames(state_->op);
}

Problem::~Problem() = default;
Problem::Problem(Problem&&) noexcept = default;
Problem& Problem::operator=(Problem&&) noexcept = default;

std::span<std::byte> Problem::Input(std::string_view name, DType dtype, const Shape& shape) {
  const std::vector<std::string_view> inputs = InputNames(state_->op);
  const auto& parameters = state_->parameter_names;
  const bool is_parameter = std::find(parameters.begin(), parameters.end(), name) != parameters.end();
  if (!is_parameter && std::find(inputs.begin(), inputs.end(), name) == inputs.end()) {
    std::string known;
    for (const std::string_view input : inputs) known += (known.empty() ? "" : ", ") + std::string(input);
    if (!parameters.empty()) known += ", and parameters such as " + parameters.front();
    throw Error(ErrorCode::kOption, "unknown tensor \"" + std::string(name.substr(0, 80)) + "\"; known here: " + known);
  }
  Given input{dtype, shape, Buffer<std::byte>(ElementCount(shape) * static_cast<Index>(ByteSize(dtype)))};
  const std::span<std::byte> bytes(input.bytes.data(), static_cast<std::size_t>(input.bytes.size()));
  (is_parameter ? state_->parameters : state_->inputs).insert_or_assign(std::string(name), std::move(input));
  if (is_parameter) state_->parameters_changed = true;
  return bytes;
}

Results Problem::Run(std::string_view options) {
  const Inputs inputs = std::exchange(state_->inputs, {});
  nlohmann::json merged = state_->options;
  merged.update(ParseObject(options, "options"));
  Arguments args(inputs);
  if (state_->op == Op::kMultihead) return state_->RunMultihead(args, merged);
  if (state_->op != Op::kScaledDotProduct) return state_->RunLayer(args, merged);
  OptionReader reader(std::move(merged));
  return RunScaledDotProduct(args, reader);
}

Index Problem::ParameterCount() const {
  OptionReader reader(state_->options);
  if (state_->op == Op::kScaledDotProduct) return 0;
  if (state_->op == Op::kMultihead) return MultiheadAttention::ParameterCount(ReadMultihead(reader));
  const TransformerLayerConfig config = ReadTransformerLayer(reader, state_->op == Op::kDecoderLayer);
  const Index blocks = config.cross_attention ? 2 : 1, d = config.attention.embed_dim,
              bias = config.attention.bias ? 1 : 0;
  return blocks * MultiheadAttention::ParameterCount(config.attention) + 2 * d * config.dim_feedforward +
         bias * (config.dim_feedforward + d) + (blocks + 1) * d * (1 + bias);
}

Problem ReadCase(std::span<const std::byte> file) {
  const Safetensors tensors(file);
  const auto& metadata = tensors.metadata();
  const auto text = [&](std::string_view key) {
    const auto it = metadata.find(key);
    if (it == metadata.end())
      throw Error(ErrorCode::kFormat, "the case has no \"" + std::string(key) + "\" in its __metadata__");
    return it->second;
  };
  Problem problem(text("op"), metadata.contains("options") ? text("options") : "{}");
  for (const auto& [name, tensor] : tensors.tensors()) {
    if (name.starts_with("expected.")) continue;
    const std::span<std::byte> bytes = problem.Input(name, tensor.dtype, tensor.shape);
    if (!bytes.empty()) std::memcpy(bytes.data(), tensor.data, bytes.size());
  }
  return problem;
}

}  // namespace headlens
