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

#include "headlens/analysis.h"
#include "headlens/backend.h"
#include "headlens/checkpoint.h"
#include "headlens/head_finder.h"
#include "headlens/image.h"
#include "headlens/model.h"
#include "headlens/preprocess.h"
#include "headlens/problem.h"
#include "headlens/version.h"
#include "threads.h"

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

/// What tensors are made of, as JavaScript's own strings: to make one for each access would be most of a small call's
/// time.
struct Keys {
  const val name{"name"}, dtype{"dtype"}, shape{"shape"}, data{"data"};
};

const Keys& TensorKeys() {
  static const Keys keys;
  return keys;
}

val TensorToJs(const Tensor& tensor) {
  val object = val::object();
  object.set(TensorKeys().data, Copy(std::span<const float>(tensor.values())));
  object.set(TensorKeys().shape, ShapeToJs(tensor.shape()));
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

/// Copies `inputs`, an array of { name, dtype, shape, data }, to where `to` wants them. The data are typed arrays of
/// the package's own, as long as their shapes say, which is checked in TypeScript after the last of the page's code has
/// run: reading them runs none, which could come back here, and fills all that is declared.
template <class T>
void Feed(T& to, const val& inputs) {
  const Keys& keys = TensorKeys();
  const int count = inputs["length"].as<int>();
  for (int i = 0; i < count; ++i) {
    const val input = inputs[i];
    const DType dtype = ParseDType(input[keys.dtype].as<std::string>());
    const std::span<std::byte> bytes =
        to.Input(input[keys.name].as<std::string>(), dtype, ShapeFromJs(input[keys.shape]));
    Fillable(bytes, dtype).call<void>("set", input[keys.data]);
  }
}

val TensorsToJs(const Results& results) {
  val tensors = val::object();
  for (const auto& [name, tensor] : results) tensors.set(name, TensorToJs(tensor));
  return tensors;
}

val ViewOf(const Tensor& tensor) { return val(emscripten::typed_memory_view(tensor.values().size(), tensor.data())); }

/// { data, shape } of each, whose data are views. These come last: making names and shapes may make memory grow, which
/// takes from views what they look at.
val ViewsToJs(const Results& results) {
  val tensors = val::object();
  std::vector<val> objects;
  for (const auto& [name, tensor] : results) {
    objects.push_back(val::object());
    objects.back().set(TensorKeys().shape, ShapeToJs(tensor.shape()));
    tensors.set(name, objects.back());
  }
  auto object = objects.begin();
  for (const auto& [name, tensor] : results) (object++)->set(TensorKeys().data, ViewOf(tensor));
  return tensors;
}

class CacheHandle {
 public:
  CacheHandle(Index window, DType dtype) : cache_(window, SimdBackend(), dtype) {}

  double Length() const { return static_cast<double>(cache_.length()); }
  void Reset() { cache_.Reset(); }
  /// Takes back the tokens of the last run, whose results could not be handed over.
  void Truncate(double length) { cache_.Truncate(static_cast<Index>(length)); }
  KvCache& cache() { return cache_; }

 private:
  KvCache cache_;
};

class ProblemHandle {
 public:
  ProblemHandle(const std::string& op, const std::string& options)
      : op_(op),
        options_(options),
        problem_(op, options, EngineBackends()),
        parameter_count_(problem_.ParameterCount()) {}

  /// All parameters at once. Those that do not fit leave the ones before in place.
  val Load(const val& parameters) {
    return Guard([&] {
      kept_.reset();
      Problem fresh(op_, options_, EngineBackends());
      Feed(fresh, parameters);
      fresh.Build();
      problem_ = std::move(fresh);
      return val::undefined();
    });
  }

  /// Each result as { data, shape }, whose data are a view. They are to be copied, and then released.
  val Run(const val& inputs, const std::string& options, CacheHandle* cache) {
    return Guard([&] {
      // Whatever ends this call, nothing of it may reach the next one.
      const auto drop = [](Problem* problem) { problem->DropInputs(); };
      const std::unique_ptr<Problem, decltype(drop)> fed(&problem_, drop);
      kept_.reset();
      Feed(problem_, inputs);
      Problem::Call call = problem_.Prepare(options, cache ? &cache->cache() : nullptr);
      const Results& results = call.Run();
      kept_.emplace(std::move(call), results);
      return ViewsToJs(results);
    });
  }

  /// Frees what the last run holds, unless it is small and can be repeated.
  void Release() {
    if (kept_ && !(kept_->call.repeatable() && BytesOf(*kept_) <= kMostKept)) kept_.reset();
  }

  /// { inputs, results } of the last run: views by name, and results as Run has them; undefined when it was released.
  val Kept() const {
    if (!kept_) return val::undefined();
    const std::vector<Problem::Call::Input> given = kept_->call.Inputs();
    std::vector<val> names;
    for (const auto& input : given) names.emplace_back(std::string(input.name));
    val inputs = val::object(), kept = val::object();
    kept.set("results", ViewsToJs(kept_->results));
    for (std::size_t i = 0; i < given.size(); ++i) inputs.set(names[i], Fillable(given[i].bytes, given[i].dtype));
    kept.set("inputs", inputs);
    return kept;
  }

  /// Runs the kept call with what its inputs hold now.
  val Repeat() {
    return Guard([&] {
      if (!kept_) throw Error(ErrorCode::kOption, "there is no call to repeat");
      kept_->call.Run();
      return val::undefined();
    });
  }

  double ParameterCount() const { return static_cast<double>(parameter_count_); }

 private:
  struct KeptCall {
    Problem::Call call;
    const Results& results;
  };
  /// What a call that is kept may hold until the next one: enough for those whose time goes to the call.
  static constexpr std::size_t kMostKept = std::size_t{1} << 22;

  static std::size_t BytesOf(const KeptCall& kept) {
    std::size_t bytes = 0;
    for (const auto& input : kept.call.Inputs()) bytes += input.bytes.size();
    for (const auto& [name, tensor] : kept.results) bytes += tensor.values().size_bytes();
    return bytes;
  }

  std::string op_, options_;
  Problem problem_;
  std::optional<KeptCall> kept_;  // borrows from problem_, and goes before it
  Index parameter_count_;
};

/// In what a cache keeps keys and values.
DType KeptAs(bool halves) { return halves ? DType::kBF16 : DType::kF32; }

val CreateCache(double window, bool halves) {
  return Guard([&] { return val(std::make_unique<CacheHandle>(static_cast<Index>(window), KeptAs(halves))); });
}

/// `inputs` is an array of { name, dtype, shape, data }; gives { tensors, values }, the latter as JSON.
val Analyze(const std::string& name, const val& inputs, const std::string& options) {
  return Guard([&] {
    Analysis analysis(name);
    Feed(analysis, inputs);
    const AnalysisResults results = analysis.Run(options);
    val answer = val::object();
    answer.set("tensors", TensorsToJs(results.tensors));
    answer.set("values", results.values);
    return answer;
  });
}

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

/// What JavaScript gives a model: { ids, segments, padding, image } and { headMask, zeroedToken, zeroedLayer }, each
/// absent or of the right kind.
class ModelCall {
 public:
  ModelCall(const ModelInfo& info, const val& given) {
    const auto fill = [&]<class T>(const char* key, std::vector<T>& to) {
      if (!given[key].isUndefined()) to = emscripten::convertJSArrayToNumberVector<T>(given[key]);
    };
    const auto number = [&](const char* key) -> Index {
      return given[key].isUndefined() ? -1 : static_cast<Index>(given[key].as<double>());
    };
    const auto flag = [&](const char* key) { return !given[key].isUndefined() && given[key].as<bool>(); };
    fill("ids", ids_);
    fill("segments", segments_);
    fill("padding", padding_);
    fill("image", image_);
    fill("headMask", head_mask_);
    input.ids = ids_;
    input.segments = segments_;
    input.padding = padding_;
    if (!given["image"].isUndefined()) {
      const std::array<Index, 3> shape = {info.channels, info.image_size, info.image_size};
      ExpectCount("image", image_.size(), {shape[0], shape[1], shape[2]});
      input.image = DenseView(static_cast<const float*>(image_.data()), shape);
    }
    if (!given["headMask"].isUndefined()) {
      ExpectCount("head_mask", head_mask_.size(), {info.layers, info.heads});
      options.head_mask =
          DenseView(static_cast<const float*>(head_mask_.data()), std::array<Index, 2>{info.layers, info.heads});
    }
    options.zeroed_token = number("zeroedToken");
    options.zeroed_layer = number("zeroedLayer");
    options.keep_hidden = flag("keepHidden");
    options.keep_values = flag("keepValues");
  }

  ModelInput input;
  AttendOptions options;

 private:
  static void ExpectCount(const char* name, std::size_t count, const Shape& shape) {
    if (static_cast<Index>(count) == ElementCount(shape)) return;
    throw Error(ErrorCode::kShape,
                std::string(name) + " has " + std::to_string(count) + " values, expected shape " + ToString(shape));
  }

  std::vector<std::int32_t> ids_, segments_;
  std::vector<std::uint8_t> padding_;
  std::vector<float> image_, head_mask_;
};

class AttentionHandle {
 public:
  /// The attention shares the model, and so outlives it whatever JavaScript deletes first.
  AttentionHandle(ModelAttention attention, const ModelInfo& info) : attention_(std::move(attention)), info_(info) {}

  double Length() const { return static_cast<double>(attention_.length()); }

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
      colors.causal = info_.causal;
      return Image(map.view<2>(), colors);
    });
  }

  val Logits(int row_begin, int row_end) const {
    return Guard([&] { return TensorToJs(attention_.Logits(row_begin, row_end)); });
  }

  /// Before `layer`; after the last when there is none of that number.
  val Hidden(int layer) const {
    return Guard([&] { return TensorToJs(layer == info_.layers ? attention_.hidden() : attention_.Hidden(layer)); });
  }

  val Queries(int layer) const {
    return Guard([&] { return HeadsToJs(attention_.Queries(layer), info_.heads); });
  }
  val Keys(int layer) const {
    return Guard([&] { return HeadsToJs(attention_.Keys(layer), info_.kv_heads); });
  }
  val Values(int layer) const {
    return Guard([&] { return HeadsToJs(attention_.Values(layer), info_.kv_heads); });
  }

 private:
  /// [T, heads · d] → [heads, T, d]
  static val HeadsToJs(const Tensor& rows, Index heads) {
    const Index length = rows.shape()[0], width = rows.shape()[1] / heads;
    const Tensor by_head({heads, length, width});
    for (Index h = 0; h < heads; ++h)
      for (Index t = 0; t < length; ++t)
        std::copy_n(rows.view<2>().at(t, h * width), width, by_head.view<3>().at(h, t));
    return TensorToJs(by_head);
  }

  ModelAttention attention_;
  ModelInfo info_;
};

