// SPDX-License-Identifier: Apache-2.0
#include "bench/run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "bench/numbers.h"
#include "headlens/conventions.h"
#include "headlens/explanation.h"
#include "headlens/multihead.h"

namespace headlens::bench {
namespace {

Tensor Normal(const Shape& shape, std::uint32_t seed, double deviation) {
  Tensor tensor(shape);
  FillNormal(tensor.values(), seed, deviation);
  return tensor;
}

/// Allocates the memory of a result at the first call. Later calls use it again, as a program does that calls
/// repeatedly.
struct Result {
  void Provide(const Backend& backend, const Shape& shape) {
    if (there.shape() != shape) there = backend.Allocate(shape);
  }
  void Read(const Backend& backend) {
    if (there) here = backend.ReadBack(there, std::move(here))->Wait();
  }

  DeviceTensor there;
  Tensor here;
};

void ExpectBelow(std::span<const Index> rows, Index end) {
  for (const Index row : rows) {
    if (row >= 0 && row < end) continue;
    throw ValueError("a row", row, {"0 to ", end - 1});
  }
}

/// Picks these rows of the last but one dimension.
std::vector<float> RowsOf(const Tensor& tensor, std::span<const Index> rows) {
  std::vector<float> picked;
  if (tensor.size() == 0) return picked;
  const Index width = tensor.shape().back(), length = tensor.shape()[tensor.shape().size() - 2];
  ExpectBelow(rows, length);
  for (Index block = 0; block < tensor.size() / (width * length); ++block)
    for (const Index row : rows) {
      const float* from = tensor.data() + (block * length + row) * width;
      picked.insert(picked.end(), from, from + width);
    }
  return picked;
}

class ProductRun : public Run {
 public:
  ProductRun(const Row& row, const Backend& backend)
      : row_(row),
        backend_(backend),
        x_(backend.Upload(Normal({row.tokens, row.width}, 1, 1.0))),
        weights_(backend.PackLinear(
            Normal({row.out, row.width}, 2, 1.0 / std::sqrt(static_cast<double>(row.width))).view<2>(), {})) {}

  void Call() override {
    y_.Provide(backend_, {row_.tokens, row_.out});
    backend_.Linear(x_.view<2>(), *weights_, y_.there.view<2>());
    y_.Read(backend_);
  }

  Sample Look(std::span<const Index> rows) const override { return {RowsOf(y_.here, rows), {}}; }

 private:
  Row row_;
  const Backend& backend_;
  DeviceTensor x_;
  Result y_;
  std::unique_ptr<LinearWeights> weights_;
};

class LayerRun : public Run {
 public:
  LayerRun(const Row& row, const Backend& backend)
      : row_(row), backend_(backend), x_(backend.Upload(Normal({row.batch, row.tokens, row.width}, 1, 1.0))) {
    const TensorMap parameters = Parameters(row.width);
    MultiheadConfig config;
    config.embed_dim = row.width;
    config.num_heads = row.heads;
    layer_ = std::make_unique<MultiheadAttention>(config, parameters, backend);
  }

  void Call() override {
    output_.Provide(backend_, x_.shape());
    MultiheadInputs inputs;
    inputs.query = inputs.key = inputs.value = x_.view<3>();
    inputs.mask.causal = row_.causal;
    MultiheadResults results;
    results.output = output_.there.view<3>();
    if (row_.maps) {
      maps_.Provide(backend_, {row_.batch, row_.heads, row_.tokens, row_.tokens});
      results.attention.weights = maps_.there.view<4>();
    }
    layer_->Forward(inputs, results);
    output_.Read(backend_);
    maps_.Read(backend_);
  }

  Sample Look(std::span<const Index> rows) const override {
    return {RowsOf(output_.here, rows), RowsOf(maps_.here, rows)};
  }

