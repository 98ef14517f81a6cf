// SPDX-License-Identifier: Apache-2.0
/// The result of a pass over a whole input, and the maps that are computed from it.
#include "models/embedding.h"
#include "models/run.h"

namespace headlens {

using models::AsHeads;
using models::CheckRows;
using models::Kept;
using models::LayerRun;
using models::LoadedModel;
using models::Run;

ModelAttention::ModelAttention(std::shared_ptr<const Run> run) : run_(std::move(run)) {}
ModelAttention::ModelAttention(ModelAttention&&) noexcept = default;
ModelAttention& ModelAttention::operator=(ModelAttention&&) noexcept = default;
ModelAttention::~ModelAttention() = default;

Index ModelAttention::length() const { return run_->length(); }
const Tensor& ModelAttention::hidden() const { return run_->OnHost(run_->hidden); }

namespace {

/// The run whose layers have the heads of an attention.
const Run& RunOf(const Run& run, AttentionPart part) {
  if (part == AttentionPart::kDecoder) return run;
  const Run& encoder = run.Encoder();  // which models without an encoder do not have
  return part == AttentionPart::kEncoder ? encoder : run;
}

/// One of the tensors that were kept of a layer: the cross-attention has its own.
const Tensor& KeptOf(const Run& all, Index layer, AttentionPart part, DeviceTensor Kept::* own,
                     DeviceTensor Kept::* cross, const char* missing = nullptr) {
  const Run& run = RunOf(all, part);
  const Kept& kept = run.At(layer).kept;
  const DeviceTensor& tensor = kept.*(part == AttentionPart::kCross ? cross : own);
  if (!tensor && missing) throw Error(ErrorCode::kOption, missing);
  return run.OnHost(tensor);
}

}  // namespace

const Tensor& ModelAttention::Queries(Index layer, AttentionPart part) const {
  return KeptOf(*run_, layer, part, &Kept::q, &Kept::cross_q);
}

const Tensor& ModelAttention::Keys(Index layer, AttentionPart part) const {
  return KeptOf(*run_, layer, part, &Kept::k, &Kept::cross_k);
}

const Tensor& ModelAttention::Values(Index layer, AttentionPart part) const {
  return KeptOf(*run_, layer, part, &Kept::v, &Kept::cross_v, "values were not kept: attend with `keep_values`");
}

const Tensor& ModelAttention::Hidden(Index layer) const {
  run_->At(layer);
  return run_->OnHost(run_->StreamBefore(layer));
}

const Tensor& ModelAttention::HeadOutputs(Index layer, AttentionPart part) const {
  const Run& run = RunOf(*run_, part);
  run.At(layer);
  run.RequireParts();
  return KeptOf(*run_, layer, part, &Kept::heads, &Kept::cross_heads);
}

const Tensor& ModelAttention::FeedForwards(Index layer) const {
  const LayerRun& of = run_->At(layer);
  run_->RequireParts();
  return run_->OnHost(of.kept.feed_forward);
}

const AttentionMaps& ModelAttention::Maps(Index layer, AttentionPart part) const {
  if (part == AttentionPart::kCross) return run_->CrossMapsOf(layer, 0);
  return (part == AttentionPart::kEncoder ? run_->Encoder() : *run_).MapsOf(layer, 0);
}

ModelAttention ModelAttention::Encoder() const {
  run_->Encoder();
  return ModelAttention(run_->encoder);
}

void ModelAttention::Map(Index layer, Index head, const MapWindow& window, DeviceView<float, 2> weights) const {
  run_->MapsOf(layer, head).Map(0, head, window, weights);
}

void ModelAttention::PooledMap(Index layer, Index head, const MapWindow& window, PoolKind kind,
                               DeviceView<float, 2> pooled) const {
  run_->MapsOf(layer, head).Pooled(0, head, window, kind, pooled);
}

std::vector<RowSummary> ModelAttention::RowSummaries(Index layer, Index head, Index row_begin, Index row_end) const {
  return run_->MapsOf(layer, head).Summaries(0, head, row_begin, row_end);
}

Tensor ModelAttention::Logits(Index row_begin, Index row_end) const {
  models::RequireLogits(*run_->model);
  const bool first_only = run_->model->parameters.head->first_row_only;
  CheckRows(row_begin, row_end, first_only ? 1 : length());
  if (first_only && row_end > row_begin) return models::ClassLogitsOf(*run_->model, run_->hidden.view<2>());
  return models::LogitsOf(*run_->model, Rows(run_->hidden.view<2>(), row_begin, row_end - row_begin));
}

Tensor ModelAttention::Logits() const {
  models::RequireLogits(*run_->model);
  return Logits(0, run_->model->parameters.head->first_row_only ? 1 : length());
}

struct AttendSteps::State {
  /// The first `of_base` tokens are those of the run `base`, which is empty without any.
  State(std::unique_ptr<Run> begun, Index piece, std::shared_ptr<const Run> before = {}, Index of_base = 0)
      : run(std::move(begun)),
        options(run->request->options()),
        base(std::move(before)),
        shared(of_base),
        rows(base ? models::RowsFrom(run->model->backend, run->hidden, shared) : DeviceTensor()),
        pass(
            *run->model, options, shared, base ? rows : run->hidden, static_cast<Index>(run->layers.size()), piece,
            [this](Index layer, const Kept& kept) {
              return base ? SharedProblemOf(layer, kept) : ProblemOf(layer, kept);
            },
            [this](Index, Kept& kept) { return CrossProblemOf(kept); }) {
    models::ExpectSource(*run->model, run->request->input());
    if (run->model->encoder && !run->encoder) encoder = std::make_unique<State>(EncoderRun(*run), piece);
  }