class DecodingHandle {
 public:
  explicit DecodingHandle(Decoding decoding) : decoding_(std::move(decoding)) {}

  val Step(const val& ids) {
    return Guard([&] {
      decoding_.Step(emscripten::convertJSArrayToNumberVector<std::int32_t>(ids));
      return val::undefined();
    });
  }

  val Map(int layer, int head) const {
    return Guard([&] {
      const Tensor map({decoding_.rows(), decoding_.length() - decoding_.first_key()});
      decoding_.Map(layer, head, map.view<2>());
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

/// Scores a model's heads, text by text and head by head.
class FinderHandle {
 public:
  FinderHandle(Model model, FinderOptions options)
      : model_(std::move(model)), metrics_(options.metrics), finder_(HeadsOf(model_, {}), std::move(options)) {}

  val Begin(const val& given) {
    return Guard([&] {
      auto call = std::make_unique<const ModelCall>(model_.info(), given);
      finder_.Begin(TextHeadsOf(model_, call->input));
      call_ = std::move(call);  // what the text before borrowed is gone with it
      return val::undefined();
    });
  }

  val Next() {
    return Guard([&] { return val(finder_.Next()); });
  }

  /// [{ layer, head, scores: { name: { mean, texts, nValid } } }] by the first metric; a mean without a value is null.
  val Heads(bool ascending) const {
    return Guard([&] {
      std::vector<ScoredHead> heads = finder_.Heads();
      RankHeads(heads, 0, ascending);
      val all = val::array();
      for (const ScoredHead& head : heads) {
        val scores = val::object(), ranked = val::object();
        for (std::size_t m = 0; m < metrics_.size(); ++m) scores.set(metrics_[m], ScoreToJs(head.scores[m]));
        ranked.set("layer", static_cast<double>(head.layer));
        ranked.set("head", static_cast<double>(head.head));
        ranked.set("scores", scores);
        all.call<void>("push", ranked);
      }
      return all;
    });
  }

 private:
  static val ScoreToJs(const HeadScore& score) {
    val object = val::object();
    object.set("mean", score.mean ? val(*score.mean) : val::null());
    object.set("texts", static_cast<double>(score.texts));
    object.set("nValid", static_cast<double>(score.n_valid));
    return object;
  }

  Model model_;
  std::vector<std::string> metrics_;
  std::unique_ptr<const ModelCall> call_;
  HeadFinder finder_;  // borrows from call_, and goes before it
};

class ModelHandle {
 public:
  ModelHandle(const std::string& config, double max_bytes)
      : config_(config), info_(ReadModelInfo(config)), checkpoint_(static_cast<Index>(max_bytes)) {}

  val BeginFile(double byte_length) {
    return Guard([&] {
      const bool known = byte_length >= 0;
      return val(checkpoint_.Begin(known ? std::optional<Index>(static_cast<Index>(byte_length)) : std::nullopt));
    });
  }

  val Next(int file) {
    return Guard([&] {
      const std::span<std::byte> next = checkpoint_.Next(file);
      return val(emscripten::typed_memory_view(next.size(), reinterpret_cast<std::uint8_t*>(next.data())));
    });
  }

  val Advance(int file, double count) {
    return Guard([&] {
      checkpoint_.Advance(file, static_cast<Index>(count));
      return val::undefined();
    });
  }

  val Build() {
    return Guard([&] {
      Checkpoint checkpoint = std::move(checkpoint_);
      checkpoint_ = Checkpoint(0);
      model_.emplace(config_, checkpoint.Parameters(), FindBackend("simd", EngineBackends()));
      info_ = model_->info();
      return val::undefined();
    });
  }

  val Info() const {
    val info = val::object();
    const auto set = [&](const char* key, Index value) { info.set(key, static_cast<double>(value)); };
    info.set("family", info_.family);
    info.set("causal", info_.causal);
    set("layers", info_.layers);
    set("heads", info_.heads);
    set("kvHeads", info_.kv_heads);
    set("headDim", info_.head_dim);
    set("embedDim", info_.hidden_size);
    set("vocabSize", info_.vocab_size);
    set("maxPositions", info_.max_positions);
    set("segments", info_.segments);
    set("window", info_.window);
    set("imageSize", info_.image_size);
    set("patchSize", info_.patch_size);
    set("channels", info_.channels);
    set("logits", info_.logits);
    return info;
  }

  /// RGBA bytes to [3, image_size, image_size], flat.
  val Preprocess(const val& rgba, int width, int height, const std::string& processor) const {
    return Guard([&] {
      const auto bytes = emscripten::convertJSArrayToNumberVector<std::uint8_t>(rgba);
      const ImageProcessor settings = processor.empty() ? ImageProcessor() : ReadImageProcessor(processor);
      return TensorToJs(headlens::Preprocess(bytes, width, height, info_.image_size, settings));
    });
  }

  val Attend(const val& given) const {
    return Guard([&] {
      const ModelCall call(info_, given);
      return val(std::make_unique<AttentionHandle>(Built().Attend(call.input, call.options), info_));
    });
  }

  val StartDecoding(bool halves) const {
    return Guard([&] { return val(std::make_unique<DecodingHandle>(Built().StartDecoding(KeptAs(halves)))); });
  }

  /// { q, k, v, o, norm? } of a layer.
  val LayerWeights(int layer) const {
    return Guard([&] {
      val weights = val::object();
      for (const auto& [name, projection] : {std::pair("q", Projection::kQuery), std::pair("k", Projection::kKey),
                                             std::pair("v", Projection::kValue), std::pair("o", Projection::kOutput)}) {
        weights.set(name, TensorToJs(Built().Weights(layer, projection)));
      }
      if (const Tensor* norm = Built().AttentionNorm(layer)) weights.set("norm", TensorToJs(*norm));
      return weights;
    });
  }

  val Embedding() const {
    return Guard([&] { return TableToJs(Built().embedding()); });
  }
  /// With the last norm's γ folded in, as the copying scores have it.
  val Unembedding() const {
    return Guard([&] { return TableToJs(Built().unembedding(), Built().FinalNorm()); });
  }

  /// `metrics` and `special_tokens` are arrays, or undefined.
  val FindHeads(const val& metrics, const val& special_tokens) const {
    return Guard([&] {
      FinderOptions options;
      if (!metrics.isUndefined()) options.metrics = emscripten::vecFromJSArray<std::string>(metrics);
      if (!special_tokens.isUndefined())
        options.special_tokens = emscripten::convertJSArrayToNumberVector<std::int32_t>(special_tokens);
      return val(std::make_unique<FinderHandle>(Built(), std::move(options)));
    });
  }

 private:
  /// undefined where there is none.
  static val TableToJs(const LinearWeights* table, const Tensor* scale = nullptr) {
    if (!table) return val::undefined();
    Tensor rows({table->out_features(), table->in_features()});
    for (Index row = 0; row < table->out_features(); ++row) {
      float* values = rows.view<2>().at(row);
      table->CopyRow(row, {values, static_cast<std::size_t>(table->in_features())});
      for (Index i = 0; scale && i < scale->size(); ++i) values[i] *= scale->data()[i];
    }
    return TensorToJs(rows);
  }

  const Model& Built() const {
    if (!model_) throw Error(ErrorCode::kOption, "the model is not built yet");
    return *model_;
  }

  std::string config_;
  ModelInfo info_;
  Checkpoint checkpoint_;
  std::optional<Model> model_;
};

val CreateProblem(const std::string& op, const std::string& options) {
  return Guard([&] { return val(std::make_unique<ProblemHandle>(op, options)); });
}

val CreateModel(const std::string& config, double max_bytes) {
  return Guard([&] { return val(std::make_unique<ModelHandle>(config, max_bytes)); });
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

/// An array of ThreadStart.
val StartThreadsForJs(int threads) {
  return Guard([&] {
    val starts = val::array();
    for (const ThreadStart& start : StartThreads(threads)) {
      val object = val::object();
      object.set("prepare", start.prepare);
      object.set("serve", start.serve);
      object.set("giveUp", start.give_up);
      object.set("stack", start.stack);
      object.set("stackBytes", start.stack_bytes);
      object.set("worker", start.worker);
      starts.call<void>("push", object);
    }
    return starts;
  });
}

double HeapBytes() { return static_cast<double>(mallinfo().uordblks); }

}  // namespace

EMSCRIPTEN_BINDINGS(headlens) {
  emscripten::function("version", +[] { return std::string(Version()); });
  emscripten::function("simdTarget", +[] { return std::string(SimdTarget()); });
  emscripten::function("startThreads", &StartThreadsForJs);
  emscripten::function("heapBytes", &HeapBytes);
  emscripten::function("createProblem", &CreateProblem);
  emscripten::function("createCache", &CreateCache);
  emscripten::function("analyze", &Analyze);
  emscripten::function("createModel", &CreateModel);
  emscripten::function("colorize", &ColorizeMatrix);
  emscripten::function("colorbar", &Colorbar);
  emscripten::class_<ProblemHandle>("Problem")
      .function("load", &ProblemHandle::Load)
      .function("run", &ProblemHandle::Run, emscripten::allow_raw_pointers())
      .function("release", &ProblemHandle::Release)
      .function("kept", &ProblemHandle::Kept)
      .function("repeat", &ProblemHandle::Repeat)
      .function("parameterCount", &ProblemHandle::ParameterCount);
  emscripten::class_<CacheHandle>("Cache")
      .function("length", &CacheHandle::Length)
      .function("reset", &CacheHandle::Reset)
      .function("truncate", &CacheHandle::Truncate);
  emscripten::class_<ModelHandle>("Model")
      .function("beginFile", &ModelHandle::BeginFile)
      .function("next", &ModelHandle::Next)
      .function("advance", &ModelHandle::Advance)
      .function("build", &ModelHandle::Build)
      .function("info", &ModelHandle::Info)
      .function("preprocess", &ModelHandle::Preprocess)
      .function("attend", &ModelHandle::Attend)
      .function("startDecoding", &ModelHandle::StartDecoding)
      .function("findHeads", &ModelHandle::FindHeads)
      .function("layerWeights", &ModelHandle::LayerWeights)
      .function("embedding", &ModelHandle::Embedding)
      .function("unembedding", &ModelHandle::Unembedding);
  emscripten::class_<AttentionHandle>("Attention")
      .function("length", &AttentionHandle::Length)
      .function("map", &AttentionHandle::Map)
      .function("pixels", &AttentionHandle::Pixels)
      .function("logits", &AttentionHandle::Logits)
      .function("hidden", &AttentionHandle::Hidden)
      .function("queries", &AttentionHandle::Queries)
      .function("keys", &AttentionHandle::Keys)
      .function("values", &AttentionHandle::Values);
  emscripten::class_<FinderHandle>("HeadFinder")
      .function("begin", &FinderHandle::Begin)
      .function("next", &FinderHandle::Next)
      .function("heads", &FinderHandle::Heads);
  emscripten::class_<DecodingHandle>("Decoding")
      .function("step", &DecodingHandle::Step)
      .function("map", &DecodingHandle::Map)
      .function("logits", &DecodingHandle::Logits)
      .function("length", &DecodingHandle::Length)
      .function("firstKey", &DecodingHandle::FirstKey)
      .function("reset", &DecodingHandle::Reset);
}

}  // namespace headlens
