// SPDX-License-Identifier: Apache-2.0
#include "headlens/problem.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <list>
#include <optional>
#include <vector>

#include "headlens/multihead.h"
#include "headlens/safetensors.h"
#include "headlens/transformer.h"
#include "options.h"

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

struct Given {
  DType dtype = DType::kF32;
  Shape shape;
  Buffer<std::byte> bytes;

  RawTensor raw() const { return {dtype, shape, bytes.data()}; }
};

using Inputs = std::map<std::string, Given, std::less<>>;

bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBF16;
}
bool IsBoolean(DType dtype) { return dtype == DType::kU8 || dtype == DType::kBool; }

/// The inputs of one run, as views; keeps what had to be converted.
class Arguments {
 public:
  explicit Arguments(const Inputs& inputs) : inputs_(inputs) {}

  const Given* Find(std::string_view name) const {
    const auto it = inputs_.find(name);
    return it == inputs_.end() ? nullptr : &it->second;
  }

  const Given& Need(std::string_view name) const {
    if (const Given* input = Find(name)) return *input;
    throw Error(ErrorCode::kShape, std::string(name) + " is missing");
  }

  const float* Floats(std::string_view name, const Given& input) {
    if (!IsFloat(input.dtype)) {
      throw Error(ErrorCode::kDtype,
                  std::string(name) + " has the type " + std::string(ToString(input.dtype)) + ", expected floats");
    }
    if (input.dtype == DType::kF32) return reinterpret_cast<const float*>(input.bytes.data());
    converted_.push_back(ToFloat(input.raw()));
    return converted_.back().data();
  }

  const std::uint8_t* Booleans(std::string_view name, const Given& input) const {
    if (!IsBoolean(input.dtype)) {
      throw Error(ErrorCode::kDtype,
                  std::string(name) + " has the type " + std::string(ToString(input.dtype)) + ", expected BOOL or U8");
    }
    return reinterpret_cast<const std::uint8_t*>(input.bytes.data());
  }

  /// Integers as 32 bits, each from 0 to `most`.
  const std::int32_t* Counts(std::string_view name, const Given& input, Index most) {
    if (input.dtype != DType::kI32 && input.dtype != DType::kI64) {
      throw Error(ErrorCode::kDtype,
                  std::string(name) + " has the type " + std::string(ToString(input.dtype)) + ", expected I32 or I64");
    }
    std::vector<std::int32_t>& counts = counts_.emplace_back(static_cast<std::size_t>(ElementCount(input.shape)));
    const std::byte* from = input.bytes.data();
    for (std::int32_t& count : counts) {
      std::int64_t value = 0;
      if (input.dtype == DType::kI32) {
        std::int32_t narrow = 0;
        std::memcpy(&narrow, from, sizeof narrow);
        value = narrow;
      } else {
        std::memcpy(&value, from, sizeof value);
      }
      from += ByteSize(input.dtype);
      if (value < 0 || value > most) {
        throw Error(ErrorCode::kValue,
                    std::string(name) + " holds " + std::to_string(value) + ", expected 0 to " + std::to_string(most));
      }
      count = static_cast<std::int32_t>(value);
    }
    return counts.data();
  }

 private:
  const Inputs& inputs_;
  std::list<Tensor> converted_;
  std::list<std::vector<std::int32_t>> counts_;
};

/// The sizes that masks are measured against.
struct Sizes {
  Index batch, heads, queries, keys;
  bool batched = true;  ///< whether the caller's tensors have a batch dimension
};

