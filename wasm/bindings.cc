// SPDX-License-Identifier: Apache-2.0
/// The surface of the WebAssembly module, mirrored by src/module.ts. The only file that knows Embind.
///
/// Calls that can fail return either their value or { error: { code, message } }; nothing is thrown across the
/// boundary.
#include <emscripten/bind.h>
#include <emscripten/val.h>
#include <malloc.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "headlens/backend.h"
#include "headlens/decoder.h"
#include "headlens/image.h"
#include "headlens/problem.h"
#include "headlens/safetensors.h"
#include "headlens/version.h"

namespace headlens {
namespace {

using emscripten::val;

val Failure(std::string_view code, const std::string& message) {
  val error = val::object(), failure = val::object();
  error.set("code", std::string(code));
  error.set("message", message);
  failure.set("error", error);
  return failure;
}

/// The value of `call`, or the Failure that its exception describes.
template <class F>
val Guard(const F& call) {
  try {
    return call();
  } catch (const Error& error) {
    return Failure(ToString(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return Failure("memory", "out of memory");
  } catch (const std::exception& error) {
    return Failure("internal", error.what());
  }
}

/// A copy in memory of JavaScript's own.
template <class T>
val Copy(std::span<const T> values) {
  return val(emscripten::typed_memory_view(values.size(), values.data())).template call<val>("slice");
}

val ShapeToJs(const Shape& shape) {
  val array = val::array();
  for (std::size_t i = 0; i < shape.size(); ++i) array.set(i, static_cast<double>(shape[i]));
  return array;
}

val TensorToJs(const Tensor& tensor) {
  val object = val::object();
  object.set("data", Copy(std::span<const float>(tensor.values())));
  object.set("shape", ShapeToJs(tensor.shape()));
  return object;
}

/// Sizes are checked in TypeScript to be whole numbers that doubles hold exactly.
Shape ShapeFromJs(const val& array) {
  Shape shape;
  for (const double size : emscripten::vecFromJSArray<double>(array)) shape.push_back(static_cast<Index>(size));
  return shape;
}

/// A typed array over freshly declared bytes, to be filled at once.
val Fillable(std::span<std::byte> bytes, DType dtype) {
  const auto view = [&]<class T>(T* data) {
    return val(emscripten::typed_memory_view(bytes.size() / sizeof(T), data));
  };
  if (dtype == DType::kF32) return view(reinterpret_cast<float*>(bytes.data()));
  if (dtype == DType::kI32) return view(reinterpret_cast<std::int32_t*>(bytes.data()));
  return view(reinterpret_cast<std::uint8_t*>(bytes.data()));
}

DType ParseDType(const std::string& name) {
  if (name == "f32") return DType::kF32;
  if (name == "i32") return DType::kI32;
  if (name == "u8") return DType::kU8;
  throw Error(ErrorCode::kDtype, "the type is \"" + name + "\", expected f32, i32 or u8");
}

class ProblemHandle {
 public:
  ProblemHandle(const std::string& op, const std::string& options)
      : problem_(op, options), parameter_count_(problem_.ParameterCount()) {}

  val Input(const std::string& name, const std::string& dtype_name, const val& shape) {
    return Guard([&] {
      const DType dtype = ParseDType(dtype_name);
      return Fillable(problem_.Input(name, dtype, ShapeFromJs(shape)), dtype);
    });
  }

  val Run(const std::string& options) {
    return Guard([&] {
      results_.clear();
      results_ = problem_.Run(options);
      return val::undefined();
    });
  }

  val OutputNames() const {
    val names = val::array();
    for (const auto& [name, tensor] : results_) names.call<void>("push", name);
    return names;
  }

  /// Hands the result over: it is copied once and no longer kept.
  val Output(const std::string& name) {
    return Guard([&] {
      const auto it = results_.find(name);
      if (it == results_.end()) throw Error(ErrorCode::kOption, "there is no result \"" + name + "\"");
      const Tensor tensor = std::move(it->second);
      results_.erase(it);
      return TensorToJs(tensor);
    });
  }

  double ParameterCount() const { return static_cast<double>(parameter_count_); }

 private:
  Problem problem_;
  Index parameter_count_;
  Results results_;
};

ColorOptions ReadColorOptions(const val& options) {
  ColorOptions colors;
  const auto text = [&](const char* key) {
    return options[key].isUndefined() ? std::string() : options[key].as<std::string>();
  };
  const auto number = [&](const char* key) {
    return options[key].isUndefined() ? std::nullopt : std::optional<float>(options[key].as<float>());
  };
  if (text("colormap") == "diverging") colors.colormap = Colormap::kDiverging;
  if (text("theme") == "dark") colors.theme = Theme::kDark;
  colors.min = number("min");
  colors.max = number("max");
  colors.causal = !options["causal"].isUndefined() && options["causal"].as<bool>();
  return colors;
}

val ParseJson(const std::string& text) { return val::global("JSON").call<val>("parse", text); }

val Image(View<const float, 2> values, const ColorOptions& colors) {
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(ElementCount({values.shape[0], values.shape[1], 4})));
  Colorize(values, colors, rgba);
  val image = val::object();
  const val bytes = Copy(std::span<const std::uint8_t>(rgba));
  image.set("data", val::global("Uint8ClampedArray").new_(bytes["buffer"]));
  image.set("height", static_cast<double>(values.shape[0]));
  image.set("width", static_cast<double>(values.shape[1]));
  return image;
}

class AttentionHandle {
 public:
  /// Shares the model, which so outlives it whatever JavaScript deletes first.
  AttentionHandle(std::shared_ptr<const Decoder> decoder, std::span<const std::int32_t> ids, bool logits)
      : decoder_(std::move(decoder)), attention_(decoder_->Attend(ids)), logits_(logits) {}

  val Map(int layer, int head, int row_begin, int row_end, int pool_rows, int pool_cols) const {
    return Guard([&] {
      const Index rows = std::max(row_end - row_begin, 0), columns = attention_.length();
      const bool pooled = pool_rows > 0 && pool_cols > 0 && (pool_rows < rows || pool_cols < columns);
      const Tensor map(pooled ? Shape{std::min<Index>(pool_rows, rows), std::min<Index>(pool_cols, columns)}
                              : Shape{rows, columns});
      if (pooled) {
        attention_.PooledMap(layer, head, row_begin, row_end, map.view<2>());
      } else {
        attention_.Map(layer, head, row_begin, row_end, map.view<2>());
      }
      return TensorToJs(map);
    });
  }

  val Pixels(int layer, int head, const std::string& options) const {
    return Guard([&] {
      const Index length = attention_.length();
      const Tensor map({length, length});
      attention_.Map(layer, head, 0, length, map.view<2>());
      ColorOptions colors = ReadColorOptions(ParseJson(options));
      colors.causal = true;  // a decoder's maps are
      return Image(map.view<2>(), colors);
    });
  }

  val Logits() const {
    return Guard([&] {
      if (!logits_) throw Error(ErrorCode::kOption, "logits were not asked for: attend with { logits: true }");
      return TensorToJs(attention_.Logits());
    });
  }

 private:
  std::shared_ptr<const Decoder> decoder_;
  DecoderAttention attention_;
  bool logits_;
};

class ModelHandle {
 public:
  ModelHandle(const std::string& config, double byte_length)
      : config_(ParseDecoderConfig(config)), file_(ElementCount({static_cast<Index>(byte_length)})) {}

  val Weights() const {
    return val(emscripten::typed_memory_view(static_cast<std::size_t>(file_.size()),
                                             reinterpret_cast<std::uint8_t*>(file_.data())));
  }

  val Build() {
    return Guard([&] {
      const Buffer<std::byte> file = std::move(file_);
      const Safetensors tensors({file.data(), static_cast<std::size_t>(file.size())});
      decoder_ =
          std::make_shared<Decoder>(config_, [&](std::string_view name) { return tensors.Find(name); }, SimdBackend());
      return val::undefined();
    });
  }

  val Info() const {
    val info = val::object();
    const auto set = [&](const char* key, Index value) { info.set(key, static_cast<double>(value)); };
    set("layers", config_.layers);
    set("heads", config_.heads);
    set("kvHeads", config_.kv_heads);
    set("headDim", config_.head_dim);
    set("embedDim", config_.hidden_size);
    set("vocabSize", config_.vocab_size);
    set("maxPositions", config_.max_positions);
    return info;
  }

  val Attend(const val& ids, bool logits) const {
    return Guard([&] {
      if (!decoder_) throw Error(ErrorCode::kOption, "the model is not built yet");
      const std::vector<std::int32_t> tokens = emscripten::convertJSArrayToNumberVector<std::int32_t>(ids);
      return val(std::make_unique<AttentionHandle>(decoder_, tokens, logits));
    });
  }

 private:
  DecoderConfig config_;
  Buffer<std::byte> file_;
  std::shared_ptr<const Decoder> decoder_;
};

val CreateProblem(const std::string& op, const std::string& options) {
  return Guard([&] { return val(std::make_unique<ProblemHandle>(op, options)); });
}

val CreateModel(const std::string& config, double byte_length) {
  return Guard([&] { return val(std::make_unique<ModelHandle>(config, byte_length)); });
}

val ColorizeMatrix(const val& data, int rows, int cols, const std::string& options) {
  return Guard([&] {
    const Tensor values({rows, cols});
    val(emscripten::typed_memory_view(values.values().size(), values.data())).call<void>("set", data);
    return Image(values.view<2>(), ReadColorOptions(ParseJson(options)));
  });
}

val Colorbar(const std::string& options, int steps) {
  const ColorOptions colors = ReadColorOptions(ParseJson(options));
  std::vector<std::uint8_t> rgba;
  for (int i = 0; i < steps; ++i) {
    const Rgba color = ColorAt(colors.colormap, colors.theme,
                               steps > 1 ? static_cast<float>(i) / static_cast<float>(steps - 1) : 0.0f);
    rgba.insert(rgba.end(), color.begin(), color.end());
  }
  return val::global("Uint8ClampedArray").new_(Copy(std::span<const std::uint8_t>(rgba))["buffer"]);
}

double HeapBytes() { return static_cast<double>(mallinfo().uordblks); }

}  // namespace

EMSCRIPTEN_BINDINGS(headlens) {
  emscripten::function("version", +[] { return std::string(Version()); });
  emscripten::function("simdTarget", +[] { return std::string(SimdTarget()); });
  emscripten::function("heapBytes", &HeapBytes);
  emscripten::function("createProblem", &CreateProblem);
  emscripten::function("createModel", &CreateModel);
  emscripten::function("colorize", &ColorizeMatrix);
  emscripten::function("colorbar", &Colorbar);
  emscripten::class_<ProblemHandle>("Problem")
      .function("input", &ProblemHandle::Input)
      .function("run", &ProblemHandle::Run)
      .function("outputNames", &ProblemHandle::OutputNames)
      .function("output", &ProblemHandle::Output)
      .function("parameterCount", &ProblemHandle::ParameterCount);
  emscripten::class_<ModelHandle>("Model")
      .function("weights", &ModelHandle::Weights)
      .function("build", &ModelHandle::Build)
      .function("info", &ModelHandle::Info)
      .function("attend", &ModelHandle::Attend);
  emscripten::class_<AttentionHandle>("Attention")
      .function("map", &AttentionHandle::Map)
      .function("pixels", &AttentionHandle::Pixels)
      .function("logits", &AttentionHandle::Logits);
}

}  // namespace headlens
