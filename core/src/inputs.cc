// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <cstring>

namespace headlens {
namespace {

bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBF16;
}
bool IsBoolean(DType dtype) { return dtype == DType::kU8 || dtype == DType::kBool; }
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

}  // namespace

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

const std::uint8_t* Arguments::Booleans(std::string_view name, const Given& input) const {
  if (!IsBoolean(input.dtype)) {
    throw Error(ErrorCode::kDtype,
                std::string(name) + " has the type " + std::string(ToString(input.dtype)) + ", expected BOOL or U8");
  }
  return reinterpret_cast<const std::uint8_t*>(input.bytes.data());
}

const std::int32_t* Arguments::Counts(std::string_view name, const Given& input, Index most) {
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

}  // namespace headlens