 private:
  /// Parameters for y = x W + b, where each W has its own seed. PyTorch stores Wᵀ.
  static TensorMap Parameters(Index d) {
    const double deviation = 1.0 / std::sqrt(static_cast<double>(d));
    TensorMap parameters;
    Tensor &in = parameters["in_proj_weight"] = Tensor({3 * d, d}),
           &bias = parameters["in_proj_bias"] = Tensor({3 * d}), &out = parameters["out_proj.weight"] = Tensor({d, d});
    for (Index part = 0; part < 4; ++part) {
      const Tensor w = Normal({d, d}, static_cast<std::uint32_t>(2 + part), deviation);
      float* to = part < 3 ? in.data() + part * d * d : out.data();
      for (Index i = 0; i < d; ++i)
        for (Index j = 0; j < d; ++j) to[j * d + i] = w.data()[i * d + j];
      if (part == 3) continue;
      FillNormal({bias.data() + part * d, static_cast<std::size_t>(d)}, static_cast<std::uint32_t>(6 + part), 0.1);
    }
    parameters["out_proj.bias"] = Normal({d}, 9, 0.1);
    return parameters;
  }

  Row row_;
  const Backend& backend_;
  DeviceTensor x_;
  Result output_, maps_;
  std::unique_ptr<MultiheadAttention> layer_;
};

/// Keeps the upper half of each float.
TakenTensor CutToBf16(const Tensor& tensor) {
  const auto halves = std::make_shared<std::vector<std::uint16_t>>();
  for (const float value : tensor.values())
    halves->push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
  return {RawTensor{DType::kBF16, tensor.shape(), reinterpret_cast<const std::byte*>(halves->data())}, halves};
}

class CoreRun : public Run {
 public:
  CoreRun(const Row& row, const Backend& backend)
      : row_(row),
        backend_(backend),
        q_(backend.Upload(Normal({row.batch, row.heads, row.queries, row.head_dim}, 11, 1.0))),
        k_(row, backend, 12),
        v_(row, backend, 13) {}

  void Call() override {
    output_.Provide(backend_, q_.shape());
    AttentionProblem problem;
    problem.q = q_.view<4>();
    problem.k = k_.view;
    problem.v = v_.view;
    problem.scale = DefaultScale(row_.head_dim);
    if (!row_.conventions.empty()) Choose(FindConventions(row_.conventions), problem);
    problem.mask.causal = row_.causal;
    AttentionResults results;
    results.output = output_.there.view<4>();
    if (row_.maps) {
      maps_.Provide(backend_, {row_.batch, row_.heads, row_.queries, row_.keys});
      results.weights = maps_.there.view<4>();
    }
    backend_.Attention(problem, results);
    output_.Read(backend_);
    maps_.Read(backend_);
  }

  Sample Look(std::span<const Index> rows) const override {
    return {RowsOf(output_.here, rows), RowsOf(maps_.here, rows)};
  }

 private:
  /// Keys or values in the type that the row asks for.
  struct Given {
    Given(const Row& row, const Backend& backend, std::uint32_t seed) {
      Tensor normal = Normal({row.batch, row.kv_heads, row.keys, row.head_dim}, seed, 1.0);
      if (row.keys_and_values == DType::kF32) {
        floats = backend.Upload(std::move(normal));
        view = floats.view<4>();
      } else {
        halves = CutToBf16(normal);
        const KeyValueView dense = normal.view<4>();
        view = {halves.dtype, halves.data, dense.shape, dense.strides};
      }
    }
    DeviceTensor floats;
    TakenTensor halves{RawTensor{}};
    KeyValueView view;
  };

