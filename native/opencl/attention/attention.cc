// SPDX-License-Identifier: Apache-2.0
/// Attention on a device: how a problem is cut into heads and blocks of rows that its memory holds, and the two ways of
/// computing these. Cells in memory do all that a problem can ask for; the online softmax does without them.
#include "opencl/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "backends/attention_run.h"
#include "attention/masks/mask_set.h"
#include "opencl/attention/online.h"
#include "opencl/matrix/matrix.h"
#include "opencl/matrix/matrix_units.h"
#include "opencl/matrix/places.h"
#include "attention/philox.h"
#include "attention/positions/bias_table.h"
#include "backends/simd/online_rows.h"

namespace headlens::opencl {
namespace {

/// As kernels/problem.cl has it.
struct DeviceProblem {
  cl_long keys, maskable, queries, first, rows;
  cl_long own_shift;
  cl_long window_left, window_right, dilation, top_k;
  Heads heads;
  Place q, k, v, output;
  cl_long width, value_width;
  cl_long boolean[3], additive[3];
  cl_ulong seed;
  cl_uint highest_dropped;
  cl_int drops, interleaved, boolean_keeps, causal, cap_after_bias, spreads, marks_hidden, fully_masked;
  cl_float scale, softcap, temperature, sigmoid_bias, keep_factor;
};
static_assert(sizeof(DeviceProblem) == 42 * 8 + 14 * 4);

/// A copy of [rows, columns] elements of `view` without its strides.
template <class T>
std::vector<T> Dense(const View<const T, 2>& view) {
  std::vector<T> dense;
  dense.reserve(static_cast<std::size_t>(ElementCount({view.shape[0], view.shape[1]})));
  for (Index i = 0; i < view.shape[0]; ++i)
    for (Index j = 0; j < view.shape[1]; ++j) dense.push_back(view(i, j));
  return dense;
}

class AttentionRun {
 public:
  AttentionRun(Session& session, const AttentionProblem& problem, const AttentionResults& results,
               const std::optional<AttentionKernel>& kernel)
      : session_(session),
        p_(problem),
        r_(results),
        masks_(problem),
        biases_(problem),
        keys_(problem.k.shape[2]),
        groups_(problem.k.shape[1]),
        group_heads_(problem.q.shape[1] / groups_),
        value_width_(results.output ? problem.v.shape[3] : 0),
        suits_online_(value_width_ > 0 && simd::OnlineRows::Suits(problem, results) &&
                      (IsPlainWhereMasked() || EveryRowSeesKeys())) {
    if (suits_online_) ChooseKernel(kernel);
    UploadWhole();
  }

  void Run() {
    const Index all = p_.q.shape[0] * groups_, together = GroupsTogether();
    for (Index first = 0; first < all; first += together) RunGroups(first, std::min(all, first + together));
  }

 private:
  struct Head {
    Index b, h;
  };

  /// A tensor of cells with its strides by head, row and key; 0 where it is the same for all.
  struct Cells {
    Memory buffer;
    std::array<Index, 3> strides{};
  };

  /// Queries [first, first + count) of all heads that are worked on.
  struct Rows {
    Index first, count;
  };

  /// Returns true when a row without keys becomes 0, whatever its query is.
  bool IsPlainWhereMasked() const {
    return p_.fully_masked == FullyMasked::kZero && p_.masked_nan == MaskedNan::kBlocked;
  }

  /// Returns true when no row can be fully masked; then it does not matter what such a row would get.
  bool EveryRowSeesKeys() const {
    if (masks_.has_marks()) return false;
    for (Index b = 0; b < p_.q.shape[0]; ++b)
      for (Index t = 0; t < p_.q.shape[2]; ++t) {
        const KeyRange range = masks_.Range(b, t);
        if (range.begin >= range.end) return false;
      }
    return true;
  }

  bool ChangesScores() const { return p_.softcap > 0.0f || p_.mask.additive || !biases_.empty(); }

