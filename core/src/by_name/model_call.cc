// SPDX-License-Identifier: Apache-2.0
#include "headlens/model_call.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attention/normalizers/registry.h"
#include "base/words.h"
#include "by_name/call_options.h"
#include "by_name/field_reader.h"
#include "by_name/model_fields.h"
#include "files/json.h"

namespace headlens {
namespace {

/// The tensors that stand for the input itself.
constexpr Field<ModelInput> kInputFields[] = {
    field::IntegerList<&ModelInput::ids>("ids", "T", "The tokens of a text."),
    field::IntegerList<&ModelInput::source>("source", "S", "The tokens that an encoder reads."),
    field::Floats<&ModelInput::image>("image", "C,Y,X", {}, "A picture, prepared as in the model's training."),
};

/// Head outputs that are replaced, as the package sends them: their places by layer, head and token, and what takes
/// them before the output projection.
constexpr std::array<Field<HeadPatches>, 2> PatchesNamed(std::string_view places, std::string_view outputs) {
  return {field::Integers<&HeadPatches::places>(places, "N,3", ""),
          field::Finite(field::Floats<&HeadPatches::outputs>(outputs, "N,d", {}, ""))};
}
constexpr auto kPatchFields = PatchesNamed("patch_places", "patch_outputs"),
               kCrossPatchFields = PatchesNamed("cross_patch_places", "cross_patch_outputs"),
               kEncoderPatchFields = PatchesNamed("encoder_patch_places", "encoder_patch_outputs");

constexpr Choice kParts[] = {
    {"decoder", AttentionPart::kDecoder, "that of the target's tokens to one another."},
    {"encoder", AttentionPart::kEncoder, "that of the source's tokens."},
    {"cross", AttentionPart::kCross, "that of the target's tokens (rows) to the source's (columns)."}};
constexpr char kWhich[] = "For an encoder–decoder: the attention whose heads are meant. Default \"decoder\".";

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

}  // namespace

std::span<const Field<ModelInput>> TokenFields() {
  static constexpr Field<ModelInput> kFields[] = {
      field::IntegerList<&ModelInput::segments>("segments", "T",
                                                "With token ids: the segment of each token. Default 0 for all."),
      field::BooleanList<&ModelInput::padding>(
          "padding_mask", "T", "With token ids: true where a token is padding, which no query looks at."),
      field::BooleanList<&ModelInput::source_padding>("source_padding_mask", "S",
                                                      "The same for the tokens of an encoder–decoder's source."),
  };
  return kFields;
}

std::span<const Field<AttendOptions>> HeadFactorFields() {
  static constexpr Field<AttendOptions> kFields[] = {
      field::Floats<&AttendOptions::head_mask>(
          "head_mask", "L,H", {}, "The factor by which each head's weights are multiplied. 0 removes the head."),
      field::Floats<&AttendOptions::cross_head_mask>("cross_head_mask", "L,H", {},
                                                     "The same for an encoder–decoder's cross-attention."),
      field::Floats<&AttendOptions::encoder_head_mask>("encoder_head_mask", "encoderLayers,encoderHeads", {},
                                                       "The same for the heads of its encoder."),
  };
  return kFields;
}

std::span<const Field<AttendOptions>> AttendFields() {
  static constexpr Choice kReplacements[] = {
      {"zero", TokenReplacement::kZero, "zeros (value zeroing, Mohebbi et al. 2023)."},
      {"mean", TokenReplacement::kMean, "the mean over all tokens that are not padding."}};
  static constexpr Field<AttendOptions> kFields[] = {
      field::BooleanCells<&AttendOptions::visible>(
          "attn_mask",
          "An extra mask of every layer, [T,T] or [H,T,T]: where booleans are false, a query does not look at a key; "
          "floats are added to the scores. The model's own mask stays."),
      field::FloatCells<&AttendOptions::bias>("attn_mask", "Added to the scores."),
      field::IntegerList<&AttendOptions::forbidden_diagonals>(
          "forbidden_diagonals", "N",
          "A query does not look at a key that stands this many tokens before it (or after it, if negative)."),
      field::IntegerList<&AttendOptions::replaced_tokens>(
          "replaced_tokens", "N",
          "The tokens whose value vectors are replaced, in every layer or only in `replaced_layer`."),
      field::OneOf<&AttendOptions::replacement>("replacement", kReplacements,
                                                "The vectors that stand in their place. Default \"zero\"."),
      field::Needs("replaced_tokens",
                   field::Count<&AttendOptions::replaced_layer>(
                       "replaced_layer", 0, "The only layer that replaces values. Needs `replaced_tokens`.")),
      field::Flag<&AttendOptions::keep_hidden>("keep_hidden",
                                               "Keeps the residual stream before each layer for `hidden`."),
      field::Flag<&AttendOptions::keep_values>("keep_values", "Keeps the value vectors of each layer for `values`."),
      field::Flag<&AttendOptions::keep_parts>(
          "keep_parts",
          "Keeps what each head and feed-forward network writes, and the residual streams, for explanations."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> PartFields() {
  static constexpr Field<MapOptions> kFields[] = {field::OneOf<&MapOptions::part>("attention", kParts, kWhich)};
  return kFields;
}

std::span<const Field<MapOptions>> StepPartFields() {
  static constexpr Choice kOfStep[] = {kParts[0], kParts[2]};
  static constexpr Field<MapOptions> kFields[] = {field::OneOf<&MapOptions::part>("attention", kOfStep, kWhich)};
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

namespace {

/// A whole number that the package checks and hands over as it is.
constexpr Field<MapOptions> Place(std::string_view name, Doc doc) {
  return field::Listed<MapOptions>(FieldType::kCount, name, "", doc);
}

}  // namespace

std::span<const Field<MapOptions>> LogitFields() {
  static constexpr Field<MapOptions> kFields[] = {
      Place("layer",
            "Logit lens: the logits as if this layer and all after it were not there. With `head`: the layer of the "
            "head."),
      Place("head",
            "Needs `layer`, and a run with `keep_parts`: what this head alone adds to the logits, with the norms' "
            "divisions frozen, past all later layers."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> HeadFields() {
  static constexpr Field<MapOptions> kFields[] = {field::Required(Place("layer", "The layer of the head.")),
                                                  field::Required(Place("head", "The head in its layer."))};
  return kFields;
}

std::span<const Field<MapOptions>> QueryFields() {
  static constexpr Field<MapOptions> kFields[] = {field::Required(Place("query", "The token that looks: a row."))};
  return kFields;
}

std::span<const Field<MapOptions>> KeyFields() {
  static constexpr Field<MapOptions> kFields[] = {
      Place("key", "The token that is looked at: a column. When absent, the whole row is explained."),
      Place("against",
            "Another key of the row, whose score is subtracted: why the one is looked at more than the other."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> PositionFields() {
  static constexpr Field<MapOptions> kFields[] = {
      Place("position", "The token whose next token is predicted. Default the last one; 0 for pictures."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> ContributionFields() {
  static constexpr Field<MapOptions> kFields[] = {
      field::Listed<MapOptions>(FieldType::kIntegerList, "tokens", "",
                                "The ids whose logits are explained. Default the ten with the largest logits."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> TopFields() {
  static constexpr Field<MapOptions> kFields[] = {Place("top", "The number of tokens that are listed. Default 10.")};
  return kFields;
}

std::span<const Field<MapOptions>> LensFields() {
  static constexpr Field<MapOptions> kFields[] = {
      Place("layer", "Logit lens: the prediction as if this layer and all after it were not there."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> PairFields() {
  static constexpr Field<MapOptions> kFields[] = {
      Place("pair", "The number of the pair of tokens whose predictions are compared. Default the last one."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> PathFields() {
  static constexpr Choice kRanks[] = {
      {"share", 0, "by the earlier head's share in what the later head reads."},
      {"induction", 1,
       "only paths through keys, by previous · induction · share: from a previous-token head to an induction head "
       "(Elhage et al. 2021)."}};
  static constexpr Field<MapOptions> kFields[] = {
      Place("layer", "With `head`: only paths to this head. Default those to all heads."),
      Place("head", "Needs `layer`."),
      field::Listed<MapOptions>(FieldType::kChoice, "rank", "", "The order of the paths. Default \"share\".", kRanks),
      Place("top", "The number of paths that are listed. Default 10."),
  };
  return kFields;
}

std::span<const Field<MapOptions>> PatchFields() {
  static constexpr Field<MapOptions> kFields[] = {
      field::Listed<MapOptions>(FieldType::kIntegerList, "positions", "",
                                "The tokens at which the head's output is taken, and put. Default all."),
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
      field::OneOf<&RankOptions::attention>("attention", kParts, kWhich),
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
  State(const ModelInfo& of, Index tokens) : info(of), length(tokens) {}

  ModelInfo info;
  Index length;
  Inputs inputs;
  Arguments args{inputs};
  ModelInput input{};
  AttendOptions options{};
};

ModelCall::ModelCall(const ModelInfo& info, Index length) : state_(new State(info, length)) {}

ModelCall::~ModelCall() = default;
ModelCall::ModelCall(ModelCall&&) noexcept = default;
ModelCall& ModelCall::operator=(ModelCall&&) noexcept = default;

std::span<std::byte> ModelCall::Input(std::string_view name, DType dtype, const Shape& shape) {
  static constexpr std::string_view kKnown[] = {"ids",
                                                "segments",
                                                "padding_mask",
                                                "source",
                                                "source_padding_mask",
                                                "image",
                                                "head_mask",
                                                "cross_head_mask",
                                                "encoder_head_mask",
                                                "attn_mask",
                                                "sinks",
                                                "replaced_tokens",
                                                "forbidden_diagonals",
                                                "patch_places",
                                                "patch_outputs",
                                                "cross_patch_places",
                                                "cross_patch_outputs",
                                                "encoder_patch_places",
                                                "encoder_patch_outputs"};
  if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown)) {
    throw UnknownName("tensor", name, kKnown);
  }
  return Declare(state_->inputs, name, dtype, shape);
}

namespace {

/// The number of tokens, or of an image's patches and the tokens before them.
Index LengthOf(const ModelInfo& info, const ModelInput& input) {
  if (info.image_size == 0) return static_cast<Index>(input.ids.size());
  const std::array<Index, 3>& shape = input.image.shape;
  return std::ssize(info.prefix) + (shape[1] / info.patch_size) * (shape[2] / info.patch_size);
}

/// The sizes of a model, whatever it reads.
Sizes SizesOf(const ModelInfo& info) {
  Sizes sizes;
  sizes.batch = 1;
  sizes.heads = info.heads;
  sizes.layers = info.layers;
  sizes.encoder_layers = info.encoder_layers;
  sizes.encoder_heads = info.encoder_heads;
  return sizes;
}

}  // namespace

void ModelCall::ReadInput() {
  OptionReader reader(ParseObject("{}", "options"));
  FieldReader input(reader, state_->args, Sizes());
  input.Read(std::span<const Field<ModelInput>>(kInputFields), state_->input);
  input.Read(TokenFields(), state_->input);
}

CacheOptions ModelCall::ReadDecoding(std::string_view options) {
  ReadInput();
  OptionReader reader(ParseObject(options, "options"));
  FieldReader fields(reader, state_->args, SizesOf(state_->info));
  CacheOptions kept;
  fields.Read(KeptFields(), kept);
  fields.Read(HeadFactorFields(), state_->options);
  state_->options.normalizer = ReadNormalizer(fields);
  reader.RejectUnknown();
  return kept;
}

void ModelCall::Read(std::string_view options) {
  const ModelInfo& info = state_->info;
  ReadInput();
  OptionReader reader(ParseObject(options, "options"));
  Sizes sizes = SizesOf(info);
  sizes.queries = sizes.keys = state_->length > 0 ? state_->length : LengthOf(info, state_->input);
  FieldReader fields(reader, state_->args, sizes);
  fields.Read(HeadFactorFields(), state_->options);
  fields.Read(AttendFields(), state_->options);
  for (const auto& [patches, patch_fields] :
       {std::pair(&AttendOptions::patches, &kPatchFields), std::pair(&AttendOptions::cross_patches, &kCrossPatchFields),
        std::pair(&AttendOptions::encoder_patches, &kEncoderPatchFields)})
    fields.Read(std::span<const Field<HeadPatches>>(*patch_fields), state_->options.*patches);
  state_->options.normalizer = ReadNormalizer(fields);
  reader.RejectUnknown();
  if (state_->options.replaced_layer >= info.layers) {
    throw OptionError("`replaced_layer`", state_->options.replaced_layer,
                      {"a whole number from 0 to ", info.layers - 1});
  }
}

const ModelInput& ModelCall::input() const { return state_->input; }
const AttendOptions& ModelCall::options() const { return state_->options; }

CacheOptions ReadCacheOptions(std::string_view options) {
  return ReadAll<CacheOptions>(options, {KeptFields(), CacheFields()});
}

RankOptions ReadRankOptions(std::string_view options) { return ReadAll<RankOptions>(options, {RankFields()}); }

}  // namespace headlens