  /// The run of the encoder, which has not begun. It keeps what the whole run keeps.
  static std::unique_ptr<Run> EncoderRun(const Run& run) {
    const ModelInput& input = run.request->input();
    const AttendOptions& options = run.request->options();
    ModelInput source;
    source.ids = input.source;
    source.padding = input.source_padding;
    AttendOptions kept;
    kept.normalizer = options.normalizer;
    kept.head_mask = options.encoder_head_mask;
    kept.patches = options.encoder_patches;
    kept.keep_hidden = options.keep_hidden;
    kept.keep_values = options.keep_values;
    kept.keep_parts = options.keep_parts;
    return std::make_unique<Run>(run.model->encoder, source, kept);
  }

  /// The queries and keys are those that the pass still has: moving their tensors leaves their elements in place.
  AttentionProblem ProblemOf(Index layer, const Kept& kept) {
    const LoadedModel& model = *run->model;
    AttentionProblem problem =
        models::ProblemOf(model, layer, AsHeads(kept.q, run->info().heads), 0, AsHeads(kept.k, run->info().kv_heads), 0,
                          run->request->input().padding);
    run->request->Change(problem);
    maps = std::make_unique<const AttentionMaps>(problem, model.backend);
    problem.v = AsHeads(kept.v, run->info().kv_heads);
    return problem;
  }

  /// The problem of the tokens that the base does not have: their queries look at the keys of all.
  AttentionProblem SharedProblemOf(Index layer, const Kept& kept) {
    const LoadedModel& model = *run->model;
    const Kept& before = base->At(layer).kept;
    const auto join = [&](const DeviceTensor& first, const DeviceTensor& more) {
      return models::Appended(model.backend, first, shared, more);
    };
    whole = {};
    whole.q = join(before.q, kept.q);
    whole.k = join(before.k, kept.k);
    whole.v = join(before.v, kept.v);
    AttentionProblem problem = ProblemOf(layer, whole);
    problem.q = AsHeads(kept.q, run->info().heads);
    problem.query_offset = shared;
    return problem;
  }

  AttentionProblem CrossProblemOf(Kept& kept) {
    const LoadedModel& model = *run->model;
    const models::Layer& layer = model.parameters.layers[static_cast<std::size_t>(pass.layer())];
    if (!source) source = run->encoder->Output();
    kept.cross_k = Project(model.backend, source.view<2>(), *layer.cross_k);
    kept.cross_v = Project(model.backend, source.view<2>(), *layer.cross_v);
    AttentionProblem problem =
        models::CrossProblemOf(model, AsHeads(kept.cross_q, run->info().heads),
                               AsHeads(kept.cross_k, run->info().heads), run->request->input().source_padding);
    problem.normalizer = options.normalizer;
    if (const auto& mask = options.cross_head_mask)
      problem.head_mask = {mask.at(pass.layer()), {1, mask.shape[1]}, {0, mask.strides[1]}};
    cross_maps = std::make_unique<const AttentionMaps>(problem, model.backend);
    problem.v = AsHeads(kept.cross_v, run->info().heads);
    return problem;
  }

