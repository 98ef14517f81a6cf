// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention_maps.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/masks/mask_set.h"
#include "base/checks.h"

namespace headlens {
namespace {

/// The rows of a strip in which a map is computed that is larger than what is asked for.
Index StripRows(const Backend& backend, Index columns, Index rows) {
  return std::clamp<Index>(backend.strip_floats() / std::max<Index>(columns, 1), 1, std::max<Index>(rows, 1));
}

/// The largest weight of a row that has no summary yet.
constexpr float kUnknown = -1.0f;
bool IsKnown(const RowSummary& row) { return row.largest != kUnknown; }

template <template <class, std::size_t> class AnyView, class T>
AnyView<T, 4> AsOneHead(const AnyView<T, 2>& map) {
  return {map.data, {1, 1, map.shape[0], map.shape[1]}, {0, 0, map.strides[0], map.strides[1]}};
}

/// A part of a mask [B, H, T, S].
template <class T>
View<T, 4> PartOf(const View<T, 4>& mask, Index b, Index h, const MapWindow& window) {
  if (!mask) return mask;
  return {mask.at(b, h, window.row_begin, window.col_begin), {1, 1, window.rows(), window.columns()}, mask.strides};
}

/// Elements [first, first + count) of batch b.
template <class T>
View<T, 2> PartOf(const View<T, 2>& mask, Index b, Index first, Index count) {
  if (!mask) return mask;
  return {mask.at(b, first), {1, count}, mask.strides};
}

/// The mask of one head for a part of its map.
Mask PartOf(const Mask& mask, Index b, Index h, const MapWindow& window) {
  Mask part = mask;
  const Index keys = window.columns() - mask.appended_keys;
  MapWindow maskable = window;
  maskable.col_end -= mask.appended_keys;
  part.boolean = PartOf(mask.boolean, b, h, maskable);
  part.additive = PartOf(mask.additive, b, h, maskable);
  part.key_padding = PartOf(mask.key_padding, b, window.col_begin, keys);
  part.global_tokens = PartOf(mask.global_tokens, b, window.col_begin, keys);
  part.key_documents = PartOf(mask.key_documents, b, window.col_begin, keys);
  part.query_documents = PartOf(mask.query_documents, b, window.row_begin, window.rows());
  part.valid_lens = PartOf(mask.valid_lens, b, window.row_begin, window.rows());
  if (mask.prefix_lens) part.prefix_lens = {mask.prefix_lens.at(b), {1}, mask.prefix_lens.strides};
  return part;
}

PositionBias OfHead(const PositionBias& bias, Index h) {
  PositionBias one = bias;
  if (bias.alibi_slopes) one.alibi_slopes = {bias.alibi_slopes.at(h), {1}, bias.alibi_slopes.strides};
  if (bias.relative) one.relative = Rows(bias.relative, h, 1);
  if (bias.t5) one.t5 = {bias.t5.at(0, h), {bias.t5.shape[0], 1}, bias.t5.strides};
  return one;
}

/// Counts the keys that queries may look at.
class VisibleKeys {
 public:
  VisibleKeys(const AttentionProblem& problem, Index b, Index h) : problem_(problem), masks_(problem), b_(b), h_(h) {}

  std::int32_t Count(Index t) {
    const KeyRange range = masks_.Range(b_, t);
    Index count = range.end - range.begin;
    if (masks_.has_marks()) {
      marks_.resize(static_cast<std::size_t>(count));
      masks_.Mark({b_, h_, t}, range, marks_.data());
      count = std::count(marks_.begin(), marks_.end(), std::uint8_t{0});
    }
    return static_cast<std::int32_t>(count + problem_.mask.appended_keys);
  }

