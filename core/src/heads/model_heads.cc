// SPDX-License-Identifier: Apache-2.0
/// The heads of a model on a text: their maps, their importance for their layer's output, and the effect of removing
/// them.
#include <algorithm>
#include <cmath>
#include <memory>

#include "headlens/circuits.h"
#include "headlens/explanation.h"
#include "heads/head_probe.h"
#include "heads/maps.h"
#include "heads/unpacked_layer.h"

namespace headlens {
namespace {

MetricValue OfText(const std::optional<double>& value, Index terms) {
  return value && std::isfinite(*value) ? MetricValue{value, terms} : MetricValue{};
}

/// out [d] ← weights [T] · v [T, d].
void Blend(const float* weights, const View<float, 2>& v, float* out) {
  for (Index e = 0; e < v.shape[1]; ++e) {
    double sum = 0.0;
    for (Index s = 0; s < v.shape[0]; ++s) sum += double{weights[s]} * double{v(s, e)};
    out[e] = static_cast<float>(sum);
  }
}

constexpr ModelMetric kModelMetrics[] = {
    {"output_change", "||c_h|| / ||out||, c_h what the head adds to out, the output of its layer's attention: ablation",
     "headlens", [](HeadProbe& probe) { return OfText(probe.Importance().output_change, probe.rows()); }},
    {"output_change_normalized", "output_change / its l2 norm over the heads of the layer",
     "headlens; normalised as Michel et al. 2019, arXiv 1905.10650",
     [](HeadProbe& probe) { return OfText(probe.NormalizedChange(), probe.rows()); }},
    {"norm_share", "||c_h|| / sum_h ||c_h||", "headlens",
     [](HeadProbe& probe) { return OfText(probe.Importance().norm_share, probe.rows()); }},
    {"output_cosine", "<c_h, out> / ||c_h|| ||out||", "headlens",
     [](HeadProbe& probe) { return OfText(probe.Importance().cosine, probe.rows()); }},
    {"ablation_output", "||hidden - hidden without the head|| / ||hidden||, after the last layer", "headlens",
     [](HeadProbe& probe) { return OfText(probe.WithoutHead().output_change, probe.rows()); }},
    {"ablation_loss", "loss of the next token without the head - loss (nats)",
     "Michel et al. 2019, arXiv 1905.10650, by ablation",
     [](HeadProbe& probe) {
       const auto& loss_change = probe.WithoutHead().loss_change;
       return OfText(loss_change ? loss_change() : std::nullopt, probe.rows() - 1);
     }},
    {"copying", "sum l / sum |l|, l the eigenvalues of U W_O W_V E^T over the vocabulary, norms' scales folded in",
     "Elhage et al. 2021, A Mathematical Framework for Transformer Circuits",
     [](HeadProbe& probe) { return OfText(probe.Copying(), 1); }, /*of_weights=*/true},
};

/// −ln p(id), where p is the softmax of the logits.
double Loss(std::span<const float> logits, std::int32_t id) {
  return LogSumExp(logits) - double{logits[static_cast<std::size_t>(id)]};
}

/// The mean loss of all next tokens. Only some rows of logits are in memory at a time.
double NextTokenLoss(const ModelAttention& attention, std::span<const std::int32_t> ids) {
  constexpr Index kRows = 64;
  const Index predictions = attention.length() - 1;
  double sum = 0.0;
  for (Index begin = 0; begin < predictions; begin += kRows) {
    const Index end = std::min(begin + kRows, predictions);
    const Tensor logits = attention.Logits(begin, end);
    const auto width = static_cast<std::size_t>(logits.shape()[1]);
    for (Index t = begin; t < end; ++t) {
      sum += Loss(logits.values().subspan(static_cast<std::size_t>(t - begin) * width, width),
                  ids[static_cast<std::size_t>(t) + 1]);
    }
  }
  return sum / static_cast<double>(predictions);
}

/// ‖x − y‖ / ‖x‖ over the given rows.
std::optional<double> RelativeChange(View<const float, 2> x, View<const float, 2> y, std::span<const Index> rows) {
  double difference = 0.0, norm = 0.0;
  for (const Index t : rows) {
    for (Index e = 0; e < x.shape[1]; ++e) {
      const double d = double{x(t, e)} - double{y(t, e)};
      difference += d * d;
      norm += double{x(t, e)} * double{x(t, e)};
    }
  }
  return norm > 0.0 ? std::optional(std::sqrt(difference / norm)) : std::nullopt;
}

/// A model's run on one input. The functions in TextHeads share its ownership.
class ModelText : public std::enable_shared_from_this<ModelText> {
 public:
  ModelText(const Model& model, const ModelInput& input, AttentionPart part)
      : model_(model), input_(input), part_(part), attention_(Attend()) {
    for (Index t = 0; t < attention_.length(); ++t)
      if (input.padding.empty() || !input.padding[static_cast<std::size_t>(t)]) rows_.push_back(t);
  }

  TextHeads Heads() {
    TextHeads heads;
    const bool is_cross = part_ == AttentionPart::kCross;
    heads.length = attention_.length();
    if (is_cross) heads.keys = std::ssize(input_.source);
    heads.tokens = is_cross ? input_.source : input_.ids;
    heads.padding = input_.padding;
    if (is_cross) heads.padded_keys = input_.source_padding;
    if (input_.image) heads.grid = Grid();
    const auto self = shared_from_this();
    heads.map = [self](Index layer, Index head, View<float, 2> weights) {
      self->attention_.Maps(layer, self->part_).Map(0, head, {}, weights);
    };
    heads.ablate = [self](Index layer, Index head) { return self->Ablate(layer, head); };
    if (is_cross) return heads;
    heads.importance = [self](Index layer) { return self->Importance(layer); };
    heads.copying = [self](Index layer, Index head) { return self->Copying(layer, head); };
    return heads;
  }

