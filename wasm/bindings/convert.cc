// SPDX-License-Identifier: Apache-2.0
#include "convert.h"

#include <emscripten/em_js.h>

#include <cstdint>
#include <exception>
#include <new>
#include <string_view>
#include <vector>

// One call makes a whole tensor. Embind's own way, a call for each property and one for the copy, would be a third of a
// small call's time.
EM_JS_DEPS(headlens_convert, "$Emval")
EM_JS(emscripten::EM_VAL, NewTensor, (const float* values, std::size_t count, emscripten::EM_VAL shape), {
  const begin = values >>> 2;
  return Emval.toHandle({data : HEAPF32.slice(begin, begin + count), shape : Emval.toValue(shape)});
})
EM_JS(void, SetFloats, (emscripten::EM_VAL to, std::size_t at, const float* values, std::size_t count), {
  const begin = values >>> 2;
  Emval.toValue(to).set(HEAPF32.subarray(begin, begin + count), at);
})

namespace headlens {
namespace {

val Failure(std::string_view code, const std::string& message) {
  val error = val::object(), failure = val::object();
  error.set("code", std::string(code));
  error.set("message", message);
  failure.set("error", error);
  return failure;
}

/// The error as data, in which JavaScript spells the marked names.
val Failure(const Error& error) {
  const val failure = Failure(ToString(error.code()), error.message().marked());
  val data = failure["error"];
  data.set("argument", error.argument().marked());
  data.set("got", error.got().marked());
  data.set("expected", error.expected().marked());
  return failure;
}

DType ParseDType(const std::string& name) {
  if (name == "f32") return DType::kF32;
  if (name == "i32") return DType::kI32;
  if (name == "u8") return DType::kU8;
  throw DtypeError("an input", name, "f32, i32 or u8");
}

Shape ShapeFromJs(const val& array) {
  const auto sizes = emscripten::convertJSArrayToNumberVector<double>(array);
  return Shape(sizes.begin(), sizes.end());
}

}  // namespace

val Guarded(val (*call)(const void* closure), const void* closure) {
  try {
    return call(closure);
  } catch (const Error& error) {
    return Failure(error);
  } catch (const std::bad_alloc&) {
    return Failure("memory", "out of memory");
  } catch (const std::exception& error) {
    return Failure("internal", error.what());
  }
}

const Keys& TensorKeys() {
  static const Keys keys;
  return keys;
}

val ShapeToJs(const Shape& shape) { return val::array(std::vector<double>(shape.begin(), shape.end())); }

val TensorToJs(const Tensor& tensor) {
  const val shape = ShapeToJs(tensor.shape());
  return val::take_ownership(NewTensor(tensor.data(), tensor.values().size(), shape.as_handle()));
}

void CopyTo(const val& array, std::size_t at, std::span<const float> values) {
  SetFloats(array.as_handle(), at, values.data(), values.size());
}

val Fillable(std::span<std::byte> bytes, DType dtype) {
  const auto view = [&]<class T>(T* data) {
    return val(emscripten::typed_memory_view(bytes.size() / sizeof(T), data));
  };
  if (dtype == DType::kF32) return view(reinterpret_cast<float*>(bytes.data()));
  if (dtype == DType::kI32) return view(reinterpret_cast<std::int32_t*>(bytes.data()));
  return view(reinterpret_cast<std::uint8_t*>(bytes.data()));
}

void FeedAny(void* to, Declaration declare, const val& inputs) {
  const Keys& keys = TensorKeys();
  const int count = inputs["length"].as<int>();
  for (int i = 0; i < count; ++i) {
    const val input = inputs[i];
    const DType dtype = ParseDType(input[keys.dtype].as<std::string>());
    const std::span<std::byte> bytes =
        declare(to, input[keys.name].as<std::string>(), dtype, ShapeFromJs(input[keys.shape]));
    Fillable(bytes, dtype).call<void>("set", input[keys.data]);
  }
}

}  // namespace headlens
