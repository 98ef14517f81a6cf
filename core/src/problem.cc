// SPDX-License-Identifier: Apache-2.0
#include "headlens/problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "checks.h"
#include "headlens/multihead.h"
#include "headlens/positions.h"
#include "headlens/safetensors.h"
#include "headlens/transformer.h"
#include "inputs.h"
#include "masks/mask_reader.h"
#include "masks/mask_set.h"
#include "normalizers/registry.h"
#include "options.h"
#include "positions/bias_table.h"
#include "results.h"

namespace headlens {
namespace {

enum class Op { kScaledDotProduct, kMultihead, kEncoderLayer, kDecoderLayer, kEmbedding };

constexpr std::pair<std::string_view, Op> kOps[] = {
    {"scaled_dot_product_attention", Op::kScaledDotProduct},
    {"multihead_attention", Op::kMultihead},
    {"transformer_encoder_layer", Op::kEncoderLayer},
    {"transformer_decoder_layer", Op::kDecoderLayer},
    {"embedding", Op::kEmbedding},
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
  std::vector<std::string_view> names;
  switch (op) {
    case Op::kEmbedding:
      return {"ids"};
    case Op::kEncoderLayer:
      names = {"src", "src_mask", "src_key_padding_mask"};
      break;
    case Op::kDecoderLayer:
      names = {"tgt", "memory", "tgt_mask", "tgt_key_padding_mask", "memory_mask", "memory_key_padding_mask"};
      break;
    default:
      names = {"query", "key", "value", "attn_mask", "key_padding_mask"};
  }
  for (const MaskRule* rule : MaskRules())
    for (const std::string_view tensor : rule->tensors)
      if (!tensor.empty()) names.push_back(tensor);
  for (const BiasRule* rule : BiasRules()) names.push_back(rule->tensor);
  names.insert(names.end(), {"sinks", "head_mask", "past_key", "past_value"});
  return names;
}

std::vector<std::string> ParameterNames(Op op) {
  static constexpr const char* kAttention[] = {"in_proj_weight", "q_proj_weight",   "k_proj_weight",
                                               "v_proj_weight",  "in_proj_bias",    "bias_k",
                                               "bias_v",         "out_proj.weight", "out_proj.bias"};
  std::vector<std::string> names;
  const auto add_attention = [&](const std::string& prefix) {
    for (const char* name : kAttention) names.push_back(prefix + name);
  };
  if (op == Op::kEmbedding) names = {"weight", "position_embeddings"};
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

/// Everything about an attention but its q, k and v. `n.keys` counts past keys.
AttentionSettings ReadSettings(OptionReader& reader, Arguments& args, const CommonOptions& options, const Sizes& n,
                               const MaskNames& names) {
  AttentionSettings settings;
  settings.softcap = options.softcap;
  settings.softcap_order = options.softcap_order;
  settings.gqa_order = options.gqa_order;
  settings.fully_masked = options.fully_masked;
  settings.masked_nan = options.masked_nan;
  settings.dropout_p = options.dropout_p;
  settings.seed = options.seed;
  settings.mask = ReadMask(reader, args, options, n, names);
  settings.normalizer = ReadNormalizer(reader, args, n.heads);
  if (names.over_memory) return settings;
  settings.position_bias = ReadPositionBias({reader, args, n.heads});
  settings.head_mask = ReadHeadMask(args, n);
  return settings;
}

/// The cache of a run: the caller's, one made of `past_key` and `past_value`, or none.
class PastKeys {
 public:
  /// `as_heads` reads a tensor as [B, G, P, d]; the keys of this run are [B, G, S, d], its values `value_width` wide.
  template <class F>
  PastKeys(Arguments& args, const CommonOptions& options, KvCache* given, const F& as_heads,
           const std::array<Index, 4>& key_sizes, Index value_width)
      : cache_(given) {
    const Given *key = args.Find("past_key"), *value = args.Find("past_value");
    if (!key && !value && !options.Wants("present_key") && !options.Wants("present_value")) return;
    if (given && (key || value)) {
      throw Error(ErrorCode::kOption, "past_key and past_value stand in the cache already: leave one out");
    }
    if (!given) cache_ = &own_.emplace();
    if (!key && !value) return;
    const View<const float, 4> k = as_heads("past_key", args.Need("past_key")),
                               v = as_heads("past_value", args.Need("past_value"));
    const auto& [batch, heads, length, width] = key_sizes;
    ExpectSizes("past_key", SizesOf(k), {batch, heads, k.shape[2], width});
    ExpectSizes("past_value", SizesOf(v), {batch, heads, k.shape[2], value_width});
    cache_->Append(k, v);
  }

  KvCache* cache() const { return cache_; }
  /// Keys that stand before those of this run.
  Index count() const { return cache_ ? cache_->reachable() : 0; }

  void Store(ResultSet& set) const {
    set.CopyIfWanted("present_key", cache_ ? cache_->k() : View<const float, 4>());
    set.CopyIfWanted("present_value", cache_ ? cache_->v() : View<const float, 4>());
  }

 private:
  std::optional<KvCache> own_;
  KvCache* cache_;
};

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

Results RunScaledDotProduct(Arguments& args, OptionReader& reader, KvCache* given_cache) {
  CommonOptions options = ReadCommon(reader, /*mask_keeps=*/true, /*need_weights=*/false);
  const bool enable_gqa = reader.Flag("enable_gqa", false);
  // Per-head, unless the average was asked for: PyTorch's function has no heads to average over.
  options.average_weights = reader.Flag("average_attn_weights", false);
  if (options.Wants("head_contributions")) {
    throw Error(ErrorCode::kOption,
                "stages names head_contributions, but only layers have an output projection to contribute to");
  }

  const Qkv in(args);
  const std::size_t rank = in.query.shape.size();
  const auto as_heads = [&](std::string_view name, const Given& input) {
    return AsHeads(name, args.Floats(name, input), input.shape, rank, enable_gqa);
  };
  AttentionProblem problem;
  problem.q = as_heads("query", in.query);
  problem.k = as_heads(in.key_name, in.key);
  problem.v = as_heads(in.value_name, in.value);
  if (!enable_gqa) ExpectSameHeads(in, problem);
  const PastKeys past(args, options, given_cache, as_heads, problem.k.shape, problem.v.shape[3]);
  const Sizes n{problem.q.shape[0], problem.q.shape[1], problem.q.shape[2], past.count() + problem.k.shape[2]};
  static_cast<AttentionSettings&>(problem) = ReadSettings(reader, args, options, n, {});
  problem.scale = options.scale.value_or(DefaultScale(std::max<Index>(problem.q.shape[3], 1)));
  reader.RejectUnknown();

  Tensor q, k;
  View<const float, 4> own_k = problem.k;
  const View<const float, 4> own_v = problem.v;
  if (options.rotary || past.cache()) {
    const View<float, 4> turned_q = Turnable(q, problem.q), turned_k = Turnable(k, problem.k);
    problem.q = turned_q;
    problem.k = own_k = turned_k;
    Place(*options.backend, options.rotary, turned_q, turned_k, past.cache(), problem);
  }
  const Shape lead(in.query.shape.begin(), in.query.shape.end() - 2);
  ResultSet set(options, n, n.keys, lead, rank == 4 ? Shape{n.batch} : lead);
  AttentionResults results = set.Attention(problem.v.shape[3]);
  if (!results.output) results.output = set.PerHead("output", n.queries, problem.v.shape[3]);
  options.backend->Attention(problem, results);
  past.Store(set);
  set.CopyIfWanted("q", problem.q);
  set.CopyIfWanted("k", own_k);
  set.CopyIfWanted("v", own_v);
  if (const auto it = set.results.find("head_outputs"); it != set.results.end())
    set.results.insert_or_assign("output", it->second.Clone());
  return std::move(set.results);
}

/// What a layer's attention takes from the options of a run.
MultiheadInputs InputsFor(const AttentionSettings& settings, const CommonOptions& options) {
  MultiheadInputs in;
  static_cast<AttentionSettings&>(in) = settings;
  in.scale = options.scale;
  return in;
}

MultiheadResults ResultsFor(ResultSet& set, const CommonOptions& options, const MultiheadConfig& config, Index queries,
                            Index keys) {
  const Index head_dim = config.head_dim(), kv_heads = config.kv_heads();
  MultiheadResults r;
  r.attention = set.Attention(head_dim);
  const auto wanted = [&](const char* name, Index heads, Index rows, Index columns) {
    return options.Wants(name) ? set.PerHead(name, heads, rows, columns) : View<float, 4>();
  };
  r.q = wanted("q", config.num_heads, queries, head_dim);
  r.k = wanted("k", kv_heads, keys, head_dim);
  r.v = wanted("v", kv_heads, keys, head_dim);
  r.contributions = wanted("head_contributions", config.num_heads, queries, config.embed_dim);
  return r;
}

ResultSet MakeResultSet(const CommonOptions& options, const Sizes& n, Index columns) {
  return n.batched ? ResultSet(options, n, columns, {n.batch, n.heads}, {n.batch})
                   : ResultSet(options, n, columns, {n.heads}, {});
}

/// `past_key` and `past_value` of a layer: [B, G, P, d], without B when its input has none.
auto LayerHeads(Arguments& args, bool batched) {
  return [&args, batched](std::string_view name, const Given& input) {
    return AsHeads(name, args.Floats(name, input), input.shape, batched ? 4 : 3, /*heads_in_three=*/true);
  };
}

struct EmbeddingConfig {
  enum class Positions { kNone, kSinusoidal, kLearned };
  Positions positions;
  Index offset;
  bool scaled;
};

EmbeddingConfig ReadEmbedding(OptionReader& reader) {
  using Positions = EmbeddingConfig::Positions;
  EmbeddingConfig config;
  config.positions = reader.Choice(
      "positions", Positions::kNone,
      {{"none", Positions::kNone}, {"sinusoidal", Positions::kSinusoidal}, {"learned", Positions::kLearned}});
  config.offset = reader.Count("position_offset", 0, 0);
  config.scaled = reader.Flag("scale_embeddings", false);
  FindBackend(reader.Text("backend", "simd"));  // a lookup is the same on all
  reader.RejectUnknown();
  return config;
}

/// A parameter of two dimensions, whatever their sizes.
Tensor Matrix(const Inputs& parameters, const char* name) {
  const auto it = parameters.find(name);
  if (it == parameters.end()) throw Error(ErrorCode::kShape, std::string("parameter ") + name + " is missing");
  if (it->second.shape.size() != 2) {
    throw Error(ErrorCode::kShape,
                std::string(name) + " has shape " + ToString(it->second.shape) + ", expected 2 dimensions");
  }
  return ToFloat(it->second.raw());
}

/// Rows of positions for `length` tokens.
Tensor PositionRows(const EmbeddingConfig& config, const Inputs& parameters, Index length, Index width) {
  if (config.positions == EmbeddingConfig::Positions::kSinusoidal)
    return SinusoidalPositions(length, width, config.offset);
  const Tensor all = Matrix(parameters, "position_embeddings");
  if (all.shape()[1] != width || config.offset > all.shape()[0] - length) {
    throw Error(ErrorCode::kShape, "position_embeddings has shape " + ToString(all.shape()) + ", expected at least (" +
                                       std::to_string(length) + " positions from " + std::to_string(config.offset) +
                                       " on, a width of " + std::to_string(width) + ")");
  }
  return Tensor({length, width}, {all.view<2>().at(config.offset), static_cast<std::size_t>(length * width)});
}

/// weight[ids] (· √D) (+ positions) (Vaswani et al. 2017, §3.4 and §3.5).
Results RunEmbedding(Arguments& args, const Inputs& parameters, OptionReader& reader) {
  const EmbeddingConfig config = ReadEmbedding(reader);
  const Tensor weight = Matrix(parameters, "weight");
  const Given& ids = args.Need("ids");
  if (ids.shape.empty() || ids.shape.size() > 2) {
    throw Error(ErrorCode::kShape, "ids has shape " + ToString(ids.shape) + ", expected (length) or (batch, length)");
  }
  const Index width = weight.shape()[1], length = ids.shape.back();
  const std::int32_t* id = args.Integers("ids", ids, 0, weight.shape()[0] - 1);
  Shape shape = ids.shape;
  shape.push_back(width);
  Tensor output(shape);
  const auto factor = config.scaled ? static_cast<float>(std::sqrt(static_cast<double>(width))) : 1.0f;
  const bool placed = config.positions != EmbeddingConfig::Positions::kNone;
  const Tensor positions = placed ? PositionRows(config, parameters, length, width) : Tensor();
  for (Index row = 0; row < ElementCount(ids.shape); ++row) {
    const float* from = weight.view<2>().at(id[row]);
    const float* add = placed ? positions.view<2>().at(row % length) : nullptr;
    for (Index i = 0; i < width; ++i) output.data()[row * width + i] = from[i] * factor + (add ? add[i] : 0.0f);
  }
  Results results;
  results.insert_or_assign("output", std::move(output));
  return results;
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
    for (const char* name :
         {"embed_dim", "num_heads", "num_kv_heads", "kdim", "vdim", "bias", "add_bias_kv", "add_zero_attn",
          "dim_feedforward", "activation", "norm", "layer_norm_eps", "norm_first", "backend"}) {
      if (merged.contains(name)) key[name] = merged[name];
    }
    const bool outdated = parameters_changed || key != built_from;
    built_from = std::move(key);
    return outdated;
  }

  Results RunMultihead(Arguments& args, const nlohmann::json& merged, KvCache* given_cache) {
    OptionReader reader(merged);
    const MultiheadConfig config = ReadMultihead(reader);
    const CommonOptions options = ReadCommon(reader, /*mask_keeps=*/false, /*need_weights=*/true);
    const bool batch_first = reader.Flag("batch_first", false);
    const Qkv given(args);
    const auto as_batches = [&](std::string_view name, const Given& input) {
      return AsBatches(name, args.Floats(name, input), input.shape, batch_first);
    };
    const View<const float, 3> query = as_batches("query", given.query), key = as_batches(given.key_name, given.key),
                               value = as_batches(given.value_name, given.value);
    const PastKeys past(args, options, given_cache, LayerHeads(args, given.query.shape.size() == 3),
                        {query.shape[0], config.kv_heads(), key.shape[1], config.head_dim()}, config.head_dim());
    const Sizes n{query.shape[0], config.num_heads, query.shape[1], past.count() + key.shape[1],
                  given.query.shape.size() == 3};
    MultiheadInputs in = InputsFor(ReadSettings(reader, args, options, n, {}), options);
    reader.RejectUnknown();
    if (Outdated(merged) || !attention) {
      parameters_changed = true;  // stays so when the constructor throws
      attention.emplace(config, parameter_lookup(), *options.backend);
      parameters_changed = false;
    }
    in.query = query;
    in.key = key;
    in.value = value;
    in.rotary = options.rotary;
    in.cache = past.cache();
    ResultSet set = MakeResultSet(options, n, n.keys + config.appended_keys());
    MultiheadResults results = ResultsFor(set, options, config, n.queries, key.shape[1] + config.appended_keys());
    results.output = AsBatches("output", set.Make("output", given.query.shape), given.query.shape, batch_first);
    attention->Forward(in, results);
    past.Store(set);
    return std::move(set.results);
  }

  Results RunLayer(Arguments& args, const nlohmann::json& merged, KvCache* given_cache) {
    const bool decoder = op == Op::kDecoderLayer;
    OptionReader reader(merged);
    const TransformerLayerConfig config = ReadTransformerLayer(reader, decoder);
    const CommonOptions options = ReadCommon(reader, /*mask_keeps=*/false, /*need_weights=*/false, decoder);
    const bool batch_first = reader.Flag("batch_first", false);
    const std::string name = decoder ? "tgt" : "src";
    const Given& input = args.Need(name);
    const View<const float, 3> x = AsBatches(name, args.Floats(name, input), input.shape, batch_first);
    const bool batched = input.shape.size() == 3;
    const MultiheadConfig& heads = config.attention;
    ExpectSizes(name.c_str(), SizesOf(x), {x.shape[0], x.shape[1], heads.embed_dim});
    const PastKeys past(args, options, given_cache, LayerHeads(args, batched),
                        {x.shape[0], heads.kv_heads(), x.shape[1], heads.head_dim()}, heads.head_dim());
    const Sizes n{x.shape[0], config.attention.num_heads, x.shape[1], past.count() + x.shape[1],
                  input.shape.size() == 3};
    const MaskNames names{name + "_mask", name + "_key_padding_mask", decoder ? "tgt_is_causal" : "is_causal"};
    MultiheadInputs self = InputsFor(ReadSettings(reader, args, options, n, names), options), cross;
    self.rotary = options.rotary;
    self.cache = past.cache();
    ResultSet set = MakeResultSet(options, n, n.keys + config.attention.appended_keys());
    MultiheadResults results =
        ResultsFor(set, options, config.attention, n.queries, x.shape[1] + config.attention.appended_keys());
    results.output = AsBatches("output", set.Make("output", input.shape), input.shape, batch_first);

    CommonOptions of_memory = options;
    of_memory.stages = options.memory_stages;
    std::optional<ResultSet> memory_set;
    MultiheadResults memory_results;
    if (decoder) {
      const Given& memory = args.Need("memory");
      const auto keys = AsBatches("memory", args.Floats("memory", memory), memory.shape, batch_first);
      ExpectSizes("memory", SizesOf(keys), {n.batch, keys.shape[1], config.attention.key_width()});
      const Sizes m{n.batch, n.heads, n.queries, keys.shape[1], n.batched};
      const MaskNames memory_names{"memory_mask", "memory_key_padding_mask", "memory_is_causal", true};
      cross = InputsFor(ReadSettings(reader, args, options, m, memory_names), options);
      ++cross.seed;  // or both attentions would drop the same cells
      cross.key = cross.value = keys;
      const Index columns = m.keys + config.attention.appended_keys();
      memory_set.emplace(MakeResultSet(of_memory, m, columns));
      memory_results = ResultsFor(*memory_set, of_memory, config.attention, m.queries, columns);
    }
    reader.RejectUnknown();
    if (Outdated(merged) || !layer) {
      parameters_changed = true;
      layer.emplace(config, parameter_lookup(), *options.backend);
      parameters_changed = false;
    }
    layer->Forward(x, self, cross, results, memory_results);
    past.Store(set);
    if (memory_set) {
      for (auto& [key, tensor] : memory_set->results) set.results.insert_or_assign("memory_" + key, std::move(tensor));
    }
    return std::move(set.results);
  }

  Results Run(const Inputs& given, std::string_view run_options, KvCache* cache) {
    nlohmann::json merged = options;
    merged.update(ParseObject(run_options, "options"));
    Arguments args(given);
    if (op == Op::kMultihead) return RunMultihead(args, merged, cache);
    if (op == Op::kEncoderLayer || op == Op::kDecoderLayer) return RunLayer(args, merged, cache);
    OptionReader reader(std::move(merged));
    if (op == Op::kScaledDotProduct) return RunScaledDotProduct(args, reader, cache);
    if (cache) throw Error(ErrorCode::kOption, "an embedding has no keys to cache");
    return RunEmbedding(args, parameters, reader);
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

Results Problem::Run(std::string_view options, KvCache* cache) {
  const Inputs inputs = std::exchange(state_->inputs, {});
  if (!cache) return state_->Run(inputs, options, nullptr);
  const Index length = cache->length();
  try {
    return state_->Run(inputs, options, cache);
  } catch (...) {
    cache->Truncate(length);  // what failed leaves no tokens there
    throw;
  }
}

Index Problem::ParameterCount() const {
  OptionReader reader(state_->options);
  if (state_->op == Op::kEmbedding) ReadEmbedding(reader);
  if (state_->op == Op::kScaledDotProduct || state_->op == Op::kEmbedding) return 0;
  if (state_->op == Op::kMultihead) return MultiheadAttention::ParameterCount(ReadMultihead(reader));
  return TransformerLayer::ParameterCount(ReadTransformerLayer(reader, state_->op == Op::kDecoderLayer));
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