template <class T>
View<const T, 4> BroadcastMask(std::string_view name, const T* data, const Shape& shape, const Sizes& n) {
  const auto fail = [&]() -> View<const T, 4> {
    throw Error(ErrorCode::kShape,
                std::string(name) + " has shape " + ToString(shape) +
                    ", expected (queries, keys) = " + ToString({n.queries, n.keys}) +
                    ", (batch * heads, queries, keys) = " + ToString({n.batch * n.heads, n.queries, n.keys}) +
                    " or (batch, heads, queries, keys) = " + ToString({n.batch, n.heads, n.queries, n.keys}));
  };
  Shape full = shape;  // as [B, H, T, S], with 1 where it is broadcast
  if (shape.size() == 2) full.insert(full.begin(), {1, 1});
  if (shape.size() == 3) {
    const Index lead = shape[0];
    const bool by_head = lead != n.batch * n.heads && lead == n.heads;
    if (lead == n.batch * n.heads) {
      full = {n.batch, n.heads, shape[1], shape[2]};
    } else {
      full = {1, by_head ? n.heads : lead, shape[1], shape[2]};
    }
  }
  if (full.size() != 4) return fail();
  const std::array<Index, 4> wanted = {n.batch, n.heads, n.queries, n.keys};
  View<const T, 4> view{data, wanted, {}};
  Index stride = 1;
  for (std::size_t i = 4; i-- > 0;) {
    if (full[i] != wanted[i] && full[i] != 1) return fail();
    view.strides[i] = full[i] == wanted[i] && wanted[i] != 1 ? stride : 0;
    if (i == 3) view.strides[i] = full[i] == 1 && wanted[i] != 1 ? 0 : 1;
    stride *= full[i];
  }
  return view;
}

/// Reads the masks of one attention by their names ("" where there is none such).
Mask ReadMask(Arguments& args, const Sizes& n, const CommonOptions& options, bool causal, std::string_view attn_mask,
              std::string_view padding, std::string_view lengths) {
  Mask mask;
  mask.causal = causal;
  mask.causal_alignment = options.causal_alignment;
  mask.boolean_keeps = options.mask_keeps;
  if (const Given* input = args.Find(attn_mask)) {
    if (IsBoolean(input->dtype)) {
      mask.boolean = BroadcastMask(attn_mask, args.Booleans(attn_mask, *input), input->shape, n);
    } else {
      mask.additive = BroadcastMask(attn_mask, args.Floats(attn_mask, *input), input->shape, n);
    }
  }
  if (const Given* input = args.Find(padding)) {
    const Shape expected = n.batched ? Shape{n.batch, n.keys} : Shape{n.keys};
    if (input->shape != expected) {
      throw Error(ErrorCode::kShape,
                  std::string(padding) + " has shape " + ToString(input->shape) + ", expected " + ToString(expected));
    }
    mask.key_padding = {args.Booleans(padding, *input), {n.batch, n.keys}, {n.keys, 1}};
  }
  if (const Given* input = args.Find(lengths)) {
    const bool per_query = input->shape == Shape{n.batch, n.queries};
    if (!per_query && input->shape != Shape{n.batch}) {
      throw Error(ErrorCode::kShape, std::string(lengths) + " has shape " + ToString(input->shape) + ", expected " +
                                         ToString({n.batch}) + " or " + ToString({n.batch, n.queries}));
    }
    const std::int32_t* data = args.Counts(lengths, *input, n.keys);
    mask.valid_lens = {data, {n.batch, n.queries}, {per_query ? n.queries : 1, per_query ? 1 : 0}};
  }
  return mask;
}

/// The results of one attention, allocated as they are asked for. `lead` are the caller's dimensions before queries:
/// (B, H), (H), ….
class ResultSet {
 public:
  ResultSet(const CommonOptions& options, const Sizes& n, Index key_columns, Shape lead, Shape mean_lead)
      : options_(options), n_(n), columns_(key_columns), lead_(std::move(lead)), mean_lead_(std::move(mean_lead)) {}