  void ChooseKernel(const std::optional<AttentionKernel>& kernel) {
    const std::optional<Index> width = OnlineWidth(std::max(p_.q.shape[3], value_width_));
    if (!width) return;
    const auto* const tile = kernel ? std::get_if<OnlineTile>(&*kernel) : nullptr;
    const auto chosen = tile ? std::optional(*tile) : ChooseOnlineTile(session_, *width, group_heads_ * p_.q.shape[2]);
    if (!chosen) return;
    online_ = OnlineShape{*chosen, *width};
    if (!kernel && SuitsUnits()) units_ = FusedOnMatrixUnits(session_, {*width, ChangesScores()});
    if (kernel && std::holds_alternative<FusedTile>(*kernel)) units_ = std::get<FusedTile>(*kernel);
    rounds_ = units_ ? HasHalves(session_.precision()) : RoundsRows(session_, *chosen, group_heads_ * p_.q.shape[2]);
  }

  /// Few rows wait for memory: there matrix units gain nothing, and keys that work-groups share do. And scores are
  /// scaled only after hidden ones became the lowest number, which must stay far below all others.
  bool SuitsUnits() const {
    constexpr Index kFewRows = 4;
    constexpr float kLeastScale = 1e-20f;
    const float scale = (ChangesScores() ? 1.0f : std::abs(p_.scale)) / p_.normalizer.temperature;
    return p_.q.shape[2] > kFewRows && scale >= kLeastScale && scale <= 1.0f / kLeastScale;
  }

  template <class T>
  Memory UploadDense(const View<const T, 2>& view) {
    return view ? session_.Upload(std::span<const T>(Dense(view))) : Memory();
  }

  /// Tensors of a number for each query or key.
  void UploadWhole() {
    const Mask& mask = p_.mask;
    padding_ = UploadDense(mask.key_padding);
    lengths_ = UploadDense(mask.valid_lens);
    global_tokens_ = UploadDense(mask.global_tokens);
    query_documents_ = UploadDense(mask.query_documents);
    key_documents_ = UploadDense(mask.key_documents);
    const auto as_row = [](const auto& v) {
      return View<std::remove_pointer_t<decltype(v.data)>, 2>{v.data, {1, v.shape[0]}, {0, v.strides[0]}};
    };
    if (mask.prefix_lens) prefixes_ = UploadDense(as_row(mask.prefix_lens));
    if (p_.normalizer.sinks) sinks_ = UploadDense(as_row(p_.normalizer.sinks));
  }

  /// How many tensors of cells a block has on the device.
  Index CellTensors() const {
    const View<float, 4>* const stages[] = {&r_.scaled_scores, &r_.capped_scores, &r_.biased_scores, &r_.masked_scores,
                                            &r_.dropout_mask};
    return 2 + std::count_if(std::begin(stages), std::end(stages), [](const auto* view) { return bool{*view}; });
  }

  Index RowBytes() const { return keys_ * CellTensors() * static_cast<Index>(sizeof(float)); }

  /// How many key/value heads are on the device at a time: all of one sequence where its weights are averaged.
  Index GroupsTogether() const {
    if (r_.mean_weights) return groups_;
    const Index key_bytes = keys_ * (p_.k.shape[3] + value_width_) * static_cast<Index>(sizeof(float));
    return std::max<Index>(session_.step_memory() / std::max(key_bytes, group_heads_ * RowBytes()), 1);
  }

  /// Key/value heads [first, end), counted through the batch.
  void RunGroups(Index first, Index end) {
    groups_launched_ = {first, groups_, group_heads_};
    heads_.clear();
    for (Index i = first; i < end; ++i)
      for (Index j = 0; j < group_heads_; ++j) {
        const Index g = i % groups_;
        const Index h = p_.gqa_order == GqaOrder::kBlock ? g * group_heads_ + j : j * groups_ + g;
        heads_.push_back({i / groups_, h});
      }
    k_ = Keys(p_.k.floats(), first, end);
    if (value_width_ > 0) v_ = Keys(p_.v.floats(), first, end);
    bool goes_online = online_.has_value();
    if (goes_online) SetUpOnline(end - first);
    values_finite_ = goes_online || value_width_ == 0 || AllFinite(end - first);
    UploadBiases();
    UploadHeadMask();
    const Index queries = p_.q.shape[2], most = MostRows();
    for (Index t = 0; t < queries; t += most) {
      const Rows rows{t, std::min(most, queries - t)};
      if (goes_online) {
        goes_online = RunOnline(rows);
        if (goes_online) continue;
        values_finite_ = AllFinite(end - first);
      }
      RunCells(rows);
    }
  }

