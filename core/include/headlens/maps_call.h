// SPDX-License-Identifier: Apache-2.0
/// Maps of given queries and keys, for callers who have named tensors and JSON, such as the npm package.
#ifndef HEADLENS_MAPS_CALL_H_
#define HEADLENS_MAPS_CALL_H_

#include <memory>
#include <span>
#include <string_view>

#include "headlens/attention_maps.h"
#include "headlens/backend.h"

namespace headlens {

/// The maps of queries and keys. It is given named tensors, which it keeps, and then its options.
class MapsCall {
 public:
  /// The option `backend` names one of `backends`, which must outlive the call.
  explicit MapsCall(std::span<const Backend* const> backends = Backends());
  ~MapsCall();
  MapsCall(MapsCall&&) noexcept;
  MapsCall& operator=(MapsCall&&) noexcept;

  /// Declares a tensor and returns its storage, dense and row-major, which the caller fills before Read: `query`
  /// [B, H, T, d] and `key` [B, G, S, d], both with B or also H left out, and the masks, position biases and sinks of
  /// scaled_dot_product_attention. Throws kOption for another name.
  std::span<std::byte> Input(std::string_view name, DType dtype, const Shape& shape);

  /// Reads the tensors, and from a JSON object those options of scaled_dot_product_attention that decide its weights.
  /// Throws kOption for any other option, and kShape, kDtype or kValue for what does not fit.
  void Read(std::string_view options = "{}");

  /// The maps, once they were read. Borrowed from this call.
  const AttentionMaps& maps() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlens

#endif  // HEADLENS_MAPS_CALL_H_
