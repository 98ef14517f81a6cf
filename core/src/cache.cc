// SPDX-License-Identifier: Apache-2.0
#include "headlens/cache.h"

#include <algorithm>

#include "checks.h"

namespace headlens {
namespace {

/// Tokens [first, first + count).
View<float, 4> Part(const Tensor& store, Index first, Index count) {
  View<float, 4> view = store.view<4>();
  view.data += first * view.strides[2];
  view.shape[2] = count;
  return view;
}

}  // namespace

KvCache::KvCache(Index window, const Backend& backend) : window_(window), backend_(&backend) {
  if (window < 0)
    throw Error(ErrorCode::kValue, "the window of a cache is " + std::to_string(window) + ", expected 0 or more");
}

void KvCache::Append(View<const float, 4> k, View<const float, 4> v) {
  if (!k || !v) throw Error(ErrorCode::kShape, "a cache needs both keys and values");
  if (length() == 0 && !k_.data()) {
    batch_ = k.shape[0], heads_ = k.shape[1], k_width_ = k.shape[3], v_width_ = v.shape[3];
  }
  const Index tokens = k.shape[2];
  ExpectSizes("k", SizesOf(k), {batch_, heads_, tokens, k_width_});
  ExpectSizes("v", SizesOf(v), {batch_, heads_, tokens, v_width_});
  // The first new query reaches window − 1 keys back, beside its own.
  const Index left = reachable();
  begin_ += kept_ - left;
  first_ += kept_ - left;
  kept_ = left;
  Reserve(tokens);
  backend_->Copy(k, Part(k_, begin_ + kept_, tokens));
  backend_->Copy(v, Part(v_, begin_ + kept_, tokens));
  kept_ += tokens;
}

/// Room for so many more: what is kept moves to the front, into twice the space when it would fill most of it.
void KvCache::Reserve(Index tokens) {
  if (k_.data() && begin_ + kept_ + tokens <= capacity_) return;
  const Index need = kept_ + tokens;
  const Index capacity = 2 * need <= capacity_ ? capacity_ : std::max<Index>(2 * need, 16);
  const auto moved = [&](const Tensor& store, Index width) {
    Tensor larger = backend_->Allocate({batch_, heads_, capacity, width});
    if (kept_ > 0) backend_->Copy(Kept(store), Part(larger, 0, kept_));
    return larger;
  };
  Tensor k = moved(k_, k_width_), v = moved(v_, v_width_);
  k_ = std::move(k), v_ = std::move(v);
  capacity_ = capacity;
  begin_ = 0;
}

View<const float, 4> KvCache::Kept(const Tensor& store) const {
  if (!store.data()) return {};
  return Part(store, begin_, kept_);
}

void KvCache::Truncate(Index length) {
  if (length < first_ || length > this->length()) {
    throw Error(ErrorCode::kValue, "a cache of the tokens " + std::to_string(first_) + " to " +
                                       std::to_string(this->length()) + " cannot be cut to " + std::to_string(length));
  }
  if (length == 0) return Reset();
  kept_ = length - first_;
}

void KvCache::Reset() { *this = KvCache(window_, *backend_); }

}  // namespace headlens