  /// Rows of a block: as many as the memory for a step holds, of cells or of what else belongs to a row.
  Index MostRows() const {
    const bool no_cells = online_ && !p_.mask.boolean && !p_.mask.additive;
    const Index others = (p_.q.shape[3] + value_width_) * static_cast<Index>(sizeof(float));
    const Index row = static_cast<Index>(heads_.size()) * (others + (no_cells ? 0 : RowBytes()));
    return std::max<Index>(session_.step_memory() / row, 1);
  }

  /// Dense rows of a view [B, G, n, width] for each slot or head, as `of` says where they begin.
  template <class Begin>
  std::vector<float> Gather(Index count, Index rows, Index width, Index stride, const Begin& begin) const {
    std::vector<float> all(static_cast<std::size_t>(ElementCount({count, rows, width})));
    float* to = all.data();
    for (Index i = 0; i < count; ++i) {
      const float* from = begin(i);
      for (Index row = 0; row < rows; ++row, to += width) std::copy_n(from + row * stride, width, to);
    }
    return all;
  }

  /// Rows of keys or values of groups [first, end): where they live on the device, or copied there.
  Operand Keys(const View<const float, 4>& view, Index first, Index end) {
    if (const auto found = session_.residents().Find(view.data))
      return {found->buffer, {found->first, view.strides[0], view.strides[1], 0, view.strides[2]}};
    const std::vector<float> rows = Gather(end - first, keys_, view.shape[3], view.strides[2], [&](Index i) {
      return view.at((first + i) / groups_, (first + i) % groups_);
    });
    const Index group = keys_ * view.shape[3];
    return {session_.Upload(std::span<const float>(rows)), {-first * group, groups_ * group, group, 0, view.shape[3]}};
  }

  /// The same of queries, or of what has their shape.
  template <class T>
  Place QueryPlace(Index first, const View<T, 4>& view) const {
    const bool in_blocks = p_.gqa_order == GqaOrder::kBlock;
    const Index group = in_blocks ? group_heads_ : 1, member = in_blocks ? 1 : groups_;
    return {first, view.strides[0], group * view.strides[1], member * view.strides[1], view.strides[2]};
  }

  Operand Queries(const Rows& rows) {
    if (const auto found = session_.residents().Find(p_.q.data))
      return {found->buffer, QueryPlace(found->first + rows.first * p_.q.strides[2], p_.q)};
    const auto begin = [&](Index z) {
      const Head& head = heads_[static_cast<std::size_t>(z)];
      return p_.q.at(head.b, head.h, rows.first);
    };
    const Index width = p_.q.shape[3];
    const std::vector<float> all = Gather(static_cast<Index>(heads_.size()), rows.count, width, p_.q.strides[2], begin);
    return {session_.Upload(std::span<const float>(all)), DensePlace(groups_launched_, rows.count, width)};
  }

  /// Where the device writes the output: at its place there, or in memory of its own, from which StoreOutput takes it.
  Operand Output(const Rows& rows) {
    if (const auto found = session_.residents().Find(r_.output.data, /*writes=*/true))
      return {found->buffer, QueryPlace(found->first + rows.first * r_.output.strides[2], r_.output)};
    return {session_.Allocate<float>(static_cast<Index>(heads_.size()) * rows.count * value_width_),
            DensePlace(groups_launched_, rows.count, value_width_)};
  }

  void StoreOutput(const Operand& output, const Rows& rows) {
    if (!session_.residents().Find(r_.output.data)) Store(output.buffer, rows, value_width_, r_.output);
  }

  /// Whether the values of those `groups` are all finite.
  bool AllFinite(Index groups) {
    const cl_uint none = 0;
    const Memory unusual = session_.Upload(std::span(&none, 1));
    FindUnusual(v_, groups, value_width_, unusual);
    cl_uint found = 0;
    session_.DownloadBytes(unusual, 0, sizeof found, &found);
    return found == 0;
  }