  Row row_;
  const Backend& backend_;
  DeviceTensor q_;
  Given k_, v_;
  Result output_, maps_;
};

/// Random parameters. The scales of norms are 1, and all other numbers are small.
TakenTensor RandomParameter(const std::string& name, const Shape& shape, DType type) {
  const auto tensor = std::make_shared<Tensor>(shape);
  const bool is_scale =
      (name.find("ln_") != name.npos || name.find("LayerNorm") != name.npos) && name.ends_with(".weight");
  if (is_scale) {
    for (float& value : tensor->values()) value = 1.0f;
  } else {
    FillUniform(tensor->values(), SeedOf(name), 0.04f);
  }
  if (type == DType::kBF16) return CutToBf16(*tensor);
  return {RawOf(*tensor), tensor};
}

Model MakeModel(const ModelSpec& spec, const Backend& backend, LoadFolder load) {
  if (!spec.folder.empty()) return load(spec.folder, backend);
  const auto& parameters = spec.parameters;
  const StateDict state(
      [&](std::string_view name) -> std::optional<TakenTensor> {
        const auto it = parameters.find(std::string(name));
        if (it == parameters.end()) return std::nullopt;
        return RandomParameter(it->first, it->second, spec.weights);
      },
      [&parameters](std::string_view name) { return parameters.contains(std::string(name)); });
  return Model(spec.config, state, backend);
}

/// Token ids that are spread over the vocabulary.
std::vector<std::int32_t> Ids(const Row& row) {
  std::vector<std::int32_t> ids;
  for (Index i = 0; i < row.tokens; ++i) ids.push_back(static_cast<std::int32_t>(i * 7919 % row.model.vocabulary));
  return ids;
}

class MapRun : public Run {
 public:
  MapRun(const Row& row, const Backend& backend, LoadFolder load)
      : row_(row), backend_(backend), seen_(MakeModel(row.model, backend, load).Attend(Ids(row))) {}

  void Call() override {
    if (row_.pool > 0) {
      map_.Provide(backend_, {row_.pool, row_.pool});
      seen_.PooledMap(0, 0, {}, PoolKind::kMean, map_.there.view<2>());
    } else {
      map_.Provide(backend_, {row_.rows, row_.tokens});
      seen_.Map(0, 0, {0, row_.rows}, map_.there.view<2>());
    }
    map_.Read(backend_);
  }

  Sample Look(std::span<const Index> rows) const override { return {{}, RowsOf(map_.here, rows)}; }

 private:
  Row row_;
  const Backend& backend_;
  ModelAttention seen_;
  Result map_;
};

class ModelRun : public Run {
 public:
  ModelRun(const Row& row, const Backend& backend, LoadFolder load)
      : row_(row),
        ids_(Ids(row)),
        model_(MakeModel(row.model, backend, load)),
        maps_(static_cast<std::size_t>(row.model.layers * row.model.heads)) {}

  void Call() override {
    const ModelAttention seen = model_.Attend(ids_);
    for (std::size_t i = 0; i < maps_.size(); ++i) {
      const auto map = static_cast<Index>(i), heads = row_.model.heads;
      maps_[i].Provide(model_.backend(), {row_.tokens, row_.tokens});
      seen.Map(map / heads, map % heads, {}, maps_[i].there.view<2>());
    }
    for (Result& map : maps_) map.Read(model_.backend());
  }

  Sample Look(std::span<const Index> rows) const override { return {{}, RowsOf(maps_.back().here, rows)}; }

 private:
  Row row_;
  std::vector<std::int32_t> ids_;
  Model model_;
  std::vector<Result> maps_;
};

class DecodeRun : public Run {
 public:
  DecodeRun(const Row& row, const Backend& backend, LoadFolder load)
      : ids_(Ids(row)), model_(MakeModel(row.model, backend, load)) {}

  void Call() override {
    Decoding decoding = model_.StartDecoding();
    for (const std::int32_t& id : ids_) {
      decoding.Step({&id, 1});
      logits_ = decoding.Logits(0, 1);
    }
  }

  Sample Look(std::span<const Index> rows) const override {
    ExpectBelow(rows, logits_.size());
    Sample sample;
    for (const Index row : rows) sample.output.push_back(logits_.data()[row]);
    return sample;
  }

