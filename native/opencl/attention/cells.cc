// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/cells.h"

#include <algorithm>

#include "gpu/pieces.h"
#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"
#include "opencl/matrix/multiply.h"

namespace headlens::opencl {

using gpu::QueryRange;

namespace {

bool AreValuesFinite(const DevicePass& on) {
  if (on.plan().value_width() == 0) return true;
  const Memory unusual = NothingUnusual(on.session());
  on.FindUnusual(on.v(), on.plan().value_width(), unusual);
  return !IsUnusual(on.session(), unusual);
}

}  // namespace

CellPass::CellPass(const DevicePass& on)
    : on_(on),
      plan_(on.plan()),
      session_(on.session()),
      heads_(on.pass().head_count()),
      keys_(plan_.keys()),
      values_finite_(AreValuesFinite(on)) {}

void CellPass::Run(const QueryRange& rows) const {
  gpu::InPieces(rows.count, plan_.CellRowsTogether(on_.pass(), session_.step_memory()),
                [&](Index first, Index count) { RunBlock({rows.first + first, count}); });
}

void CellPass::RunBlock(const QueryRange& rows) const {
  const AttentionResults& r = plan_.results();
  const Operand cells = Cells(rows);
  Score(rows, cells);
  on_.Store(cells.buffer, rows, keys_, r.scores);
  Stages stages = Allocate(rows);
  stages.cells = cells;
  Normalize(rows, stages);
  Store(rows, stages);
  if (plan_.value_width() > 0) Blend(stages.dropped ? Dense(stages.dropped, rows) : cells, rows);
}

/// Returns true when the cells become weights where the caller wants these, so that nothing is copied. Whatever else is
/// made of cells reads dense ones.
bool CellPass::AreInPlace() const {
  const AttentionResults& r = plan_.results();
  return r.weights && r.weights.data.storage && !r.scores && !r.mean_weights;
}

Operand CellPass::Cells(const QueryRange& rows) const {
  if (!AreInPlace()) return Dense(session_.Allocate<float>(heads_ * rows.count * keys_), rows);
  const DeviceView<float, 4>& to = plan_.results().weights;
  const Elements begin = *session_.FindToWrite(to.data);
  return {begin.buffer, plan_.QueryPlace(begin.first + rows.first * to.strides[2], to)};
}

Operand CellPass::Dense(const Memory& cells, const QueryRange& rows) const {
  return {cells, gpu::DensePlace(on_.pass().launched, rows.count, keys_)};
}

/// cells = q · k.
void CellPass::Score(const QueryRange& rows, const Operand& cells) const {
  Multiply(session_, {.a = on_.Queries(rows),
                      .b = on_.k(),
                      .c = cells,
                      .m = rows.count,
                      .n = keys_,
                      .k = plan_.width(),
                      .b_columns = true,
                      .heads = on_.pass().launched,
                      .head_count = heads_});
}

/// All stages but the cells.
CellPass::Stages CellPass::Allocate(const QueryRange& rows) const {
  const AttentionProblem& p = plan_.problem();
  const AttentionResults& r = plan_.results();
  const auto stage = [&](bool wanted) {
    return wanted ? session_.Allocate<float>(heads_ * rows.count * keys_) : Memory();
  };
  const bool drops = p.dropout_p > 0.0 || p.head_mask || !values_finite_;
  Stages stages;
  stages.scaled = stage(bool{r.scaled_scores});
  stages.capped = stage(bool{r.capped_scores});
  stages.biased = stage(bool{r.biased_scores});
  stages.masked = stage(bool{r.masked_scores});
  stages.dropout_mask = stage(bool{r.dropout_mask});
  stages.dropped = stage(r.dropped_weights || (plan_.value_width() > 0 && drops));
  if (r.lse) stages.lse = session_.Allocate<float>(heads_ * rows.count);
  return stages;
}

/// Every normaliser is a program of its own.
std::string CellPass::Options(NormalizerKind kind) const {
  return GroupOption(session_) + Define("NORMALIZER", gpu::KernelNumber(kind)) +
         Define("BY_CELL", FindNormalizer(kind).by_cell);
}

/// A row that fits is in local memory while its weights are made, since every stage passes over it again. The sizes are
/// few, because each is a program of its own.
std::string CellPass::RowOption() const {
  constexpr Index kSizes[] = {1024, 4096, 8192}, kScratch = 2048;
  for (const Index size : kSizes) {
    const bool fits = size * static_cast<Index>(sizeof(float)) + kScratch <= session_.local_memory();
    if (keys_ <= size && fits) return Define("ROW_CELLS", size);
  }
  return "";
}

void CellPass::Normalize(const QueryRange& rows, const Stages& s) const {
  const Index items = GroupItems(session_);
  on_.inputs().Launch(gpu::Describe(plan_, on_.pass(), rows, !values_finite_), rows, kRowsSource,
                      Options(plan_.problem().normalizer.kind) + RowOption() + MostRegisters(session_, 64),
                      "NormalizeRows", {rows.count * heads_ * items, items}, s.cells.buffer, s.cells.place, s.scaled,
                      s.capped, s.biased, s.masked, s.dropout_mask, s.dropped, s.lse);
}

void CellPass::Store(const QueryRange& rows, const Stages& s) const {
  const AttentionResults& r = plan_.results();
  on_.Store(s.scaled, rows, keys_, r.scaled_scores);
  on_.Store(s.capped, rows, keys_, r.capped_scores);
  on_.Store(s.biased, rows, keys_, r.biased_scores);
  on_.Store(s.masked, rows, keys_, r.masked_scores);
  on_.Store(s.dropout_mask, rows, keys_, r.dropout_mask);
  if (!AreInPlace()) on_.Store(s.cells.buffer, rows, keys_, r.weights);
  on_.Store(s.dropped, rows, keys_, r.dropped_weights);
  if (r.dropped_weights && !values_finite_) ClearSigns(rows);
  on_.StoreLse(s.lse, rows);
  if (r.mean_weights) StoreMean(s.cells.buffer, rows);
}

void CellPass::StoreMean(const Memory& weights, const QueryRange& rows) const {
  const View<float, 3>& to = plan_.results().mean_weights;
  const Index count = rows.count * keys_;
  const Memory mean = session_.Allocate<float>(count);
  session_.Launch(kRowsSource, Options(NormalizerKind::kSoftmax), "AverageHeads", ForEach(session_, count), weights,
                  cl_long{heads_}, cl_long{count}, mean);
  session_.Download(mean, 0, rows.count, keys_, to.at(on_.pass().heads[0].b, rows.first), to.strides[1]);
}

/// Makes every −0 a 0: it was a mark for the blend.
void CellPass::ClearSigns(const QueryRange& rows) const {
  for (const gpu::Head& head : on_.pass().heads)
    for (Index i = 0; i < rows.count; ++i) {
      float* cells = plan_.results().dropped_weights.at(head.b, head.h, rows.first + i);
      for (Index s = 0; s < keys_; ++s) cells[s] += 0.0f;
    }
}

void CellPass::Blend(const Operand& weights, const QueryRange& rows) const {
  const Index width = plan_.value_width();
  const Operand output = on_.Output(rows);
  if (values_finite_) {
    Multiply(session_, {.a = weights,
                        .b = on_.v(),
                        .c = output,
                        .m = rows.count,
                        .n = width,
                        .k = keys_,
                        .heads = on_.pass().launched,
                        .head_count = heads_});
  } else {
    gpu::Problem problem = gpu::Describe(plan_, on_.pass(), rows, /*marks_hidden=*/true);
    problem.v = on_.v().place, problem.output = output.place;
    const Index count = heads_ * rows.count * width;
    session_.Launch(kRowsSource, Options(NormalizerKind::kSoftmax), "BlendVisible", ForEach(session_, count), problem,
                    weights.buffer, on_.v().buffer, output.buffer, cl_long{count});
  }
  on_.StoreOutput(output, rows);
}

}  // namespace headlens::opencl
