// SPDX-License-Identifier: Apache-2.0
/// Attention on the SIMD backend: cuts a problem into blocks of rows and distributes them among threads.
#include "backends/simd/attention.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "backends/parts.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/online_rows.h"
#include "backends/simd/whole_rows.h"
#include "backends/simd/workers.h"
#include "base/sorting.h"

namespace headlens::simd {
namespace {

/// Up to this many rows that share a key/value head read keys and values where they lie, because packing them would
/// cost more than it saves. A single query does so for all its heads together, and several queries for one head after
/// the other.
constexpr Index kFewRows = 4, kFewHeads = 16, kFewHeadsOfHalves = 6;

bool AreFew(const AttentionProblem& p, Index group_heads) {
  if (p.q.shape[2] != 1) return p.q.shape[2] * group_heads <= kFewRows;
  return group_heads <= (p.k.dtype == DType::kF32 ? kFewHeads : kFewHeadsOfHalves);
}

/// The same problem without the spreading of NaN, for rows whose queries, keys and values are all finite. Nothing when
/// the problem does not spread them anyway.
std::optional<AttentionProblem> WhereAllIsFinite(const AttentionProblem& problem) {
  if (problem.masked_nan == MaskedNan::kBlocked) return std::nullopt;
  std::optional<AttentionProblem> finite(problem);
  finite->masked_nan = MaskedNan::kBlocked;
  return finite;
}

/// The work of a problem in multiply-adds. The work of a cell besides its products, above all its exponential, counts
/// as kEachCell of them.
double MultiplyAdds(const AttentionProblem& p) {
  constexpr Index kEachCell = 32;
  double product = static_cast<double>(p.q.shape[3] + p.v.shape[3] + kEachCell) * static_cast<double>(p.k.shape[2]);
  for (std::size_t i = 0; i < 3; ++i) product *= static_cast<double>(p.q.shape[i]);
  return product;
}

class AttentionRun {
 public:
  AttentionRun(const AttentionProblem& problem, const AttentionResults& results, Workers& workers)
      : p_(problem),
        without_spreading_(WhereAllIsFinite(problem)),
        finite_(without_spreading_ ? *without_spreading_ : problem),
        r_(results),
        workers_(workers),
        threads_(workers.Pays(MultiplyAdds(problem)) ? workers.count() : 1),
        kernels_(BestKernels()),
        groups_(problem.k.shape[1]),
        keys_(problem.k.shape[2]),
        group_heads_(groups_ > 0 ? problem.q.shape[1] / groups_ : 0),
        packs_(!AreFew(problem, group_heads_)),
        online_(packs_ && NeedsNoCells(finite_, results)),
        states_(static_cast<std::size_t>(threads_)) {}

  void Run() {
    ZeroMeanWeights(r_);
    if (HasNoElements(p_.q)) return;
    const Index all = p_.q.shape[0] * groups_, together = GroupsTogether();
    if (packs_) packed_ = Buffer<float>(ElementCount({std::min(all, together), PackedSize()}));
    if (packs_ && Spreads()) packed_finite_.resize(static_cast<std::size_t>(2 * std::min(all, together)));
    for (Index first = 0; first < all; first += together) RunGroups(first, std::min(all, first + together));
  }

 private:
  /// The state of one thread, whose parts are made when they are first needed. Rows of finite numbers go through
  /// `online` or `whole`, and rows that a NaN or an infinity may spread to go through `spreading`.
  struct State {
    std::unique_ptr<OnlineRows> online;
    std::unique_ptr<WholeRows> whole, spreading;
  };

  /// Distributes the tasks among the threads when the problem is large enough.
  void Share(Index tasks, const Workers::Task& task) {
    if (threads_ > 1) return workers_.Run(tasks, task);
    for (Index i = 0; i < tasks; ++i) task(i, 0);
  }

  /// The number of rows that cuts each head into blocks of about equal height.
  Index BlockRows() const {
    const Index most = online_ ? OnlineRows::BlockRows(p_.q.shape[3]) : WholeRows::BlockRows(keys_),
                queries = p_.q.shape[2];
    const Index blocks = std::max<Index>((queries + most - 1) / most, 1);
    return ((queries + blocks - 1) / blocks + 11) / 12 * 12;
  }

  /// The number of key/value heads that are packed and computed at a time: enough to keep the threads busy, and all
  /// heads of a sequence when their weights are averaged.
  Index GroupsTogether() const {
    if (threads_ == 1) return 1;
    if (r_.mean_weights) return std::max<Index>(groups_, 1);
    const Index blocks = group_heads_ * ((p_.q.shape[2] + BlockRows() - 1) / std::max<Index>(BlockRows(), 1));
    return std::max<Index>(4 * threads_ / std::max<Index>(blocks, 1), 1);
  }

  Index KeysSize() const { return RoundUp(keys_, kernels_.panel_width) * p_.q.shape[3]; }
  Index ValuesSize() const { return r_.output ? keys_ * RoundUp(p_.v.shape[3], kernels_.panel_width) : 0; }
  Index PackedSize() const { return KeysSize() + ValuesSize(); }

