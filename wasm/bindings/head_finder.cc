// SPDX-License-Identifier: Apache-2.0
#include "headlens/head_finder.h"

#include <memory>
#include <utility>

#include "handles.h"

namespace headlens {
namespace {

/// Scores a model's heads, text by text and head by head.
class FinderHandle {
 public:
  FinderHandle(Model model, FinderOptions options, const RankOptions& rank)
      : model_(std::move(model)),
        call_(model_.info()),
        metrics_(options.metrics),
        ascending_(rank.ascending),
        part_(rank.attention),
        finder_(HeadsOf(model_, {}, part_), std::move(options)) {}

  /// `inputs` are as Feed takes them.
  val Begin(const val& inputs) {
    return Guard([&] {
      ModelCall call(model_.info());
      Feed(call, inputs);
      call.ReadInput();
      finder_.Begin(TextHeadsOf(model_, call.input(), part_));
      call_ = std::move(call);  // what the text before borrowed is gone with it
      return val::undefined();
    });
  }

  val Next() {
    return Guard([&] { return val(finder_.Next()); });
  }

  /// [{ layer, head, scores: { name: { mean, texts, nValid } } }] by the first metric; a mean without a value is null.
  val Heads() const {
    return Guard([&] {
      std::vector<ScoredHead> heads = finder_.Heads();
      RankHeads(heads, 0, ascending_);
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
  ModelCall call_;
  std::vector<std::string> metrics_;
  bool ascending_;
  AttentionPart part_;
  HeadFinder finder_;  // borrows from call_, and goes before it
};

EMSCRIPTEN_BINDINGS(head_finder) {
  emscripten::class_<FinderHandle>("HeadFinder")
      .function("begin", &FinderHandle::Begin)
      .function("next", &FinderHandle::Next)
      .function("heads", &FinderHandle::Heads);
}

}  // namespace

val FinderToJs(Model model, RankOptions options, std::vector<std::int32_t> special_tokens) {
  FinderOptions finder;
  if (!options.metrics.empty()) finder.metrics = std::move(options.metrics);
  finder.special_tokens = std::move(special_tokens);
  return val(std::make_unique<FinderHandle>(std::move(model), std::move(finder), options));
}

}  // namespace headlens
