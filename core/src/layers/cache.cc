// SPDX-License-Identifier: Apache-2.0
#include "headlens/cache.h"

#include <algorithm>
#include <cstring>

#include "base/checks.h"

namespace headlens {
namespace {

/// Tokens [first, first + count).
DeviceView<float, 4> Part(const DeviceTensor& store, Index first, Index count) {
  DeviceView<float, 4> view = store.view<4>();
  view.data = view.at(0, 0, first);
  view.shape[2] = count;
  return view;
}

}  // namespace

KvCache::KvCache(Index window, const Backend& backend, DType dtype)
    : window_(window), backend_(&backend), dtype_(dtype) {
  if (window < 0) throw ValueError("`window`", window, "0 or more");
  if (dtype != DType::kF32 && dtype != DType::kBF16) throw DtypeError("a cache", ToString(dtype), "F32 or BF16");
}

void KvCache::Append(DeviceView<const float, 4> k, DeviceView<const float, 4> v) {
  if (!k || !v) throw MissingError(ErrorCode::kShape, k ? "`v`" : "`k`");
  if (length() == 0 && !k_) {
    batch_ = k.shape[0], heads_ = k.shape[1], k_width_ = k.shape[3], v_width_ = v.shape[3];
  }
  const Index tokens = k.shape[2];
  ExpectSizes("`k`", SizesOf(k), {batch_, heads_, tokens, k_width_});
  ExpectSizes("`v`", SizesOf(v), {batch_, heads_, tokens, v_width_});
  // The first new query looks back at window − 1 keys besides its own.
  const Index left = reachable();
  begin_ += kept_ - left;
  first_ += kept_ - left;
  kept_ = left;
  Reserve(tokens);
  Put(k, Part(k_, begin_ + kept_, tokens));
  Put(v, Part(v_, begin_ + kept_, tokens));
  kept_ += tokens;
}

/// Copies rows to the place where they are kept, rounding them when the cache keeps BF16.
void KvCache::Put(DeviceView<const float, 4> rows, DeviceView<float, 4> device_to) const {
  if (dtype_ == DType::kF32) return backend_->Copy(rows, device_to);
  const View<float, 4> to = device_to.host();
  const Tensor host(SizesOf(rows));
  backend_->Copy(rows, host.view<4>());
  for (Index b = 0; b < to.shape[0]; ++b)
    for (Index g = 0; g < to.shape[1]; ++g)
      for (Index s = 0; s < to.shape[2]; ++s) {
        const float* from = host.view<4>().at(b, g, s);
        auto* row = reinterpret_cast<std::byte*>(to.at(b, g, s));
        for (Index i = 0; i < rows.shape[3]; ++i, row += sizeof(std::uint16_t)) {
          const std::uint16_t bits = RoundToBf16(from[i]);
          std::memcpy(row, &bits, sizeof bits);
        }
      }
}

/// Makes room for more tokens: moves the kept ones to the front, and doubles the storage when all would fill more than
/// half of it.
void KvCache::Reserve(Index tokens) {
  if (k_ && begin_ + kept_ + tokens <= capacity_) return;
  const Index need = kept_ + tokens;
  const Index capacity = 2 * need <= capacity_ ? capacity_ : std::max<Index>(2 * need, 16);
  const auto moved = [&](const DeviceTensor& store, Index width) {
    const bool halves = dtype_ == DType::kBF16;
    const Shape shape{batch_, heads_, capacity, halves ? (width + 1) / 2 : width};
    DeviceTensor larger = halves ? DeviceTensor(Tensor(shape)) : backend_->Allocate(shape);
    if (kept_ > 0) backend_->Copy(Part(store, begin_, kept_), Part(larger, 0, kept_));
    return larger;
  };
  DeviceTensor k = moved(k_, k_width_), v = moved(v_, v_width_);
  k_ = std::move(k), v_ = std::move(v);
  capacity_ = capacity;
  begin_ = 0;
}

KeyValueView KvCache::Kept(const DeviceTensor& store, Index width) const {
  if (!store) return {};
  KeyValueView view = Part(store, begin_, kept_);
  if (dtype_ == DType::kF32) return view;
  view.dtype = dtype_;
  view.shape[3] = width;
  for (std::size_t i = 0; i < 3; ++i) view.strides[i] *= 2;
  return view;
}

void KvCache::Place(AttentionProblem& problem, std::optional<Index> first_query) const {
  const Index queries = problem.q.shape[2];
  if (!k_) throw Error(ErrorCode::kShape, "the cache holds no keys yet: append those of the queries first");
  if (!first_query && queries > length()) {
    throw Wrong(ErrorCode::kShape, "`query`", "has", {queries, " tokens"}, {"at most the ", length(), " in the cache"});
  }
  problem.k = k();
  problem.v = v();
  problem.key_offset = first_;
  // With bottom-right alignment, positions are counted so that the last query meets the last key.
  const bool from_the_end = problem.mask.causal_alignment == CausalAlignment::kBottomRight;
  problem.query_offset = first_query.value_or(length() - queries) - (from_the_end ? kept_ - queries : 0);
  if (window_ == 0) return;
  Index& left = problem.mask.window_left;
  left = left < 0 ? window_ - 1 : std::min(left, window_ - 1);
}

void KvCache::Truncate(Index length) {
  if (length < first_ || length > this->length()) {
    throw ValueError("`length`", length, {first_, " to ", this->length(), ", of the tokens in the cache"});
  }
  if (length == 0) return Reset();
  kept_ = length - first_;
}

void KvCache::Reset() { *this = KvCache(window_, *backend_, dtype_); }

}  // namespace headlens
