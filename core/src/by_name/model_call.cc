// SPDX-License-Identifier: Apache-2.0
#include "headlens/model_call.h"

#include <algorithm>
#include <utility>

#include "base/words.h"
#include "by_name/field_reader.h"
#include "by_name/model_fields.h"
#include "files/json.h"

namespace headlens {
namespace {

/// The tensors that stand for the input itself.
constexpr Field<ModelInput> kInputFields[] = {
    field::IntegerList<&ModelInput::ids>("ids", "T", "The tokens of a text."),
    field::Floats<&ModelInput::image>("image", "C,Y,X", {}, "A picture, prepared as in the model's training."),
};

constexpr Choice kPoolKinds[] = {
    {"mean", PoolKind::kMean, "the mean of a block."},
    {"max", PoolKind::kMax, "its largest weight, in which narrow diagonals and columns stay visible."}};

/// Reads all of a JSON object.
template <class Options>
Options ReadAll(std::string_view json, std::initializer_list<std::span<const Field<Options>>> lists) {
  OptionReader reader(ParseObject(json, "options"));
  FieldReader fields(reader);
  Options options;
  for (const auto& list : lists) fields.Read(list, options);
  reader.RejectUnknown();
  return options;
}

void ExpectBelow(std::string_view name, Index value, Index end) {
  if (value >= end) throw OptionError(Fragment::Name(name), value, {"a whole number from 0 to ", end - 1});
}

}  // namespace

std::span<const Field<ModelInput>> TokenFields() {
  static constexpr Field<ModelInput> kFields[] = {
      field::IntegerList<&ModelInput::segments>("segments", "T",
                                                "With token ids: the segment of each token. Default 0 for all."),
      field::BooleanList<&ModelInput::padding>(
          "padding_mask", "T", "With token ids: true where a token is padding, which no query looks at."),
  };
  return kFields;
}

std::span<const Field<AttendOptions>> AttendFields() {
  static constexpr Field<AttendOptions> kFields[] = {
      field::Floats<&AttendOptions::head_mask>(
          "head_mask", "L,H", {}, "The factor by which each head's weights are multiplied. 0 removes the head."),
      field::Count<&AttendOptions::zeroed_token>(
          "zeroed_token", 0,
          "The token whose value vectors are set to 0 (value zeroing), in every layer or only in `zeroed_layer`."),
      field::Needs("zeroed_token", field::Count<&AttendOptions::zeroed_layer>(
                                       "zeroed_layer", 0, "The only layer that zeroes values. Needs `zeroed_token`.")),
      field::Flag<&AttendOptions::keep_hidden>("keep_hidden",
                                               "Keeps the residual stream before each layer for `hidden`."),
      field::Flag<&AttendOptions::keep_values>("keep_values", "Keeps the value vectors of each layer for `values`."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> RowFields() {
  static constexpr Field<MapOptions> kFields[] = {
      field::Listed<MapOptions>(FieldType::kPair, "rows", "", "The half-open range of rows. Default all rows."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> MapFields() {
  static constexpr Field<MapOptions> kFields[] = {
      field::Listed<MapOptions>(FieldType::kPair, "cols", "", "The half-open range of columns. Default all columns."),
      field::Listed<MapOptions>(FieldType::kPair, "pool", "", "Pools the map down to at most [rows, columns]."),
      field::OneOf<&MapOptions::pooling>("pooling", kPoolKinds, "The number that stands for a block of a pooled map."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> OverviewFields() {
  static constexpr Field<MapOptions> kFields[] = {
      field::Listed<MapOptions>(FieldType::kPair, "heads", "", "The half-open range of heads. Default all heads."),
      field::Listed<MapOptions>(FieldType::kPair, "pool", "", "Pools each map down to at most [rows, columns]."),
      field::OneOf<&MapOptions::pooling>("pooling", kPoolKinds,
                                         "The number that stands for a block of a pooled map. Default \"max\"."),
  };
  return kFields;
}

std::span<const Field<CacheOptions>> KeptFields() {
  static constexpr Choice kTypes[] = {{"float32", DType::kF32}, {"bfloat16", DType::kBF16}};
  static constexpr Field<CacheOptions> kFields[] = {
      field::OneOf<&CacheOptions::dtype>("dtype", kTypes,
                                         "Keys and values are kept in \"float32\" (default), or rounded to the nearest "
                                         "\"bfloat16\", in half the memory."),
  };
  return kFields;
}

std::span<const Field<CacheOptions>> CacheFields() {
  static constexpr Field<CacheOptions> kFields[] = {
      field::Count<&CacheOptions::window>("window", 0,
                                          "The number of latest tokens that a query looks at, its own included. Only "
                                          "these are kept (a rolling window). Default 0: all."),
  };
  return kFields;
}

std::span<const Field<RankOptions>> RankFields() {
  static constexpr Field<RankOptions> kFields[] = {
      field::Names<&RankOptions::metrics>(
          "metrics",
          "The metrics to compute; the first one ranks the heads. Default `induction_text`, `previous`, "
          "`duplicate_text`, `entropy_normalized`, `distance`, `sink`."),
      field::Flag<&RankOptions::ascending>("ascending", "Puts the smallest values first."),
      field::Listed<RankOptions>(FieldType::kIntegerList, "special_tokens", "",
                                 "The ids that metrics of special tokens count as special."),
  };
  return kFields;
}

struct ModelCall::State {
  explicit State(const ModelInfo& of) : info(of) {}

  ModelInfo info;
  Inputs inputs;
  Arguments args{inputs};
  ModelInput input{};
  AttendOptions options{};
};

ModelCall::ModelCall(const ModelInfo& info) : state_(new State(info)) {}

ModelCall::~ModelCall() = default;
ModelCall::ModelCall(ModelCall&&) noexcept = default;
ModelCall& ModelCall::operator=(ModelCall&&) noexcept = default;

std::span<std::byte> ModelCall::Input(std::string_view name, DType dtype, const Shape& shape) {
  static constexpr std::string_view kKnown[] = {"ids", "segments", "padding_mask", "image", "head_mask"};
  if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown)) {
    throw UnknownName("tensor", name, kKnown);
  }
  return Declare(state_->inputs, name, dtype, shape);
}

void ModelCall::Read(std::string_view options) {
  const ModelInfo& info = state_->info;
  OptionReader reader(ParseObject(options, "options"));
  Sizes sizes;
  sizes.heads = info.heads;
  sizes.layers = info.layers;
  FieldReader fields(reader, state_->args, sizes);
  fields.Read(std::span<const Field<ModelInput>>(kInputFields), state_->input);
  fields.Read(TokenFields(), state_->input);
  fields.Read(AttendFields(), state_->options);
  reader.RejectUnknown();
  ExpectBelow("zeroed_token", state_->options.zeroed_token, info.max_positions);
  ExpectBelow("zeroed_layer", state_->options.zeroed_layer, info.layers);
}

const ModelInput& ModelCall::input() const { return state_->input; }
const AttendOptions& ModelCall::options() const { return state_->options; }

CacheOptions ReadCacheOptions(std::string_view options) {
  return ReadAll<CacheOptions>(options, {KeptFields(), CacheFields()});
}

RankOptions ReadRankOptions(std::string_view options) { return ReadAll<RankOptions>(options, {RankFields()}); }

}  // namespace headlens
