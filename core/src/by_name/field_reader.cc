// SPDX-License-Identifier: Apache-2.0
#include "by_name/field_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/masks/cells.h"
#include "base/checks.h"
#include "base/words.h"

namespace headlens {
namespace {

using Words = std::vector<std::string_view>;

/// Splits "B,T" into its names.
Words Split(std::string_view dims) {
  Words words;
  while (!dims.empty()) {
    const std::size_t comma = std::min(dims.find(','), dims.size());
    words.push_back(dims.substr(0, comma));
    dims.remove_prefix(std::min(comma + 1, dims.size()));
  }
  return words;
}

Index SizeOf(std::string_view dimension, const Sizes& n) {
  if (dimension == "B") return n.batch;
  if (dimension == "H") return n.heads;
  if (dimension == "T") return n.queries;
  if (dimension == "S") return n.keys;
  if (dimension == "L") return n.layers;
  if (dimension == "encoderLayers") return n.encoder_layers;
  if (dimension == "encoderHeads") return n.encoder_heads;
  return dimension == "1" ? 1 : kAnySize;
}

/// The dimensions of `field` for a tensor without a batch dimension. A field that can be [B] alone always has B.
Words DimensionsOf(const AnyField& field, std::string_view dims, const Sizes& n) {
  Words words = Split(dims);
  const bool keeps_batch = field.dims == "B" || field.also == "B";
  if (!n.batched && !keeps_batch && !words.empty() && words.front() == "B") words.erase(words.begin());
  return words;
}

bool Fits(const Shape& shape, const Words& words, const Sizes& n) {
  if (words.empty() || shape.size() != words.size()) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Index size = SizeOf(words[i], n);
    if (size != kAnySize && size != shape[i]) return false;
  }
  return true;
}

/// "(2, S, 7)", with a dimension of any size by its name.
Phrase ShownShape(const Words& words, const Sizes& n) {
  Phrase text{"("};
  for (const std::string_view& word : words) {
    const Index size = SizeOf(word, n);
    text = {text, &word == words.data() ? "" : ", ", size == kAnySize ? Phrase(word) : Phrase(size)};
  }
  return {text, words.size() == 1 ? ",)" : ")"};
}

[[noreturn]] void RefuseShape(std::string_view name, const Shape& shape, const Words& expected, const Words& also,
                              const Sizes& n) {
  const Phrase other = also.empty() ? Phrase() : Phrase{ShownShape(also, n), " or "};
  throw ShapeError(Fragment::Name(name), shape, {other, ShownShape(expected, n)});
}

/// The index of `name` among the words, or their number when it is not among them.
std::size_t IndexOf(std::string_view name, const Words& words) {
  return static_cast<std::size_t>(std::find(words.begin(), words.end(), name) - words.begin());
}

/// Sets the view of `field` to a tensor whose dimensions are `given`, and broadcasts it along the others.
void Place(const AnyField& field, const void* data, const Shape& shape, const Words& given, const Sizes& n,
           void* owner) {
  const Words wanted = Split(field.dims);
  Shape sizes(wanted.size()), strides(wanted.size(), 0);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool is_same = i < given.size() && given[i] == wanted[i];  // of two dimensions with one name, say
    const std::size_t at = is_same ? i : IndexOf(wanted[i], given);
    sizes[i] = at < given.size() ? shape[at] : SizeOf(wanted[i], n);
    if (at == given.size()) continue;
    strides[i] = 1;
    for (std::size_t j = at + 1; j < shape.size(); ++j) strides[i] *= shape[j];
  }
  field.set_tensor(owner, {data, sizes, strides});
}

/// The shape of a tensor of one text: of `rank` dimensions.
Shape WithoutBatch(std::string_view name, const Shape& given, std::size_t rank) {
  Shape shape = given;
  while (shape.size() > rank && shape.front() == 1) shape.erase(shape.begin());
  while (shape.size() < rank && shape.size() >= 2) shape.insert(shape.begin(), 1);
  if (shape.size() == rank) return shape;
  throw ShapeError(Fragment::Name(name), given, {rank, " dimensions, of one batch"});
}

/// An empty list would be as good as none.
void ExpectList(std::string_view name, const Shape& shape) {
  if (shape.size() == 1 && shape[0] > 0) return;
  throw ShapeError(Fragment::Name(name), shape, "a list");
}

const void* DataOf(const AnyField& field, std::string_view name, const Given& input, const Sizes& n, Arguments& args) {
  using Limits = std::numeric_limits<std::int32_t>;
  switch (field.type) {
    case FieldType::kBooleans:
    case FieldType::kBooleanList:
      return args.Booleans(name, input);
    case FieldType::kIntegers:
    case FieldType::kIntegerList:
      return args.Integers(name, input, Limits::min(), Limits::max());
    case FieldType::kLengths:
      return args.Integers(name, input, 0, n.keys);
    default:
      return args.Floats(name, input);
  }
}

[[noreturn]] void RefuseCells(std::string_view name, const Shape& shape, const Sizes& n) {
  const Index batch = n.batch, heads = n.heads, queries = n.queries, keys = n.keys;
  throw ShapeError(Fragment::Name(name), shape,
                   {Shape{queries, keys}, ", ", Shape{heads, queries, keys}, ", ", Shape{batch * heads, queries, keys},
                    " or ", Shape{batch, heads, queries, keys},
                    ": queries and keys, after the heads, batch * heads, or the batch and the heads"});
}