  /// Sets `unusual` where some of the keys or values of the groups that are worked on are not finite.
  void FindUnusual(const Operand& rows, Index groups, Index width, const Memory& unusual) {
    const Index count = groups * keys_ * width;
    session_.Launch(kLayersSource, GroupOption(session_), "FindUnusual", {count, GroupItems(session_)}, rows.buffer,
                    rows.place, Heads{groups_launched_.first, groups_, 1}, cl_long{keys_}, cl_long{width},
                    cl_long{count}, unusual);
  }

  /// By distance, for each head that is worked on.
  void UploadBiases() {
    if (biases_.empty()) return;
    const Index queries = p_.q.shape[2], count = queries + MaskableKeys(p_);
    std::vector<float> all;
    all.reserve(static_cast<std::size_t>(ElementCount({static_cast<Index>(heads_.size()), count})));
    for (const Head& head : heads_) {
      biases_.Prepare(head.h);
      const float* from = biases_.Row(queries - 1);
      all.insert(all.end(), from, from + count);
    }
    bias_table_ = session_.Upload(std::span<const float>(all));
  }

  void UploadHeadMask() {
    if (!p_.head_mask) return;
    std::vector<float> factors;
    for (const Head& head : heads_) factors.push_back(p_.head_mask(head.b, head.h));
    head_mask_ = session_.Upload(std::span<const float>(factors));
  }

  /// The part of a mask that the rows look at, without the dimensions that it is broadcast over.
  template <class T>
  Cells UploadCells(const View<const T, 4>& view, const Rows& rows) {
    if (!view) return {};
    const bool by_head = view.strides[0] != 0 || view.strides[1] != 0;
    const Index heads = by_head ? static_cast<Index>(heads_.size()) : 1;
    const Index count = view.strides[2] != 0 ? rows.count : 1, keys = view.strides[3] != 0 ? view.shape[3] : 1;
    std::vector<T> dense(static_cast<std::size_t>(ElementCount({heads, count, keys})));
    T* to = dense.data();
    for (Index z = 0; z < heads; ++z) {
      const Head& head = heads_[static_cast<std::size_t>(z)];
      for (Index i = 0; i < count; ++i)
        for (Index s = 0; s < keys; ++s) *to++ = view(head.b, head.h, rows.first + i, s);
    }
    return {session_.Upload(std::span<const T>(dense)),
            {by_head ? count * keys : 0, view.strides[2] != 0 ? keys : 0, view.strides[3] != 0 ? 1 : 0}};
  }

  DeviceProblem Describe(const Rows& rows) const {
    const Mask& mask = p_.mask;
    DeviceProblem d{};
    d.keys = keys_;
    d.maskable = MaskableKeys(p_);
    d.queries = p_.q.shape[2];
    d.first = rows.first;
    d.rows = rows.count;
    d.own_shift = QueryPosition(p_, 0) - p_.key_offset;
    d.window_left = mask.window_left;
    d.window_right = mask.window_right;
    d.dilation = mask.dilation;
    d.top_k = p_.normalizer.top_k;
    d.heads = groups_launched_;
    d.interleaved = p_.gqa_order == GqaOrder::kInterleaved;
    d.width = p_.q.shape[3];
    d.value_width = value_width_;
    d.seed = p_.seed;
    d.drops = p_.dropout_p > 0.0;
    if (d.drops) d.highest_dropped = HighestDropped(p_.dropout_p);
    d.boolean_keeps = mask.boolean_keeps;
    d.causal = mask.causal;
    d.cap_after_bias = p_.softcap_order == SoftcapOrder::kAfterBias;
    d.spreads = p_.masked_nan == MaskedNan::kSpreads;
    d.marks_hidden = !values_finite_;
    d.fully_masked = static_cast<cl_int>(p_.fully_masked);
    d.scale = p_.scale;
    d.softcap = p_.softcap;
    d.temperature = p_.normalizer.temperature;
    d.sigmoid_bias = p_.normalizer.sigmoid_bias;
    d.keep_factor = p_.dropout_p < 1.0 ? static_cast<float>(1.0 / (1.0 - p_.dropout_p)) : 0.0f;
    return d;
  }