 private:
  std::vector<std::int32_t> ids_;
  Model model_;
  Tensor logits_;
};

/// A model's run with everything that explanations need.
ModelAttention AttendWithParts(const Model& model, std::span<const std::int32_t> ids) {
  ModelInput input;
  input.ids = ids;
  AttendOptions options;
  options.keep_parts = true;
  return model.Attend(input, options);
}

class ExplainRun : public Run {
 public:
  ExplainRun(const Row& row, const Backend& backend, LoadFolder load)
      : row_(row), seen_(AttendWithParts(MakeModel(row.model, backend, load), Ids(row))) {}

  /// The head's last query looks at the first key, or predicts ten tokens.
  void Call() override {
    const Index layer = row_.model.layers - 1, head = row_.model.heads / 2, last = row_.tokens - 1;
    if (row_.question == "cell") {
      terms_ = ExplainCell(seen_, {layer, head, last, 0}).terms;
    } else if (row_.question == "row") {
      terms_ = ExplainRow(seen_, layer, head, last).by_key;
    } else if (row_.question == "output") {
      terms_ = ExplainOutput(seen_, layer, head, last).terms;
    } else if (row_.question == "logits") {
      static constexpr std::array<std::int32_t, 10> kTokens = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
      terms_ = Contributions(seen_, last, kTokens).terms;
    } else {
      SumsOf(SourcesOf(seen_, layer, head));
    }
  }

  Sample Look(std::span<const Index> rows) const override { return {RowsOf(terms_, rows), {}}; }

 private:
  void SumsOf(const HeadSources& sources) {
    terms_ = Tensor({static_cast<Index>(sources.key.size()), 1});
    std::transform(sources.key.begin(), sources.key.end(), terms_.data(),
                   [](double sum) { return static_cast<float>(sum); });
  }

  Row row_;
  ModelAttention seen_;
  Tensor terms_;
};

class AgainRun : public Run {
 public:
  AgainRun(const Row& row, const Backend& backend, LoadFolder load)
      : row_(row),
        ids_(Ids(row)),
        model_(MakeModel(row.model, backend, load)),
        base_(AttendWithParts(model_, ids_)),
        mask_({row.model.layers, row.model.heads}) {
    std::fill(mask_.values().begin(), mask_.values().end(), 1.0f);
    if (row.silenced_layer >= 0) mask_.view<2>()(row.silenced_layer, 0) = 0.0f;
  }

  void Call() override {
    AttendOptions options;
    options.keep_parts = true;
    options.head_mask = mask_.view<2>();
    again_ = row_.silenced_layer < 0 ? AttendWithParts(model_, ids_) : base_.Again(options);
    again_->hidden();
  }

  Sample Look(std::span<const Index> rows) const override { return {RowsOf(again_->hidden(), rows), {}}; }

 private:
  Row row_;
  std::vector<std::int32_t> ids_;
  Model model_;
  ModelAttention base_;
  Tensor mask_;
  std::optional<ModelAttention> again_;
};

}  // namespace

std::unique_ptr<Run> MakeRun(const Row& row, const Backend& backend, LoadFolder load) {
  switch (row.kind) {
    case Kind::kProduct:
      return std::make_unique<ProductRun>(row, backend);
    case Kind::kLayer:
      return std::make_unique<LayerRun>(row, backend);
    case Kind::kCore:
      return std::make_unique<CoreRun>(row, backend);
    case Kind::kMap:
      return std::make_unique<MapRun>(row, backend, load);
    case Kind::kModel:
      return std::make_unique<ModelRun>(row, backend, load);
    case Kind::kDecode:
      return std::make_unique<DecodeRun>(row, backend, load);
    case Kind::kExplain:
      return std::make_unique<ExplainRun>(row, backend, load);
    case Kind::kAgain:
      return std::make_unique<AgainRun>(row, backend, load);
  }
  throw Error(ErrorCode::kOption, "no kind of workload");
}

}  // namespace headlens::bench