template <class T>
View<const T, 4> BroadcastCells(std::string_view name, const T* data, const Shape& shape, const Sizes& n) {
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
  if (full.size() != 4) RefuseCells(name, shape, n);
  const std::array<Index, 4> wanted = {n.batch, n.heads, n.queries, n.keys};
  View<const T, 4> view{data, wanted, {}};
  Index stride = 1;
  for (std::size_t i = 4; i-- > 0;) {
    if (full[i] != wanted[i] && full[i] != 1) RefuseCells(name, shape, n);
    view.strides[i] = full[i] == wanted[i] && wanted[i] != 1 ? stride : 0;
    if (i == 3) view.strides[i] = full[i] == 1 && wanted[i] != 1 ? 0 : 1;
    stride *= full[i];
  }
  return view;
}

}  // namespace

std::string_view FieldReader::NameOf(const AnyField& field) const {
  for (const auto& [own, name] : renames_)
    if (own == field.name) return name;
  return field.name;
}

void FieldReader::Read(std::span<const AnyField> fields, void* owner) {
  for (const AnyField& field : fields) ReadOne(field, owner);
  for (const AnyField& field : fields) {
    if (field.needs.empty()) continue;
    CheckNeeds(field, *std::find_if(fields.begin(), fields.end(),
                                    [&](const AnyField& other) { return other.name == field.needs; }));
  }
}

bool FieldReader::Has(const AnyField& field) {
  const std::string_view name = NameOf(field);
  return field.set ? options_.Has(name) : args_ && args_->Find(name);
}

void FieldReader::ReadOne(const AnyField& field, void* owner) {
  if (field.make) return ReadMade(field, owner);
  if (field.set_tensor) return ReadTensor(field, owner);
  if (field.set_names && options_.Has(field.name)) return field.set_names(owner, options_.Names(field.name));
  if (!field.set) return;
  const std::optional<double> value = options_.Scalar(field, NameOf(field));
  if (value) return field.set(owner, *value);
  if (!field.required) return;
  throw MissingError(ErrorCode::kOption, Fragment::Name(NameOf(field)), {"a whole number, at least ", field.least});
}

void FieldReader::ReadMade(const AnyField& field, void* owner) {
  const std::optional<double> value = options_.Scalar(field, field.name);
  const std::vector<float> made = value ? field.make(*value, sizes_.heads) : std::vector<float>();
  if (made.empty()) return;
  if (args_->Find(field.instead_of)) {
    throw Error(ErrorCode::kOption, {Fragment::Name(field.name), " and ", Fragment::Name(field.instead_of),
                                     " say the same, for all heads and for each: leave one out"});
  }
  const std::array<Index, 1> shape = {sizes_.heads}, strides = {made.size() == 1 ? 0 : 1};
  field.set_tensor(owner, {args_->Keep(made), shape, strides});
}

void FieldReader::ReadTensor(const AnyField& field, void* owner) {
  const std::string_view name = NameOf(field);
  const Given* input = args_->Find(name);
  if (!input && field.required) args_->Need(name);
  if (!input) return;
  if (field.type >= FieldType::kBooleanCells) return ReadCells(field, *input, owner);
  const Words dims = DimensionsOf(field, field.dims, sizes_), also = DimensionsOf(field, field.also, sizes_);
  if (field.type == FieldType::kBooleanList || field.type == FieldType::kIntegerList) ExpectList(name, input->shape);
  const Shape shape =
      field.type == FieldType::kTextFloats ? WithoutBatch(name, input->shape, dims.size()) : input->shape;
  const bool is_whole = Fits(shape, dims, sizes_);
  if (!is_whole && !Fits(shape, also, sizes_)) RefuseShape(name, shape, dims, also, sizes_);
  const void* data = DataOf(field, name, *input, sizes_, *args_);
  if (field.finite) {
    const auto is_finite = [](float value) { return std::isfinite(value); };
    args_->ExpectEach(name, static_cast<const float*>(data), input->shape, is_finite, "finite numbers");
  }
  Place(field, data, shape, is_whole ? dims : also, sizes_, owner);
}

void FieldReader::ReadCells(const AnyField& field, const Given& input, void* owner) {
  const std::string_view name = NameOf(field);
  const bool booleans = field.type == FieldType::kBooleanCells;
  if (IsBoolean(input.dtype) != booleans) return;  // the other type has its own field with the same name
  const auto place = [&](const auto& view) { field.set_tensor(owner, {view.data, view.shape, view.strides}); };
  if (booleans) return place(BroadcastCells(name, args_->Booleans(name, input), input.shape, sizes_));
  const View<const float, 4> floats = BroadcastCells(name, args_->Floats(name, input), input.shape, sizes_);
  args_->ExpectEach(name, floats.data, input.shape, IsAddable, kAddable);
  place(floats);
}

void FieldReader::CheckNeeds(const AnyField& field, const AnyField& needed) {
  if (!Has(field) || Has(needed)) return;
  std::string choices;
  for (const Choice& choice : needed.choices) choices += (choices.empty() ? ", " : " or ") + Quoted(choice.name);
  throw NeedsError(ErrorCode::kOption, Fragment::Name(NameOf(field)),
                   {needed.set ? "" : "the tensor ", Fragment::Name(NameOf(needed)), choices});
}

}  // namespace headlens