  /// Launches a kernel of attention: what all of them take comes first.
  template <class... Args>
  void LaunchOn(DeviceProblem problem, const Rows& rows, const Source& source, const std::string& options,
                const char* kernel, const Grid& grid, const Args&... args) {
    const Cells boolean = UploadCells(p_.mask.boolean, rows), additive = UploadCells(p_.mask.additive, rows);
    std::copy_n(boolean.strides.begin(), 3, problem.boolean);
    std::copy_n(additive.strides.begin(), 3, problem.additive);
    session_.Launch(source, options, kernel, grid, problem, boolean.buffer, additive.buffer, padding_, lengths_,
                    prefixes_, global_tokens_, query_documents_, key_documents_, bias_table_, sinks_, head_mask_,
                    args...);
  }

  /// Keys and values as the online softmax reads them.
  void SetUpOnline(Index groups) {
    const cl_uint none = 0;
    unusual_ = session_.Upload(std::span(&none, 1));
    if (p_.masked_nan == MaskedNan::kSpreads) {  // keys and values that no row sees count, too
      FindUnusual(k_, groups, p_.q.shape[3], unusual_);
      FindUnusual(v_, groups, value_width_, unusual_);
    }
    const Heads heads{groups_launched_.first, groups_, 1};
    looks_at_kept_ = SuitsKept();
    if (looks_at_kept_) {
      online_k_ = {KeptRounded(p_.k.floats().data), k_.place};
      online_v_ = {KeptRounded(p_.v.floats().data), v_.place};
      return;
    }
    online_k_ = Stored(k_, heads, groups, keys_, p_.q.shape[3]);
    online_v_ = Stored(v_, heads, groups, keys_, value_width_);
    online_k_.place.member = online_v_.place.member = 0;
  }

  /// Whether few queries look at keys and values that live on the device: these are rounded once, for all calls. Rows
  /// must be whole fours, as the kernel reads them.
  bool SuitsKept() const {
    const auto suits = [&](const View<const float, 4>& view, const Operand& rows) {
      return session_.residents().CountAt(view.data) > 0 && view.shape[3] % 4 == 0 && IsAligned({rows.place});
    };
    return !rounds_ && HasHalves(session_.precision()) && suits(p_.k.floats(), k_) && suits(p_.v.floats(), v_);
  }

  bool reads_rounded() const { return rounds_ || looks_at_kept_; }

  /// The rounded numbers of the whole tensor that p points into.
  Memory KeptRounded(const float* p) {
    if (const Memory kept = session_.residents().Rounded(p)) return kept;
    const auto all = session_.residents().Find(p);
    const Index count = session_.residents().CountAt(p);
    const Memory rounded = session_.Allocate<cl_ushort>(count);
    RoundRows(session_, {all->buffer, MatrixPlace(count)}, {0, 1, 1}, 1, 1, count, count, {rounded, MatrixPlace(count)},
              Memory());
    session_.residents().KeepRounded(p, rounded);
    return rounded;
  }

  /// Rows of heads as the kernel reads them.
  Operand Stored(const Operand& rows, const Heads& heads, Index head_count, Index count, Index width) {
    if (!reads_rounded()) return rows;
    return RoundRows(session_, rows, heads, head_count, count, width, unusual_);
  }

  /// False if something is infinite or NaN: then the rows, and those after them, are still to be computed.
  bool RunOnline(const Rows& rows) {
    const Operand output = Output(rows);
    const Memory lse = r_.lse ? session_.Allocate<float>(static_cast<Index>(heads_.size()) * rows.count) : Memory();
    units_ ? LaunchOnUnits(rows, output, lse) : LaunchOnline(rows, output, lse);
    cl_uint found = 0;
    session_.DownloadBytes(unusual_, 0, sizeof found, &found);
    if (found != 0) return false;
    StoreOutput(output, rows);
    if (r_.lse) StoreLse(lse, rows);
    return true;
  }

