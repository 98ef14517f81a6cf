// SPDX-License-Identifier: Apache-2.0
#include "headlens/model.h"

#include "headlens/folder.h"
#include "models/pass.h"
#include "models/quantized.h"

namespace headlens {
namespace models {

// One line per family.
#define HEADLENS_FAMILIES(FAMILY) \
  FAMILY(kBert)                   \
  FAMILY(kDeit)                   \
  FAMILY(kDinov2)                 \
  FAMILY(kDinov2Registers)        \
  FAMILY(kDistilBert)             \
  FAMILY(kGemma2)                 \
  FAMILY(kGemma3)                 \
  FAMILY(kGpt2)                   \
  FAMILY(kGptNeo)                 \
  FAMILY(kGptNeoX)                \
  FAMILY(kLlama)                  \
  FAMILY(kMarian)                 \
  FAMILY(kOlmo2)                  \
  FAMILY(kPhi3)                   \
  FAMILY(kQwen2)                  \
  FAMILY(kQwen3)                  \
  FAMILY(kRoberta)                \
  FAMILY(kT5)                     \
  FAMILY(kVit)

#define HEADLENS_DECLARE(family) extern const Family family;
HEADLENS_FAMILIES(HEADLENS_DECLARE)
#undef HEADLENS_DECLARE

namespace {

#define HEADLENS_ADDRESS(family) &family,
const Family* const kFamilies[] = {HEADLENS_FAMILIES(HEADLENS_ADDRESS)};
#undef HEADLENS_ADDRESS

/// A mark in config.json of models that are like none of the families.
struct OtherKind {
  const char *key, *name;
};
constexpr OtherKind kOtherKinds[] = {
    {"is_encoder_decoder", "an encoder with a decoder"},
    {"num_local_experts", "a mixture of experts"},
    {"num_experts", "a mixture of experts"},
    {"n_routed_experts", "a mixture of experts"},
    {"state_size", "a model without attention"},
};

bool IsSet(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() != 0.0 : value.is_boolean() && value.get<bool>();
}

const Family* FindFamily(const JsonField& type) {
  const std::string* text = type.value().get_ptr<const std::string*>();
  for (const Family* family : kFamilies)
    for (const std::string_view known : family->model_types)
      if (text && *text == known) return family;
  return nullptr;
}

[[noreturn]] void RefuseType(const JsonField& config) {
  const JsonField type = config["model_type"], text = config["text_config"];
  if (text.value().is_object() && FindFamily(text["model_type"]))
    type.Refuse({"the ", Shown(text["model_type"].value()), " in its text_config, as a folder of its own"});
  std::vector<std::string_view> known;
  for (const Family* family : kFamilies)
    known.insert(known.end(), family->model_types.begin(), family->model_types.end());
  Phrase all = {Joined(known, Quoted), "; look for this line in the config.json of a folder"};
  for (const OtherKind& kind : kOtherKinds)
    if (IsSet(config[kind.key].value())) all = {all, ", and not for ", kind.name};
  if (type.is_null()) type.Fail(all);
  type.Refuse(all);
}

const Family& FamilyOf(const JsonField& config) {
  const JsonField type = config["model_type"];
  if (!type.is_null()) type.Text();
  if (const Family* family = FindFamily(type)) return *family;
  RefuseType(config);
}

ParsedConfig Parse(std::string_view text) {
  const nlohmann::json parsed = ParseObject(text, kConfigFile);
  const JsonField config(parsed, std::string(kConfigFile) + ": ", ErrorCode::kValue);
  const Family& family = FamilyOf(config);
  const bool is_quantized = IsQuantized(config);
  ParsedConfig result{family, family.parse(config), {}, is_quantized};
  ModelInfo& info = result.architecture.info;
  info.family = family.name;
  if (!family.encoder) return result;
  result.encoder = family.encoder->parse(config);
  result.encoder->info.family = family.name;
  info.encoder_layers = result.encoder->info.layers;
  info.encoder_heads = result.encoder->info.heads;
  info.encoder_head_dim = result.encoder->info.head_dim;
  info.encoder_scale = result.encoder->attention_scale;
  const JsonField start = config["decoder_start_token_id"];
  info.start_token = (start.is_null() ? config["pad_token_id"] : start).Whole(0, info.vocab_size - 1);
  return result;
}

/// Moves all parameters other than matrices into the backend's memory.
void KeepAll(const Backend& backend, Parameters& p) {
  const auto keep = [&](DeviceTensor& tensor) { tensor = backend.Upload(tensor.host()); };
  const auto keep_norm = [&](Norm& norm) {
    keep(norm.weight);
    keep(norm.bias);
  };
  keep(p.prefix);
  keep(p.positions);
  keep_norm(p.embedding_norm);
  keep_norm(p.final_norm);
  for (Layer& layer : p.layers) {
    for (Norm* norm :
         {&layer.attention_norm, &layer.feed_forward_norm, &layer.attention_output_norm,
          &layer.feed_forward_output_norm, &layer.query_norm, &layer.key_norm, &layer.cross_attention_norm})
      keep_norm(*norm);
  }
  if (!p.head) return;
  keep_norm(p.head->transform_norm);
  keep(p.head->bias);
}

LoadedModel Load(const Family& family, const Architecture& architecture, const StateDict& state, const Backend& backend,
                 std::shared_ptr<const LoadedModel> encoder) {
  LoadedModel model{architecture, family.load(architecture, state, backend), backend};
  if (encoder && !model.parameters.tokens) model.parameters.tokens = encoder->parameters.tokens;
  model.encoder = std::move(encoder);
  for (const Layer& layer : model.parameters.layers)
    model.scales.push_back({layer.attention_norm.weight.host(), layer.query_norm.weight.host(),
                            layer.key_norm.weight.host(), layer.attention_output_norm.weight.host()});
  model.final_norm = model.parameters.final_norm.weight.host();
  KeepAll(backend, model.parameters);
  ModelInfo& info = model.architecture.info;
  for (Index layer = 0; layer < info.layers; ++layer) info.scales.push_back(architecture.ScaleOf(layer));
  if (!model.parameters.head) return model;
  info.logits = model.decoder().out_features();
  info.labels = architecture.label_names;
  return model;
}

LoadedModel Load(const ParsedConfig& config, const StateDict& stored, const Backend& backend) {
  const StateDict state = WithScales(stored, config.is_quantized);
  std::shared_ptr<const LoadedModel> encoder;
  if (config.encoder) {
    encoder = std::make_shared<const LoadedModel>(Load(*config.family.encoder, *config.encoder, state, backend, {}));
  }
  return Load(config.family, config.architecture, state, backend, std::move(encoder));
}

}  // namespace

}  // namespace models

using models::LoadedModel;

std::vector<ModelFamily> ModelFamilies() {
  std::vector<ModelFamily> all;
  for (const models::Family* family : models::kFamilies)
    all.push_back({family->name, {family->model_types.begin(), family->model_types.size()}});
  return all;
}

ModelConfig::ModelConfig(std::string_view text)
    : parsed_(std::make_shared<const models::ParsedConfig>(models::Parse(text))) {}

const ModelInfo& ModelConfig::info() const { return parsed_->architecture.info; }

Model::Model(const ModelConfig& config, const StateDict& state, const Backend& backend)
    : model_(std::make_shared<const LoadedModel>(models::Load(*config.parsed_, state, backend))) {}

const ModelInfo& Model::info() const { return model_->architecture.info; }
std::optional<Model> Model::encoder() const {
  return model_->encoder ? std::optional(Model(model_->encoder)) : std::nullopt;
}
const Backend& Model::backend() const { return model_->backend; }

Tensor Model::Weights(Index layer, Projection projection) const {
  models::CheckLayer(info(), layer, 0);
  const models::Layer& from = model_->parameters.layers[static_cast<std::size_t>(layer)];
  const LinearWeights& weights = projection == Projection::kQuery   ? *from.q
                                 : projection == Projection::kKey   ? *from.k
                                 : projection == Projection::kValue ? *from.v
                                                                    : *from.o;
  const LoadedModel::LayerScales& scales = model_->scales[static_cast<std::size_t>(layer)];
  const Tensor none;
  const Tensor& scale = projection == Projection::kQuery    ? scales.query
                        : projection == Projection::kKey    ? scales.key
                        : projection == Projection::kOutput ? scales.output
                                                            : none;
  Tensor matrix({weights.out_features(), weights.in_features()});
  for (Index row = 0; row < weights.out_features(); ++row) {
    const std::span<float> to(matrix.view<2>().at(row), static_cast<std::size_t>(weights.in_features()));
    weights.CopyRow(row, to);
    for (float& x : to) x *= scale.size() > 0 ? scale.data()[row % scale.size()] : 1.0f;
  }
  return matrix;
}

std::span<const float> Model::OutputBias(Index layer) const {
  models::CheckLayer(info(), layer, 0);
  return model_->parameters.layers[static_cast<std::size_t>(layer)].o->bias();
}

const Tensor* Model::AttentionNorm(Index layer) const {
  models::CheckLayer(info(), layer, 0);
  const Tensor& scale = model_->scales[static_cast<std::size_t>(layer)].attention;
  return model_->architecture.block.norm_first && scale.size() > 0 ? &scale : nullptr;
}

const Tensor* Model::FinalNorm() const { return model_->final_norm.size() > 0 ? &model_->final_norm : nullptr; }

const LinearWeights* Model::embedding() const { return model_->parameters.tokens.get(); }

const LinearWeights* Model::unembedding() const {
  const auto& head = model_->parameters.head;
  return head && !head->transform ? &model_->decoder() : nullptr;
}

}  // namespace headlens