  /// Computes key/value heads [first, end), counted through the batch.
  void RunGroups(Index first, Index end) {
    if (packs_) {
      Share(2 * (end - first), [&](Index task, Index) { Pack(first + task / 2, task / 2, task % 2 == 1); });
    }
    std::vector<RowBlock> blocks;
    for (Index group = first; group < end; ++group) AddBlocks(group / groups_, group % groups_, blocks);
    if (r_.mean_weights) return RunAveraged(first, blocks);
    // The blocks that take longest go first. Under a causal mask these are the last ones.
    const auto count = static_cast<Index>(blocks.size());
    Share(count, [&](Index task, Index worker) {
      RunBlock(blocks[static_cast<std::size_t>(count - 1 - task)], first, worker);
    });
  }

  /// Computes blocks whose heads add to the same averages. Those of the same queries run one after the other, always in
  /// the same order, so the sums do not depend on the threads.
  void RunAveraged(Index first_group, std::vector<RowBlock>& blocks) {
    Permute(std::span(blocks),
            Order(blocks.size(), [&](std::size_t i, std::size_t j) { return blocks[i].first < blocks[j].first; }));
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (i == 0 || blocks[i].first != blocks[i - 1].first) starts.push_back(i);
    starts.push_back(blocks.size());
    Share(static_cast<Index>(starts.size()) - 1, [&](Index task, Index worker) {
      const auto i = static_cast<std::size_t>(task);
      for (std::size_t j = starts[i]; j < starts[i + 1]; ++j) RunBlock(blocks[j], first_group, worker);
    });
  }

  void Pack(Index group, Index slot, bool values) {
    const Index b = group / groups_, g = group % groups_;
    float* to = packed_.data() + slot * PackedSize() + (values ? KeysSize() : 0);
    if (!values) {
      kernels_.pack_rows(RowsOf(p_.k, b, g, {0, keys_}), to);
    } else if (r_.output) {
      kernels_.pack_columns(RowsOf(p_.v, b, g, {0, keys_}), to);
    }
    if (!Spreads()) return;
    packed_finite_[static_cast<std::size_t>(2 * slot + values)] =
        kernels_.all_finite(to, values ? ValuesSize() : KeysSize());
  }

  bool Spreads() const { return p_.masked_nan == MaskedNan::kSpreads; }

  /// Returns true when a NaN or an infinity behind a mask may reach the block's rows.
  bool MaySpread(const RowBlock& block, Index slot) const {
    if (!Spreads()) return false;
    const auto i = static_cast<std::size_t>(2 * slot);
    if (!packs_ || !packed_finite_[i] || !packed_finite_[i + 1]) return true;
    const float* q = block.begin(p_.q);
    for (Index row = 0; row < block.count; ++row)
      if (!kernels_.all_finite(q + row * block.stride(p_.q), p_.q.shape[3])) return true;
    return false;
  }

  void AddBlocks(Index b, Index g, std::vector<RowBlock>& blocks) const {
    const Index queries = p_.q.shape[2], rows = BlockRows();
    const bool in_blocks = p_.gqa_order == GqaOrder::kBlock;
    const Index head = in_blocks ? g * group_heads_ : g, step = in_blocks ? 1 : groups_;
    if (queries == 1) {
      const Index together = packs_ ? 12 : kFewHeads;
      for (Index i = 0; i < group_heads_; i += together)
        blocks.push_back({b, g, head + i * step, 0, std::min(together, group_heads_ - i), step});
      return;
    }
    for (Index i = 0; i < group_heads_; ++i)
      for (Index t = 0; t < queries; t += rows)
        blocks.push_back({b, g, head + i * step, t, std::min(rows, queries - t)});
  }

  void RunBlock(const RowBlock& block, Index first_group, Index worker) {
    State& state = states_[static_cast<std::size_t>(worker)];
    const Index slot = block.b * groups_ + block.g - first_group;
    PackedHead head;
    if (packs_) {
      const float* packed = packed_.data() + slot * PackedSize();
      head = {packed, packed + KeysSize()};
    }
    if (MaySpread(block, slot)) return RunWhole(state.spreading, p_, block, head);
    if (online_) {
      if (!state.online) state.online = std::make_unique<OnlineRows>(finite_, r_, kernels_);
      if (state.online->Run(block, head)) return;
    }
    RunWhole(state.whole, finite_, block, head);
  }

  void RunWhole(std::unique_ptr<WholeRows>& whole, const AttentionProblem& problem, const RowBlock& block,
                const PackedHead& head) {
    if (!whole) whole = std::make_unique<WholeRows>(problem, r_, kernels_);
    const Index rows = WholeRows::BlockRows(keys_);
    for (Index i = 0; i < block.count; i += rows) whole->Run(block.Part(i, std::min(rows, block.count - i)), head);
  }

  const AttentionProblem& p_;
  const std::optional<AttentionProblem> without_spreading_;
  const AttentionProblem& finite_;
  const AttentionResults& r_;
  Workers& workers_;
  Index threads_;  // the number of threads that this problem is worth
  const Kernels& kernels_;
  Index groups_, keys_, group_heads_;
  bool packs_, online_;
  Buffer<float> packed_;
  std::vector<std::uint8_t> packed_finite_;  // for each packed head: its keys, then its values
  std::vector<State> states_;
};

}  // namespace

void RunAttention(const AttentionProblem& problem, const AttentionResults& results, Workers& workers) {
  // Refused here, on the caller's thread, if they are not on the host.
  problem.q.host(), problem.k.data.host(), problem.v.data.host(), results.output.host(), results.weights.host();
  AttentionRun(problem, results, workers).Run();
}

}  // namespace headlens::simd