  void LaunchOnline(const Rows& rows, const Operand& output, const Memory& lse) {
    const auto heads = static_cast<Index>(heads_.size());
    const Index groups = heads / group_heads_, group_rows = rows.count * group_heads_;
    const OnlineTile& tile = online_->tile;
    const Index tiles = (group_rows + tile.rows - 1) / tile.rows;
    const Index parts = OnlineParts(session_, tile, groups * tiles, keys_);
    const Operand q = Stored(Queries(rows), groups_launched_, heads, rows.count, p_.q.shape[3]);
    const auto scratch = [&](Index width) {
      return parts > 1 ? session_.Allocate<float>(groups * parts * group_rows * width) : Memory();
    };
    const bool plain = HidesOnlyRanges();
    const Memory ranges =
        session_.Upload(std::span<const cl_long>(Ranges(rows, tiles, tile.rows, group_heads_, plain)));
    const Memory row_ranges = plain ? session_.Upload(std::span<const cl_int>(RowRanges(rows))) : Memory();
    const Memory sums = scratch(2), blends = scratch(value_width_);
    DeviceProblem problem = Describe(rows);
    problem.q = q.place, problem.k = online_k_.place, problem.v = online_v_.place, problem.output = output.place;
    const auto factor = static_cast<float>(double{p_.scale} / double{p_.normalizer.temperature} * std::numbers::log2e);
    const bool aligned = IsAligned({problem.q, problem.k, problem.v}) && (problem.width | problem.value_width) % 4 == 0;
    LaunchOn(problem, rows, kOnlineSource,
             OnlineOptions(session_, *online_, {.rounded = reads_rounded(), .aligned = aligned, .row_ranges = plain}),
             "AttendOnline", {groups * tiles * parts * tile.items_x, tile.items_x, tile.items_y}, q.buffer,
             online_k_.buffer, online_v_.buffer, ranges, row_ranges, cl_long{groups}, cl_long{tiles}, cl_long{parts},
             factor, output.buffer, lse, sums, blends, unusual_);
    if (parts == 1) return;
    const Index count = heads * rows.count * value_width_;
    session_.Launch(kMergeSource, GroupOption(session_), "MergeParts", {count, GroupItems(session_)}, problem, sinks_,
                    head_mask_, cl_long{parts}, sums, blends, output.buffer, lse, cl_long{count}, unusual_);
  }

  void LaunchOnUnits(const Rows& rows, const Operand& output, const Memory& lse) {
    const auto heads = static_cast<Index>(heads_.size());
    const Index tiles = (rows.count + units_->rows() - 1) / units_->rows();
    const Operand q = Queries(rows);
    const bool plain = !masks_.has_marks() && !p_.mask.additive;
    const Memory ranges = session_.Upload(std::span<const cl_long>(Ranges(rows, tiles, units_->rows(), 1, plain)));
    DeviceProblem problem = Describe(rows);
    problem.q = q.place, problem.k = online_k_.place, problem.v = online_v_.place, problem.output = output.place;
    const bool aligned = rounds_ || IsAligned({problem.k, problem.v});
    LaunchOn(problem, rows, kOnlineMmaSource, FusedOptions(session_, *units_, ChangesScores(), aligned),
             "AttendOnlineMma", {tiles * heads * units_->items(), units_->items()}, q.buffer, online_k_.buffer,
             online_v_.buffer, ranges, output.buffer, lse, unusual_);
  }

  /// Whether rows of those tensors begin where four floats can be read at once.
  static bool IsAligned(std::initializer_list<Place> places) {
    return std::all_of(places.begin(), places.end(), [](const Place& place) {
      return (place.base | place.batch | place.group | place.member | place.row) % 4 == 0;
    });
  }

  /// Whether all that masks and biases do is to leave a range of keys to each row, and these can be told as RowRanges.
  bool HidesOnlyRanges() const {
    return !masks_.has_marks() && !ChangesScores() && keys_ <= std::numeric_limits<cl_int>::max();
  }

  /// [B, rows, 2]: the keys outside of which a row sees nothing.
  std::vector<cl_int> RowRanges(const Rows& rows) const {
    std::vector<cl_int> ranges;
    ranges.reserve(static_cast<std::size_t>(p_.q.shape[0] * rows.count * 2));
    for (Index b = 0; b < p_.q.shape[0]; ++b)
      for (Index t = 0; t < rows.count; ++t) {
        const KeyRange range = masks_.Range(b, rows.first + t);
        ranges.insert(ranges.end(), {static_cast<cl_int>(range.begin), static_cast<cl_int>(range.end)});
      }
    return ranges;
  }

