// SPDX-License-Identifier: Apache-2.0
#include "by_name/inputs.h"

#include <cstring>

namespace headlens {

const Given* Arguments::Find(std::string_view name) const {
  const auto it = inputs_.find(name);
  return it == inputs_.end() ? nullptr : &it->second;
}

const Given& Arguments::Need(std::string_view name) const {
  if (const Given* input = Find(name)) return *input;
  throw Error(ErrorCode::kShape, std::string(name) + " is missing");
}

const float* Arguments::Floats(std::string_view name, const Given& input) {
  if (!IsFloat(input.dtype)) {
    throw Error(ErrorCode::kDtype,
                std::string(name) + " has the type " + std::string(ToString(input.dtype)) + ", expected floats");
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
    throw Error(ErrorCode::kDtype,
                std::string(name) + " has the type " + std::string(ToString(input.dtype)) + ", expected BOOL or U8");
  }
  return reinterpret_cast<const std::uint8_t*>(input.bytes.data());
}

const std::int32_t* Arguments::Integers(std::string_view name, const Given& input, Index least, Index most) {
  if (input.dtype != DType::kI32 && input.dtype != DType::kI64) {
    throw Error(ErrorCode::kDtype,
                std::string(name) + " has the type " + std::string(ToString(input.dtype)) + ", expected I32 or I64");
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
      throw Error(ErrorCode::kValue, std::string(name) + " holds " + std::to_string(value) + ", expected " +
                                         std::to_string(least) + " to " + std::to_string(most));
    }
    integer = static_cast<std::int32_t>(value);
  }
  return integers.data();
}

View<const float, 4> AsHeads(std::string_view name, const float* data, const Shape& shape, std::size_t rank,
                             bool heads_in_three) {
  if (shape.size() != rank || rank < 2 || rank > 4) {
    throw Error(ErrorCode::kShape, std::string(name) + " has shape " + ToString(shape) + ", expected " +
                                       (shape.size() == rank ? "2 to 4" : std::to_string(rank)) + " dimensions" +
                                       (shape.size() == rank ? "" : ", as the query has"));
  }
  const Index length = shape[rank - 2], width = shape[rank - 1];
  const Index lead = rank == 3 ? shape[0] : 1;
  const std::array<Index, 4> full = rank == 4        ? std::array<Index, 4>{shape[0], shape[1], length, width}
                                    : heads_in_three ? std::array<Index, 4>{1, lead, length, width}
                                                     : std::array<Index, 4>{lead, 1, length, width};
  return DenseView(data, full);
}

}  // namespace headlens