  AttentionResults Attention(Index value_width) {
    AttentionResults r;
    const struct {
      const char* name;
      View<float, 4>* view;
    } maps[] = {{"scores", &r.scores},
                {"scaled_scores", &r.scaled_scores},
                {"capped_scores", &r.capped_scores},
                {"biased_scores", &r.biased_scores},
                {"masked_scores", &r.masked_scores},
                {"dropped_weights", &r.dropped_weights}};
    for (const auto& [name, view] : maps) {
      if (options_.Wants(name)) *view = PerHead(name, n_.queries, columns_);
    }
    const bool per_head = options_.Wants("weights") || (options_.need_weights && !options_.average_weights);
    if (per_head) r.weights = PerHead("weights", n_.queries, columns_);
    if (options_.need_weights && !per_head) {
      Shape shape = mean_lead_;
      shape.insert(shape.end(), {n_.queries, columns_});
      r.mean_weights = DenseView(Make("weights", shape), std::array<Index, 3>{n_.batch, n_.queries, columns_});
    }
    if (options_.Wants("lse")) {
      Shape shape = lead_;
      shape.push_back(n_.queries);
      r.lse = DenseView(Make("lse", shape), std::array<Index, 3>{n_.batch, n_.heads, n_.queries});
    }
    if (options_.Wants("head_outputs")) r.output = PerHead("head_outputs", n_.queries, value_width);
    return r;
  }

  View<float, 4> PerHead(const char* name, Index rows, Index columns) {
    Shape shape = lead_;
    shape.insert(shape.end(), {rows, columns});
    return DenseView(Make(name, shape), std::array<Index, 4>{n_.batch, n_.heads, rows, columns});
  }

  View<float, 4> PerHeadIfWanted(const char* name, Index rows, Index columns) {
    return options_.Wants(name) ? PerHead(name, rows, columns) : View<float, 4>();
  }

  float* Make(const std::string& name, Shape shape) {
    return results.insert_or_assign(name, Tensor(std::move(shape))).first->second.data();
  }

  Results results;

 private:
  const CommonOptions& options_;
  Sizes n_;
  Index columns_;
  Shape lead_, mean_lead_;
};

/// [B, T, D] as the caller laid it out: batch first, step first, or without a batch.
template <class T>
View<T, 3> AsBatches(std::string_view name, T* data, const Shape& shape, bool batch_first) {
  if (shape.size() == 2) return DenseView(data, std::array<Index, 3>{1, shape[0], shape[1]});
  if (shape.size() != 3) {
    throw Error(ErrorCode::kShape,
                std::string(name) + " has shape " + ToString(shape) + ", expected 2 or 3 dimensions: " +
                    (batch_first ? "(batch, length, width)" : "(length, batch, width)") + " or (length, width)");
  }
  if (batch_first) return DenseView(data, std::array<Index, 3>{shape[0], shape[1], shape[2]});
  return {data, {shape[1], shape[0], shape[2]}, {shape[2], shape[1] * shape[2], 1}};
}

View<const float, 4> AsHeads(std::string_view name, const float* data, const Shape& shape, std::size_t rank,
                             bool heads_in_three) {
  if (shape.size() != rank || rank < 2 || rank > 4) {
    throw Error(ErrorCode::kShape, std::string(name) + " has shape " + ToString(shape) + ", expected " +
                                       (shape.size() == rank ? "2 to 4" : std::to_string(rank)) +
                                       " dimensions, as query");
  }
  const Index length = shape[rank - 2], width = shape[rank - 1];
  const Index lead = rank == 3 ? shape[0] : 1;
  const std::array<Index, 4> full = rank == 4        ? std::array<Index, 4>{shape[0], shape[1], length, width}
                                    : heads_in_three ? std::array<Index, 4>{1, lead, length, width}
                                                     : std::array<Index, 4>{lead, 1, length, width};
  return DenseView(data, full);
}

/// What query, key and value have in common when key and value may be left out.
struct Qkv {
  const Given &query, &key, &value;
  std::string_view key_name, value_name;

  explicit Qkv(const Arguments& args)
      : query(args.Need("query")),
        key(args.Find("key") ? args.Need("key") : query),
        value(args.Find("value") ? args.Need("value") : key),
        key_name(args.Find("key") ? "key" : "query"),
        value_name(args.Find("value") ? "value" : key_name) {}
};

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