  /// [B, tiles, 4]: the keys that some row of each tile may look at, and those that all of its rows look at; of these
  /// none, unless the problem is `plain`. A tile's rows are `members` for each query.
  std::vector<cl_long> Ranges(const Rows& rows, Index tiles, Index tile_rows, Index members, bool plain) const {
    std::vector<cl_long> ranges(static_cast<std::size_t>(p_.q.shape[0] * tiles * 4));
    Index last = -1;
    for (const Head& head : heads_) {
      if (head.b == last) continue;
      last = head.b;
      for (Index tile = 0; tile < tiles; ++tile) {
        const Index first = tile * tile_rows / members;
        const Index end = std::min(((tile + 1) * tile_rows - 1) / members + 1, rows.count);
        KeyRange any, all{0, plain ? keys_ : 0};
        for (Index t = first; t < end; ++t) {
          const KeyRange range = masks_.Range(head.b, rows.first + t);
          any = simd::Union(any, range);
          all = simd::Intersection(all, range);
        }
        const cl_long quad[] = {any.begin, any.end, all.begin, all.end};
        std::copy_n(quad, 4, ranges.data() + (head.b * tiles + tile) * 4);
      }
    }
    return ranges;
  }

  void RunCells(const Rows& rows) {
    const Index heads = static_cast<Index>(heads_.size());
    const Index most = std::max<Index>(session_.step_memory() / (heads * RowBytes()), 1);
    for (Index t = 0; t < rows.count; t += most) RunBlock({rows.first + t, std::min(most, rows.count - t)});
  }

  std::string RowOptions(NormalizerKind kind) const {
    return GroupOption(session_) + "-D NORMALIZER=" + std::to_string(static_cast<int>(kind));
  }

  /// All stages of the rows' cells.
  void RunBlock(const Rows& rows) {
    const auto heads = static_cast<Index>(heads_.size());
    const Index items = GroupItems(session_), count = heads * rows.count * keys_;
    const auto stage = [&](bool wanted) { return wanted ? session_.Allocate<float>(count) : Memory(); };
    const Memory cells = stage(true);
    Multiply(session_, {.a = Queries(rows),
                        .b = k_,
                        .c = {cells, DensePlace(groups_launched_, rows.count, keys_)},
                        .m = rows.count,
                        .n = keys_,
                        .k = p_.q.shape[3],
                        .b_columns = true,
                        .heads = groups_launched_,
                        .head_count = heads});
    Store(cells, rows, keys_, r_.scores);
    const bool drops = p_.dropout_p > 0.0 || p_.head_mask || !values_finite_;
    const Memory scaled = stage(bool{r_.scaled_scores}), capped = stage(bool{r_.capped_scores}),
                 biased = stage(bool{r_.biased_scores}), masked = stage(bool{r_.masked_scores}),
                 dropout_mask = stage(bool{r_.dropout_mask}),
                 dropped = stage(r_.dropped_weights || (value_width_ > 0 && drops));
    const Memory lse = r_.lse ? session_.Allocate<float>(heads * rows.count) : Memory();
    LaunchOn(Describe(rows), rows, kRowsSource, RowOptions(p_.normalizer.kind), "NormalizeRows",
             {rows.count * heads * items, items}, cells, scaled, capped, biased, masked, dropout_mask, dropped, lse);
    Store(scaled, rows, keys_, r_.scaled_scores);
    Store(capped, rows, keys_, r_.capped_scores);
    Store(biased, rows, keys_, r_.biased_scores);
    Store(masked, rows, keys_, r_.masked_scores);
    Store(dropout_mask, rows, keys_, r_.dropout_mask);
    Store(cells, rows, keys_, r_.weights);
    Store(dropped, rows, keys_, r_.dropped_weights);
    if (r_.dropped_weights && !values_finite_) ClearSigns(rows);
    if (r_.lse) StoreLse(lse, rows);
    if (r_.mean_weights) StoreMean(cells, rows);
    if (value_width_ > 0) Blend(dropped ? dropped : cells, rows);
  }