 private:
  const AttentionProblem& problem_;
  MaskSet masks_;
  Index b_, h_;
  std::vector<std::uint8_t> marks_;
};

/// Pools rows [begin, end), which do not fit a strip, to one row: the mean or the maximum of several strips' rows.
template <class Pool>
Tensor PoolTall(Index begin, Index end, Index most, Index columns, PoolKind kind, const Pool& pool) {
  Tensor row({1, columns});
  std::vector<double> all(static_cast<std::size_t>(columns), 0.0);
  for (Index first = begin; first < end; first += most) {
    const Index count = std::min(most, end - first);
    pool(first, count, {count, 1, 0, 0, kind}, row.view<2>());
    for (std::size_t j = 0; j < all.size(); ++j) {
      const double cell = row.values()[j];
      if (kind == PoolKind::kMean) {
        all[j] += cell * static_cast<double>(count) / static_cast<double>(end - begin);
      } else if (first == begin || cell > all[j] || std::isnan(cell)) {
        all[j] = cell;
      }
    }
  }
  for (std::size_t j = 0; j < all.size(); ++j) row.values()[j] = static_cast<float>(all[j]);
  return row;
}

}  // namespace

AttentionMaps::AttentionMaps(const AttentionProblem& problem, const Backend& backend)
    : problem_(problem), backend_(backend) {
  problem_.v = {};  // what multiplies the values changes no weights
  problem_.dropout_p = 0.0;
  problem_.head_mask = {};
  Validate(problem_, {});
  // Without rows there is nothing to summarise, and sizes that no tensor's elements hold back may be very large.
  if (queries() > 0) summaries_.resize(static_cast<std::size_t>(ElementCount({batches(), heads()})));
}

/// The window with its ends filled in.
MapWindow AttentionMaps::Checked(const Head& head, MapWindow window) const {
  if (head.b < 0 || head.b >= batches() || head.h < 0 || head.h >= heads()) {
    throw Error(ErrorCode::kValue, {"batch ", head.b, ", head ", head.h, " is not there: there are ", batches(),
                                    " batches of ", heads(), " heads"});
  }
  const auto check = [](const char* what, Index begin, Index& end, Index count) {
    if (end == MapWindow::kAll) end = count;
    if (begin >= 0 && end <= count && begin <= end) return;
    throw Error(ErrorCode::kValue, {what, begin, " to ", end, " are not there: there are ", count});
  };
  check("rows ", window.row_begin, window.row_end, queries());
  check("columns ", window.col_begin, window.col_end, keys());
  return window;
}

/// The problem of one head whose map is this part.
AttentionProblem AttentionMaps::Problem(Index b, Index h, const MapWindow& window) const {
  const Head head{b, h};
  return Part(head, Checked(head, window));
}

AttentionProblem AttentionMaps::Part(const Head& head, const MapWindow& window) const {
  const auto [b, h] = head;
  AttentionProblem part = problem_;
  part.q = {problem_.q.at(b, h, window.row_begin), {1, 1, window.rows(), problem_.q.shape[3]}, problem_.q.strides};
  part.k = problem_.k.Part(b, KvHead(problem_, h), window.col_begin, window.columns());
  part.mask = PartOf(problem_.mask, b, h, window);
  part.mask.causal_alignment = CausalAlignment::kTopLeft;
  part.query_offset = QueryPosition(problem_, window.row_begin);
  part.key_offset = problem_.key_offset + window.col_begin;
  part.position_bias = OfHead(problem_.position_bias, h);
  if (problem_.normalizer.sinks) {
    part.normalizer.sinks = {problem_.normalizer.sinks.at(h), {1}, problem_.normalizer.sinks.strides};
  }
  return part;
}

/// Computes the part as if it were a whole map. `lse` has room for a number of each row, or is null.
void AttentionMaps::Compute(const Head& head, const MapWindow& window, DeviceView<float, 2> weights, float* lse) const {
  AttentionProblem part = Part(head, window);
  const bool whole = window.columns() == keys();
  if (!whole) part.fully_masked = FullyMasked::kZero;  // other parts of the row may have visible keys
  AttentionResults results;
  results.weights = AsOneHead(weights);
  if (lse) results.lse = DenseView(lse, std::array<Index, 3>{1, 1, window.rows()});
  backend_.Attention(part, results);
}

/// Computes whole rows, and summarises those that are not summarised yet.
void AttentionMaps::ComputeWholeRows(const Head& head, const MapWindow& window, DeviceView<float, 2> weights) const {
  std::vector<RowSummary> rows = Known(head, window);
  if (std::ranges::all_of(rows, IsKnown)) return Compute(head, window, weights, nullptr);
  const Tensor lse({window.rows()}), largest({window.rows(), 1});
  Compute(head, window, weights, lse.data());
  if (keys() > 0) {
    backend_.Pool(weights, {window.rows(), window.rows(), 0, 0, PoolKind::kMax}, largest.view<2>());
  } else {
    std::ranges::fill(largest.values(), 0.0f);
  }
  VisibleKeys visible(problem_, head.b, head.h);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = {lse.values()[i], largest.values()[i], visible.Count(window.row_begin + static_cast<Index>(i))};
  }
  Remember(head, window.row_begin, rows);
}

