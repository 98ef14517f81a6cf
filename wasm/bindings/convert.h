// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_WASM_BINDINGS_CONVERT_H_
#define HEADLENS_WASM_BINDINGS_CONVERT_H_

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <cstddef>
#include <span>
#include <string>

#include "headlens/problem.h"

/// The bindings are the surface of the WebAssembly module, which src/module/module.ts mirrors. They alone know Embind,
/// and each file registers what it offers.
///
/// Calls that can fail return either their value or { error: { code, message } }. Nothing is thrown across the
/// boundary.
namespace headlens {

using emscripten::val;

/// Runs `call` on its closure and turns what it throws into a failure.
val Guarded(val (*call)(const void* closure), const void* closure);

/// The value of `call`, or the failure that its exception describes. The handlers are not repeated for each call: they
/// would be a good part of the module.
template <class F>
val Guard(const F& call) {
  return Guarded([](const void* closure) { return (*static_cast<const F*>(closure))(); }, &call);
}

/// A copy in memory of JavaScript's own.
template <class T>
val Copy(std::span<const T> values) {
  return val(emscripten::typed_memory_view(values.size(), values.data())).template call<val>("slice");
}

/// The properties that tensors have, as JavaScript's own strings. To make these strings for each access would be most
/// of a small call's time.
struct Keys {
  const val name{"name"}, dtype{"dtype"}, shape{"shape"}, data{"data"};
};

const Keys& TensorKeys();

val ShapeToJs(const Shape& shape);

/// { data, shape }, whose data are a copy.
val TensorToJs(const Tensor& tensor);

/// Copies the values into a Float32Array of JavaScript's own, from its element `at` on.
void CopyTo(const val& array, std::size_t at, std::span<const float> values);

/// A typed array over `bytes`. It is to be used at once: when memory grows, it looks at nothing any more.
val Fillable(std::span<std::byte> bytes, DType dtype);

/// Declares an input of `to`, and returns its storage.
using Declaration = std::span<std::byte> (*)(void* to, const std::string& name, DType dtype, const Shape& shape);
void FeedAny(void* to, Declaration declare, const val& inputs);

/// Copies `inputs`, an array of { name, dtype, shape, data }, to where `to` wants them. The data are typed arrays of
/// the package's own, as long as their shapes say. TypeScript checks that after the last of the page's code has run, so
/// that reading them runs no code, which could come back here, and fills all that is declared.
template <class T>
void Feed(T& to, const val& inputs) {
  FeedAny(
      &to,
      [](void* object, const std::string& name, DType dtype, const Shape& shape) {
        return static_cast<T*>(object)->Input(name, dtype, shape);
      },
      inputs);
}

}  // namespace headlens

#endif  // HEADLENS_WASM_BINDINGS_CONVERT_H_
