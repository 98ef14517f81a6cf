// SPDX-License-Identifier: Apache-2.0
#include "by_name/analyses/call.h"

#include "base/checks.h"

namespace headlens {

Shape AnalysisCall::Fit(const char* name, Shape shape, std::size_t rank) {
  const Shape given = shape;
  while (shape.size() > rank && shape.front() == 1) shape.erase(shape.begin());
  while (shape.size() < rank && shape.size() >= 2) shape.insert(shape.begin(), 1);
  if (shape.size() != rank) {
    throw Error(ErrorCode::kShape, std::string(name) + " has shape " + ToString(given) + ", expected " +
                                       std::to_string(rank) + " dimensions, of one batch");
  }
  return shape;
}

std::span<const float> AnalysisCall::Vector(const char* name) {
  if (!Has(name)) return {};
  const View<const float, 1> view = Need<1>(name);
  return {view.data, static_cast<std::size_t>(view.shape[0])};
}

Index AnalysisCall::NeedCount(const char* name, Index least) {
  if (options.Has(name)) return options.Count(name, least, least);
  throw Error(ErrorCode::kOption, std::string(name) + " is missing, expected a whole number");
}

Index AnalysisCall::Length(const char* name, const Given& list) {
  const Index count = ElementCount(list.shape);
  if (list.shape.size() == 1 && count > 0) return count;  // an empty one would be as good as none
  throw Error(ErrorCode::kShape, std::string(name) + " has shape " + ToString(list.shape) + ", expected a list");
}

std::span<const std::uint8_t> AnalysisCall::Flags(const char* name) {
  const Given* input = args.Find(name);
  if (!input) return {};
  return {args.Booleans(name, *input), static_cast<std::size_t>(Length(name, *input))};
}

MapInfo AnalysisCall::Masks() {
  MapInfo info;
  info.query_offset = options.Count("query_offset", 0, -(Index{1} << 40));
  info.causal = options.Flag("is_causal", false);
  info.window = options.Count("window", 0, 1);
  if (const Given* visible = args.Find("visible")) {
    if (visible->shape.size() != 2)
      throw Error(ErrorCode::kShape, "visible has shape " + ToString(visible->shape) + ", expected (queries, keys)");
    info.visible =
        DenseView(args.Booleans("visible", *visible), std::array<Index, 2>{visible->shape[0], visible->shape[1]});
  }
  info.padded_queries = Flags("padded_queries");
  info.padded_keys = Flags("padded_keys");
  return info;
}

MapInfo AnalysisCall::Info() {
  MapInfo info = Masks();
  info.special = Flags("special");
  if (const Given* tokens = args.Find("tokens")) {
    const Index count = Length("tokens", *tokens);
    info.tokens = {args.Integers("tokens", *tokens, std::numeric_limits<std::int32_t>::min(),
                                 std::numeric_limits<std::int32_t>::max()),
                   static_cast<std::size_t>(count)};
    info.repeat = FindRepeat(info.tokens);
  }
  const Index repeat_begin = options.Count("repeat_begin", 0, 0);
  if (options.Has("repeat_length")) {
    info.repeat = {repeat_begin, options.Count("repeat_length", 0, 1)};
  } else if (options.Has("repeat_begin")) {
    throw Error(ErrorCode::kOption, "repeat_begin needs repeat_length");
  }
  info.grid = {options.Count("patch_prefix", 0, 0), options.Count("patch_columns", 0, 1),
               options.Single("patch_size", 1.0f)};
  ExpectPositive("patch_size", static_cast<float>(info.grid.patch_size));
  return info;
}

HeadFusion AnalysisCall::Fusion() {
  static constexpr Choice kFusions[] = {
      {"mean", HeadFusion::kMean}, {"max", HeadFusion::kMax}, {"min", HeadFusion::kMin}};
  return static_cast<HeadFusion>(options.OneOf("fusion", kFusions).value_or(static_cast<int>(HeadFusion::kMean)));
}

void AnalysisCall::Answer(const Matrix& matrix) {
  Tensor tensor({matrix.rows(), matrix.columns()});
  std::transform(matrix.values().begin(), matrix.values().end(), tensor.data(),
                 [](double value) { return static_cast<float>(value); });
  Answer(std::move(tensor));
}

}  // namespace headlens