/// Returns true when a row's other cells affect those of a part by the sum of the row alone, and the masks of a part
/// are parts of the masks.
bool AttentionMaps::CanCutColumns() const {
  const Mask& mask = problem_.mask;
  const bool patches = mask.neighborhood_rows >= 0 || mask.neighborhood_columns >= 0;
  return problem_.normalizer.kind == NormalizerKind::kSoftmax && problem_.masked_nan == MaskedNan::kBlocked &&
         !mask.valid_lens && !mask.prefix_lens && !mask.global_tokens && !patches && mask.appended_keys == 0;
}

/// Computes some columns of rows as a problem of their own, and scales them to what they are in whole rows.
void AttentionMaps::CutColumns(const Head& head, const MapWindow& window, View<float, 2> weights) const {
  const std::vector<RowSummary> rows = Known(head, window);
  const Tensor lse({window.rows()});
  Compute(head, window, weights, lse.data());
  for (Index i = 0; i < window.rows(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto share = static_cast<float>(std::exp(double{lse.values()[at]} - double{rows[at].lse}));
    for (Index j = 0; j < window.columns(); ++j) weights(i, j) *= share;
  }
}

/// Computes whole rows strip by strip, and copies the columns that are asked for.
void AttentionMaps::CopyColumns(const Head& head, const MapWindow& window, View<float, 2> weights) const {
  const Index most = StripRows(backend_, keys(), window.rows());
  for (Index first = window.row_begin; first < window.row_end; first += most) {
    const MapWindow rows{first, std::min(first + most, window.row_end), 0, keys()};
    const DeviceTensor strip = backend_.Allocate({rows.rows(), keys()});
    ComputeWholeRows(head, rows, strip.view<2>());
    const Tensor whole = backend_.ReadBack(strip)->Wait();
    for (Index i = 0; i < rows.rows(); ++i) {
      std::copy_n(whole.view<2>().at(i, window.col_begin), window.columns(), weights.at(first - window.row_begin + i));
    }
  }
}

/// Calls f(rows of the window, their columns can be cut) for each run of rows that are alike in this.
template <class F>
void AttentionMaps::EachRun(const Head& head, const MapWindow& window, const F& f) const {
  const std::vector<RowSummary> rows = Known(head, window);
  const bool possible = CanCutColumns();
  const auto can_cut = [&](Index row) {
    const RowSummary& summary = rows[static_cast<std::size_t>(row - window.row_begin)];
    return possible && IsKnown(summary) && std::isfinite(summary.lse);
  };
  for (Index first = window.row_begin, end; first < window.row_end; first = end) {
    const bool cut = can_cut(first);
    for (end = first + 1; end < window.row_end && can_cut(end) == cut;) ++end;
    f(MapWindow{first, end, window.col_begin, window.col_end}, cut);
  }
}

void AttentionMaps::ComputeColumns(const Head& head, const MapWindow& window, View<float, 2> weights) const {
  EachRun(head, window, [&](const MapWindow& run, bool cut) {
    const View<float, 2> to = Rows(weights, run.row_begin - window.row_begin, run.rows());
    cut ? CutColumns(head, run, to) : CopyColumns(head, run, to);
  });
}

void AttentionMaps::Map(Index b, Index h, const MapWindow& given, DeviceView<float, 2> weights) const {
  const Head head{b, h};
  const MapWindow window = Checked(head, given);
  ExpectSizes("a part of a map", SizesOf(weights), {window.rows(), window.columns()});
  if (window.rows() == 0 || window.columns() == 0) return;
  if (window.columns() == keys()) return Compute(head, window, weights, nullptr);
  if (!weights.data.storage) return ComputeColumns(head, window, weights.host());
  const Tensor host({window.rows(), window.columns()});
  ComputeColumns(head, window, host.view<2>());
  backend_.Copy(AsOneHead(DeviceView<const float, 2>(host.view<2>())), AsOneHead(weights));
}

void AttentionMaps::Pooled(Index b, Index h, const MapWindow& given, PoolKind kind, DeviceView<float, 2> pooled) const {
  const Head head{b, h};
  const MapWindow window = Checked(head, given);
  const Index rows = window.rows(), blocks = pooled.shape[0];
  if (blocks < 1 || pooled.shape[1] < 1 || blocks > rows || pooled.shape[1] > window.columns()) {
    throw Error(ErrorCode::kValue, {"weights of shape ", Shape{rows, window.columns()}, " cannot be pooled to ",
                                    Shape{blocks, pooled.shape[1]}});
  }
  if (kind == PoolKind::kMean && window.columns() == keys() && backend_.PoolWeights(Part(head, window), pooled)) return;
  const Index most = StripRows(backend_, window.columns(), rows);
  const DeviceTensor strip = backend_.Allocate({most, window.columns()});
  const auto pool = [&](Index first, Index count, const Backend::Pooling& pooling, DeviceView<float, 2> to) {
    const MapWindow part{window.row_begin + first, window.row_begin + first + count, window.col_begin, window.col_end};
    const DeviceView<float, 2> cells = Rows(strip.view<2>(), 0, count);
    if (kind == PoolKind::kMax && part.columns() == keys()) {
      ComputeWholeRows(head, part, cells);
    } else {
      Map(b, h, part, cells);
    }
    backend_.Pool(cells, pooling, to);
  };
  for (Index block = 0, end; block < blocks; block = end) {
    const Index first = BlockBegin(block, rows, blocks), next = BlockBegin(block + 1, rows, blocks);
    end = block + 1;
    if (next - first > most) {
      const Tensor row = PoolTall(first, next, most, pooled.shape[1], kind, pool);
      backend_.Copy(AsOneHead(DeviceView<const float, 2>(row.view<2>())), AsOneHead(Rows(pooled, block, 1)));
      continue;
    }
    while (end < blocks && BlockBegin(end + 1, rows, blocks) - first <= most) ++end;
    const Index count = BlockBegin(end, rows, blocks) - first;
    pool(first, count, {rows, blocks, first, block, kind}, Rows(pooled, block, end - block));
  }
}

std::vector<RowSummary> AttentionMaps::Summaries(Index b, Index h, Index row_begin, Index row_end) const {
  const Head head{b, h};
  const MapWindow window = Checked(head, {row_begin, row_end});
  const Index most = StripRows(backend_, keys(), window.rows());
  for (Index first = window.row_begin; first < window.row_end; first += most) {
    const MapWindow rows{first, std::min(first + most, window.row_end), 0, keys()};
    if (std::ranges::all_of(Known(head, rows), IsKnown)) continue;
    ComputeWholeRows(head, rows, backend_.Allocate({rows.rows(), keys()}).view<2>());
  }
  return Known(head, window);
}

std::vector<RowSummary> AttentionMaps::Known(const Head& head, const MapWindow& window) const {
  if (window.rows() == 0) return {};
  const std::lock_guard lock(mutex_);
  const std::vector<RowSummary>& rows = summaries_[Number(head)];
  if (rows.empty()) return std::vector<RowSummary>(static_cast<std::size_t>(window.rows()), {0.0f, kUnknown, 0});
  return {rows.begin() + window.row_begin, rows.begin() + window.row_end};
}

void AttentionMaps::Remember(const Head& head, Index row_begin, std::span<const RowSummary> made) const {
  const std::lock_guard lock(mutex_);
  std::vector<RowSummary>& rows = summaries_[Number(head)];
  rows.resize(static_cast<std::size_t>(queries()), {0.0f, kUnknown, 0});
  std::ranges::copy(made, rows.begin() + row_begin);
}

}  // namespace headlens