  void Blend(const Memory& weights, const Rows& rows) {
    const auto heads = static_cast<Index>(heads_.size());
    const Operand output = Output(rows);
    if (values_finite_) {
      Multiply(session_, {.a = {weights, DensePlace(groups_launched_, rows.count, keys_)},
                          .b = v_,
                          .c = output,
                          .m = rows.count,
                          .n = value_width_,
                          .k = keys_,
                          .heads = groups_launched_,
                          .head_count = heads});
    } else {
      const Index items = GroupItems(session_), count = heads * rows.count * value_width_;
      DeviceProblem problem = Describe(rows);
      problem.v = v_.place, problem.output = output.place;
      session_.Launch(kRowsSource, RowOptions(NormalizerKind::kSoftmax), "BlendVisible", {count, items}, problem,
                      weights, v_.buffer, output.buffer, cl_long{count});
    }
    StoreOutput(output, rows);
  }

  /// Rows [heads, rows, width] to where the caller wants them, if at all.
  void Store(const Memory& from, const Rows& rows, Index width, const View<float, 4>& to) {
    if (!to) return;
    for (std::size_t z = 0; z < heads_.size(); ++z) {
      const Index first = static_cast<Index>(z) * rows.count;
      float* const begin = to.at(heads_[z].b, heads_[z].h, rows.first);
      if (const auto found = session_.residents().Find(begin, /*writes=*/true)) {
        session_.CopyRows({from, first * width}, width, *found, to.strides[2], rows.count, width);
      } else {
        session_.Download(from, first, rows.count, width, begin, to.strides[2]);
      }
    }
  }

  void StoreLse(const Memory& from, const Rows& rows) {
    std::vector<float> all(heads_.size() * static_cast<std::size_t>(rows.count));
    session_.Download(from, 0, 1, static_cast<Index>(all.size()), all.data(), 0);
    const float* next = all.data();
    for (const Head& head : heads_)
      for (Index i = 0; i < rows.count; ++i) r_.lse(head.b, head.h, rows.first + i) = *next++;
  }

  void StoreMean(const Memory& weights, const Rows& rows) {
    const Index count = rows.count * keys_, items = GroupItems(session_);
    const Memory mean = session_.Allocate<float>(count);
    session_.Launch(kRowsSource, RowOptions(NormalizerKind::kSoftmax), "AverageHeads", {count, items}, weights,
                    static_cast<cl_long>(heads_.size()), cl_long{count}, mean);
    session_.Download(mean, 0, rows.count, keys_, r_.mean_weights.at(heads_[0].b, rows.first),
                      r_.mean_weights.strides[1]);
  }

  /// −0 was a mark for the blend.
  void ClearSigns(const Rows& rows) const {
    for (const Head& head : heads_)
      for (Index i = 0; i < rows.count; ++i) {
        float* cells = r_.dropped_weights.at(head.b, head.h, rows.first + i);
        for (Index s = 0; s < keys_; ++s) cells[s] += 0.0f;
      }
  }

  Session& session_;
  const AttentionProblem& p_;
  const AttentionResults& r_;
  MaskSet masks_;
  BiasTable biases_;
  Index keys_, groups_, group_heads_, value_width_;
  bool suits_online_, values_finite_ = true;
  std::optional<OnlineShape> online_;
  std::optional<FusedTile> units_;  // in its place
  bool rounds_ = false;             // what either reads, unless
  bool looks_at_kept_ = false;      // what was rounded before
  Memory padding_, lengths_, prefixes_, global_tokens_, query_documents_, key_documents_, sinks_;
  // Of the key/value heads that are worked on.
  std::vector<Head> heads_;
  Heads groups_launched_;
  Operand k_, v_, online_k_, online_v_;
  Memory bias_table_, head_mask_, unusual_;
};

}  // namespace

void RunAttention(Session& session, const AttentionProblem& problem, const AttentionResults& results,
                  const std::optional<AttentionKernel>& kernel) {
  const auto& [batch, heads, queries, width] = problem.q.shape;
  // Without any cell there is nothing to compute, but there may be rows to fill.
  if (batch == 0 || heads == 0 || queries == 0 || problem.k.shape[2] == 0)
    return RunReferenceAttention(problem, results);
  // The kernels read F32.
  AttentionProblem floats = problem;
  Tensor k, v;
  const auto expand = [](KeyValueView& view, Tensor& storage) {
    if (view.dtype == DType::kF32) return;
    storage = ToFloat(view);
    view = storage.view<4>();
  };
  expand(floats.k, k);
  expand(floats.v, v);
  AttentionRun(session, floats, results, kernel).Run();
}

}  // namespace headlens::opencl
