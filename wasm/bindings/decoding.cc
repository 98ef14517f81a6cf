// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <utility>

#include "handles.h"

namespace headlens {
namespace {

/// A text that a model reads step by step.
class DecodingHandle {
 public:
  explicit DecodingHandle(Decoding decoding) : decoding_(std::move(decoding)) {}

  val Step(const val& ids) {
    return Guard([&] {
      decoding_.Step(emscripten::convertJSArrayToNumberVector<std::int32_t>(ids));
      return val::undefined();
    });
  }

  /// Gives a head's map of the last step, or that of the attention to the source.
  val Map(int layer, int head, bool cross) const {
    return Guard([&] {
      const Index keys = cross ? decoding_.source_length() : decoding_.length() - decoding_.first_key();
      const Tensor map({decoding_.rows(), keys});
      cross ? decoding_.CrossMap(layer, head, map.view<2>()) : decoding_.Map(layer, head, map.view<2>());
      return TensorToJs(map);
    });
  }

  val Logits(int row_begin, int row_end) const {
    return Guard([&] { return TensorToJs(decoding_.Logits(row_begin, row_end)); });
  }

  double Length() const { return static_cast<double>(decoding_.length()); }
  double FirstKey() const { return static_cast<double>(decoding_.first_key()); }
  void Reset() { decoding_.Reset(); }

 private:
  Decoding decoding_;
};

EMSCRIPTEN_BINDINGS(decoding) {
  emscripten::class_<DecodingHandle>("Decoding")
      .function("step", &DecodingHandle::Step)
      .function("map", &DecodingHandle::Map)
      .function("logits", &DecodingHandle::Logits)
      .function("length", &DecodingHandle::Length)
      .function("firstKey", &DecodingHandle::FirstKey)
      .function("reset", &DecodingHandle::Reset);
}

}  // namespace

val DecodingToJs(Decoding decoding) { return val(std::make_unique<DecodingHandle>(std::move(decoding))); }

}  // namespace headlens