 private:
  ModelAttention Attend() const {
    AttendOptions options;
    options.keep_values = true;
    return model_.Attend(input_, options);
  }

  /// The keys before the patches are CLS and similar tokens.
  PatchGrid Grid() const {
    const Index patch = model_.info().patch_size, rows = input_.image.shape[1] / patch,
                columns = input_.image.shape[2] / patch;
    return {attention_.length() - rows * columns, columns, static_cast<double>(patch)};
  }

  std::vector<HeadImportance> Importance(Index layer) const {
    const ModelInfo& info = model_.info();
    const Index length = attention_.length(), d = info.head_dim, rows = static_cast<Index>(rows_.size());
    if (rows == 0) return std::vector<HeadImportance>(static_cast<std::size_t>(info.heads));
    const Tensor& values = attention_.Values(layer);
    const Tensor weights({length, length}), heads({info.heads, rows, d});
    for (Index h = 0; h < info.heads; ++h) {
      attention_.Map(layer, h, {}, weights.view<2>());
      const Index group = h / (info.heads / info.kv_heads);
      const View<float, 2> v{values.view<2>().at(0, group * d), {length, d}, {values.shape()[1], 1}};
      for (Index i = 0; i < rows; ++i)
        Blend(weights.view<2>().at(rows_[static_cast<std::size_t>(i)]), v, heads.view<3>().at(h, i));
    }
    return ImportanceOfHeads(heads.view<3>(), model_.Weights(layer, Projection::kOutput).view<2>(),
                             model_.OutputBias(layer));
  }

  Ablation Ablate(Index layer, Index head) {
    const ModelInfo& info = model_.info();
    const Tensor mask({info.layers, info.heads});
    std::fill(mask.values().begin(), mask.values().end(), 1.0f);
    mask.view<2>()(layer, head) = 0.0f;
    AttendOptions options;
    (part_ == AttentionPart::kCross ? options.cross_head_mask : options.head_mask) = mask.view<2>();
    const auto without = std::make_shared<ModelAttention>(model_.Attend(input_, options));
    const auto self = shared_from_this();
    return {RelativeChange(attention_.hidden().view<2>(), without->hidden().view<2>(), rows_),
            [self, without] { return self->LossChange(*without); }};
  }

  std::optional<double> LossChange(const ModelAttention& without) {
    const ModelInfo& info = model_.info();
    const bool predicts_tokens = info.causal && info.logits > 0 && info.logits == info.vocab_size;
    if (!predicts_tokens || input_.ids.size() < 2 || !input_.padding.empty()) return std::nullopt;
    if (!loss_) loss_ = NextTokenLoss(attention_, input_.ids);
    return NextTokenLoss(without, input_.ids) - *loss_;
  }

  /// The copying score of the head's full OV circuit.
  std::optional<double> Copying(Index layer, Index head) {
    const LinearWeights *embedding = model_.embedding(), *unembedding = model_.unembedding();
    if (!embedding || !unembedding) return std::nullopt;
    if (!vocabulary_) {
      vocabulary_ = VocabularyProduct(*embedding, *unembedding);
      const Tensor* scale = model_.FinalNorm();
      for (Index row = 0; scale && row < vocabulary_->rows(); ++row)
        for (Index e = 0; e < scale->size(); ++e) (*vocabulary_)(row, e) *= double{scale->data()[e]};
    }
    return CopyingScore(FullEigenvalues(CircuitKind::kOv, HeadOf(unpacked_.At(layer), head), *vocabulary_));
  }

  Model model_;  // shares the weights
  ModelInput input_;
  AttentionPart part_;
  ModelAttention attention_;
  std::vector<Index> rows_;  // the tokens that are not padding
  std::optional<double> loss_;
  std::optional<Matrix> vocabulary_;  // Eᵀ U, with the final norm's γ
  UnpackedLayer unpacked_{model_};
};

}  // namespace

namespace {

Model EncoderOf(const Model& model) {
  if (std::optional<Model> encoder = model.encoder()) return *std::move(encoder);
  throw Error(ErrorCode::kUnsupported, {"a ", model.info().family, " model has no encoder beside its layers"});
}

}  // namespace

std::span<const ModelMetric> ModelMetrics() { return kModelMetrics; }

TextHeads TextHeadsOf(const Model& model, const ModelInput& input, AttentionPart part) {
  if (part != AttentionPart::kEncoder) return std::make_shared<ModelText>(model, input, part)->Heads();
  ModelInput source;
  source.ids = input.source;
  source.padding = input.source_padding;
  return TextHeadsOf(EncoderOf(model), source);
}

HeadSource HeadsOf(const Model& model, std::span<const ModelInput> inputs, AttentionPart part) {
  const bool is_cross = part == AttentionPart::kCross;
  const ModelInfo& info = part == AttentionPart::kDecoder ? model.info() : EncoderOf(model).info();
  HeadSource source{is_cross ? model.info().layers : info.layers, is_cross ? model.info().heads : info.heads,
                    static_cast<Index>(inputs.size()), info.causal, info.windows};
  source.attend = [model, inputs, part](Index text) {
    return TextHeadsOf(model, inputs[static_cast<std::size_t>(text)], part);
  };
  return source;
}

}  // namespace headlens
