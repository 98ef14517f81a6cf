// SPDX-License-Identifier: Apache-2.0
#include "headlens/head_finder.h"

#include <memory>
#include <utility>

#include "handles.h"
#include "model_call.h"

namespace headlens {
namespace {

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

EMSCRIPTEN_BINDINGS(head_finder) {
  emscripten::class_<FinderHandle>("HeadFinder")
      .function("begin", &FinderHandle::Begin)
      .function("next", &FinderHandle::Next)
      .function("heads", &FinderHandle::Heads);
}

}  // namespace

val FinderToJs(Model model, FinderOptions options) {
  return val(std::make_unique<FinderHandle>(std::move(model), std::move(options)));
}

}  // namespace headlens
