// SPDX-License-Identifier: Apache-2.0
#include "by_name/inputs.h"

#include <algorithm>
#include <cstring>

#include "base/checks.h"

namespace headlens {

std::span<std::byte> Declare(Inputs& inputs, std::string_view name, DType dtype, const Shape& shape) {
  Given input{dtype, shape, Buffer<std::byte>(ElementCount(shape) * static_cast<Index>(ByteSize(dtype)))};
  const std::span<std::byte> bytes(input.bytes.data(), static_cast<std::size_t>(input.bytes.size()));
  inputs.insert_or_assign(std::string(name), std::move(input));
  return bytes;
}

const Given* Arguments::Find(std::string_view name) const {
  const auto it = inputs_.find(name);
  return it == inputs_.end() ? nullptr : &it->second;
}

const Given& Arguments::Need(std::string_view name) const {
  if (const Given* input = Find(name)) return *input;
  throw MissingError(ErrorCode::kShape, Fragment::Name(name));
}

const float* Arguments::Floats(std::string_view name, const Given& input) {
  if (!IsFloat(input.dtype)) {
    throw DtypeError(Fragment::Name(name), ToString(input.dtype), "floats");
  }
  if (input.dtype == DType::kF32) return reinterpret_cast<const float*>(input.bytes.data());
  converted_.push_back(ToFloat(input.raw()));
  return converted_.back().data();
}

const float* Arguments::Keep(std::span<const float> values) {
  kept_.emplace_back(Shape{static_cast<Index>(values.size())}, values);
  return kept_.back().data();
}

const std::uint8_t* Arguments::Booleans(std::string_view name, const Given& input) const {
  if (!IsBoolean(input.dtype)) {
    throw DtypeError(Fragment::Name(name), ToString(input.dtype), "BOOL or U8");
  }
  return reinterpret_cast<const std::uint8_t*>(input.bytes.data());
}

const std::int32_t* Arguments::Integers(std::string_view name, const Given& input, Index least, Index most) {
  if (input.dtype != DType::kI32 && input.dtype != DType::kI64) {
    throw DtypeError(Fragment::Name(name), ToString(input.dtype), "I32 or I64");
  }
  std::vector<std::int32_t>& integers = integers_.emplace_back(static_cast<std::size_t>(ElementCount(input.shape)));
  const std::byte* from = input.bytes.data();
  for (std::int32_t& integer : integers) {
    std::int64_t value = 0;
    if (input.dtype == DType::kI32) {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, from, sizeof narrow);
      value = narrow;
    } else {
      std::memcpy(&value, from, sizeof value);
    }
    from += ByteSize(input.dtype);
    if (value < least || value > most) {
      throw HoldsError(Fragment::Name(name), value, PlaceOf(&integer - integers.data(), input.shape),
                       {least, " to ", most});
    }
    integer = static_cast<std::int32_t>(value);
  }
  return integers.data();
}

void Arguments::Check::Make() const {
  const float* const end = data + ElementCount(*shape);
  const float* const wrong = std::find_if_not(data, end, is_right);
  if (wrong != end) throw HoldsError(Fragment::Name(name), double{*wrong}, PlaceOf(wrong - data, *shape), expected);
}

void Arguments::ExpectEach(std::string_view name, const float* data, const Shape& shape, bool (*is_right)(float),
                           const char* expected) {
  checks_.push_back({name, data, &shape, is_right, expected});
  checks_.back().Make();
}

void Arguments::CheckAgain() const {
  for (const Check& check : checks_) check.Make();
}

Shape PlaceOf(Index element, const Shape& shape) {
  Shape place(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; element /= shape[i]) place[i] = element % shape[i];
  return place;
}

void RefuseBatches(std::string_view name, const Shape& shape, bool batch_first) {
  throw ShapeError(Fragment::Name(name), shape,
                   batch_first ? "2 or 3 dimensions: (batch, length, width) or (length, width)"
                               : "2 or 3 dimensions: (length, batch, width) or (length, width)");
}

void ExpectBatches(std::string_view name, const Shape& given, const std::array<Index, 3>& expected, bool batch_first,
                   const Fragment& why) {
  const auto& [batch, length, width] = expected;
  const Shape in_three = batch_first ? Shape{batch, length, width} : Shape{length, batch, width};
  const Shape laid_out = given.size() == 2 && batch == 1 ? Shape{length, width} : in_three;
  if (given != laid_out) throw ShapeError(Fragment::Name(name), given, {laid_out, ": ", why});
}

View<const float, 4> AsHeads(std::string_view name, const float* data, const Shape& shape, std::size_t rank,
                             bool heads_in_three) {
  if (shape.size() != rank || rank < 2 || rank > 4) {
    throw ShapeError(Fragment::Name(name), shape,
                     shape.size() == rank ? Phrase("2 to 4 dimensions") : Phrase{rank, " dimensions, as `query` has"});
  }
  const Index length = shape[rank - 2], width = shape[rank - 1];
  const Index lead = rank == 3 ? shape[0] : 1;
  const std::array<Index, 4> full = rank == 4        ? std::array<Index, 4>{shape[0], shape[1], length, width}
                                    : heads_in_three ? std::array<Index, 4>{1, lead, length, width}
                                                     : std::array<Index, 4>{lead, 1, length, width};
  return DenseView(data, full);
}

}  // namespace headlens
