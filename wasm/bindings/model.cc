// SPDX-License-Identifier: Apache-2.0
/// A model from its config.json and the bytes of its weights, which are fed piece by piece.
#include "headlens/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../threads.h"
#include "convert.h"
#include "handles.h"
#include "headlens/checkpoint.h"
#include "headlens/folder.h"
#include "headlens/model_call.h"
#include "headlens/preprocess.h"

namespace headlens {
namespace {

class ModelHandle {
 public:
  ModelHandle(const std::string& config, double max_bytes)
      : config_(config), info_(config_.info()), checkpoint_(static_cast<Index>(max_bytes)) {}

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
    set("encoderLayers", info_.encoder_layers);
    set("encoderHeads", info_.encoder_heads);
    set("encoderHeadDim", info_.encoder_head_dim);
    info.set("encoderScale", info_.encoder_scale);
    set("startToken", info_.start_token);
    set("heads", info_.heads);
    set("kvHeads", info_.kv_heads);
    set("headDim", info_.head_dim);
    set("embedDim", info_.hidden_size);
    set("vocabSize", info_.vocab_size);
    set("maxPositions", info_.max_positions);
    set("segments", info_.segments);
    info.set("windows", ShapeToJs(info_.windows));
    info.set("scales", val::array(info_.scales));
    set("imageSize", info_.image_size);
    set("patchSize", info_.patch_size);
    set("channels", info_.channels);
    info.set("prefix", val::array(info_.prefix));
    set("logits", info_.logits);
    info.set("labels", val::array(info_.labels));
    return info;
  }

  /// Turns RGBA bytes into [3, side, side].
  val Preprocess(const val& rgba, int width, int height, const std::string& processor) const {
    return Guard([&] {
      const auto bytes = emscripten::convertJSArrayToNumberVector<std::uint8_t>(rgba);
      const ImageProcessor settings = processor.empty() ? ImageProcessor() : ReadImageProcessor(processor);
      return TensorToJs(headlens::Preprocess(bytes, width, height, info_.image_size, settings));
    });
  }

  val Attend(const val& inputs, const std::string& options, bool at_once) const {
    return Guard([&] { return BeginRun(inputs, options, at_once, Built(), nullptr); });
  }

  val StartDecoding(const val& inputs, const std::string& options) const {
    return Guard([&] {
      ModelCall call(info_);
      Feed(call, inputs);
      const DType kept = call.ReadDecoding(options).dtype;
      return DecodingToJs(Built().StartDecoding(kept, call.input(), call.options()));
    });
  }

  /// Gives { q, k, v, o, norm? } of a layer.
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
  /// The last norm's γ is folded in, as the copying scores have it.
  val Unembedding() const {
    return Guard([&] { return TableToJs(Built().unembedding(), Built().FinalNorm()); });
  }

  val FindHeads(const std::string& options, const val& special_tokens) const {
    return Guard([&] {
      const auto tokens = emscripten::convertJSArrayToNumberVector<std::int32_t>(special_tokens);
      return FinderToJs(Built(), ReadRankOptions(options), tokens);
    });
  }

 private:
  /// Gives the rows of `table`, each column times `scale`, and undefined where there is no table.
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

  ModelConfig config_;
  ModelInfo info_;
  Checkpoint checkpoint_;
  std::optional<Model> model_;
};

val CreateModel(const std::string& config, double max_bytes) {
  return Guard([&] { return val(std::make_unique<ModelHandle>(config, max_bytes)); });
}

val ShardNames(const std::string& index) {
  return Guard([&] { return val::array(ReadShardNames(index)); });
}

val RefuseFormats(const std::string& missing, const val& names) {
  return Guard([&] {
    RefuseOtherFormats(missing, emscripten::vecFromJSArray<std::string>(names));
    return val::undefined();
  });
}

EMSCRIPTEN_BINDINGS(model) {
  emscripten::function("createModel", &CreateModel);
  emscripten::function("shardNames", &ShardNames);
  emscripten::function("refuseOtherFormats", &RefuseFormats);
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
}

}  // namespace
}  // namespace headlens