  double Next() {
    if (encoder) return NextOfEncoder();
    const LoadedModel& model = *run->model;
    const Index layer = pass.layer();
    if (options.keep_hidden && pass.at_layer())
      stream = base ? models::Appended(model.backend, base->StreamBefore(layer), shared, rows)
                    : models::CopyOf(model.backend, run->hidden);
    const double done = pass.Next();
    if (pass.layer() == layer) return Share(done);
    if (base && done == 1.0) run->hidden = models::Appended(model.backend, base->hidden, shared, rows);
    Kept& kept = base ? whole : pass.kept();
    if (!options.keep_values) kept.v = kept.cross_v = {};
    if (!options.keep_parts) kept.heads = kept.cross_heads = {};
    run->layers.push_back(std::make_shared<const LayerRun>(
        LayerRun{run->request, std::move(stream), std::move(kept), std::move(maps), std::move(cross_maps)}));
    return Share(done);
  }

  double NextOfEncoder() {
    const double done = encoder->Next();
    if (done < 1.0) return done / 2;
    run->encoder = std::move(encoder->run);
    encoder.reset();
    return 0.5;
  }

  /// The share of the whole run, of which the encoder is counted as half.
  double Share(double done) const { return run->model->encoder ? 0.5 + done / 2 : done; }

  std::unique_ptr<Run> run;
  const AttendOptions& options;
  std::shared_ptr<const Run> base;
  Index shared;
  DeviceTensor rows;                                      // the stream of the tokens that the base does not have
  Kept whole;                                             // the tensors of the layer that is being run, of all tokens
  std::unique_ptr<State> encoder;                         // while it runs
  DeviceTensor source;                                    // the encoder's output
  DeviceTensor stream;                                    // before the layer that is being run
  std::unique_ptr<const AttentionMaps> maps, cross_maps;  // of the layer that is being run
  models::Pass pass;
};

AttendSteps::AttendSteps(std::unique_ptr<State> state)
    : state_(std::move(state)),
      done_(static_cast<Index>(state_->run->layers.size()) == state_->run->info().layers ? 1.0 : 0.0) {}
AttendSteps::AttendSteps(AttendSteps&&) noexcept = default;
AttendSteps& AttendSteps::operator=(AttendSteps&&) noexcept = default;
AttendSteps::~AttendSteps() = default;

double AttendSteps::Next() { return done_ < 1.0 ? done_ = state_->Next() : 1.0; }

ModelAttention AttendSteps::Finish() && {
  while (Next() < 1.0) continue;
  ModelAttention attention(std::shared_ptr<const Run>(std::move(state_->run)));
  state_.reset();
  return attention;
}

namespace {

void CheckPiece(Index piece) {
  if (piece < 1) throw ValueError("`piece`", piece, "at least 1");
}

}  // namespace

AttendSteps Model::StartAttending(const ModelInput& input, const AttendOptions& options, Index piece) const {
  CheckPiece(piece);
  return AttendSteps(std::make_unique<AttendSteps::State>(std::make_unique<Run>(model_, input, options), piece));
}

ModelAttention Model::Attend(const ModelInput& input, const AttendOptions& options) const {
  return StartAttending(input, options, AttendSteps::kWhole).Finish();
}

ModelAttention Model::Attend(std::span<const std::int32_t> ids) const {
  ModelInput input;
  input.ids = ids;
  return Attend(input);
}

Model ModelAttention::model() const { return Model(run_->model); }

AttendSteps ModelAttention::StartAgain(const AttendOptions& options, Index piece) const {
  CheckPiece(piece);
  return AttendSteps(std::make_unique<AttendSteps::State>(std::make_unique<Run>(*run_, options), piece));
}

AttendSteps ModelAttention::StartAttending(const ModelInput& input, const AttendOptions& options, Index piece) const {
  CheckPiece(piece);
  auto run = std::make_unique<Run>(run_->model, input, options);
  const Index shared = run->SharedTokens(*run_);
  return AttendSteps(std::make_unique<AttendSteps::State>(std::move(run), piece, shared > 0 ? run_ : nullptr, shared));
}

ModelAttention ModelAttention::Attend(const ModelInput& input, const AttendOptions& options) const {
  return StartAttending(input, options, AttendSteps::kWhole).Finish();
}

ModelAttention ModelAttention::Again(const AttendOptions& options) const {
  return StartAgain(options, AttendSteps::kWhole).Finish();
}

}  // namespace headlens
