// SPDX-License-Identifier: Apache-2.0
/// Attention on the SIMD backend: how a problem is cut into blocks of rows, and these are handed out.
#include <algorithm>
#include <memory>
#include <vector>

#include "attention_run.h"
#include "kernels/kernels.h"
#include "simd/online_rows.h"
#include "simd/whole_rows.h"
#include "simd/workers.h"
#include "sorting.h"

namespace headlens {
namespace simd {
namespace {

/// So many rows of a key/value head and fewer look at keys and values where they lie: packing would cost more than it
/// saves. One query: its heads together. Several queries: head by head, each of which reads them anew.
constexpr Index kFewRows = 4, kFewHeads = 16, kFewHeadsOfHalves = 6;

bool AreFew(const AttentionProblem& p, Index group_heads) {
  if (p.q.shape[2] != 1) return p.q.shape[2] * group_heads <= kFewRows;
  return group_heads <= (p.k.dtype == DType::kF32 ? kFewHeads : kFewHeadsOfHalves);
}

class AttentionRun {
 public:
  AttentionRun(const AttentionProblem& problem, const AttentionResults& results, Workers& workers)
      : p_(problem),
        r_(results),
        workers_(workers),
        kernels_(BestKernels()),
        groups_(problem.k.shape[1]),
        keys_(problem.k.shape[2]),
        group_heads_(groups_ > 0 ? problem.q.shape[1] / groups_ : 0),
        packs_(!AreFew(problem, group_heads_)),
        online_(packs_ && OnlineRows::Suits(problem, results)),
        states_(static_cast<std::size_t>(workers.count())) {}

  void Run() {
    if (r_.mean_weights) ZeroMean();
    const Index all = p_.q.shape[0] * groups_, together = GroupsTogether();
    if (packs_) packed_ = Buffer<float>(ElementCount({std::min(all, together), PackedSize()}));
    for (Index first = 0; first < all; first += together) RunGroups(first, std::min(all, first + together));
  }

 private:
  /// What each thread has for itself, made when it first needs it.
  struct State {
    std::unique_ptr<WholeRows> whole;
    std::unique_ptr<OnlineRows> online;
  };

  void ZeroMean() {
    const auto& shape = r_.mean_weights.shape;
    for (Index b = 0; b < shape[0]; ++b)
      for (Index t = 0; t < shape[1]; ++t) std::fill_n(r_.mean_weights.at(b, t), keys_, 0.0f);
  }

  /// Blocks of about equal height in each head.
  Index BlockRows() const {
    const Index most = online_ ? OnlineRows::BlockRows(p_.q.shape[3]) : WholeRows::BlockRows(keys_),
                queries = p_.q.shape[2];
    const Index blocks = std::max<Index>((queries + most - 1) / most, 1);
    return ((queries + blocks - 1) / blocks + 11) / 12 * 12;
  }

  /// How many key/value heads are packed and worked on at a time: enough to keep the threads busy, and all of one
  /// sequence where their weights are averaged.
  Index GroupsTogether() const {
    if (workers_.count() == 1) return 1;
    if (r_.mean_weights) return std::max<Index>(groups_, 1);
    const Index blocks = group_heads_ * ((p_.q.shape[2] + BlockRows() - 1) / std::max<Index>(BlockRows(), 1));
    return std::max<Index>(4 * workers_.count() / std::max<Index>(blocks, 1), 1);
  }

  Index KeysSize() const { return RoundUp(keys_, kernels_.panel_width) * p_.q.shape[3]; }
  Index ValuesSize() const { return r_.output ? keys_ * RoundUp(p_.v.shape[3], kernels_.panel_width) : 0; }
  Index PackedSize() const { return KeysSize() + ValuesSize(); }

  /// Key/value heads [first, end), counted through the batch.
  void RunGroups(Index first, Index end) {
    if (packs_) {
      workers_.Run(2 * (end - first), [&](Index task, Index) { Pack(first + task / 2, task / 2, task % 2 == 1); });
    }
    std::vector<RowBlock> blocks;
    for (Index group = first; group < end; ++group) AddBlocks(group / groups_, group % groups_, blocks);
    if (r_.mean_weights) return RunAveraged(first, blocks);
    // The longest first: under a causal mask, the last.
    const auto count = static_cast<Index>(blocks.size());
    workers_.Run(count, [&](Index task, Index worker) {
      RunBlock(blocks[static_cast<std::size_t>(count - 1 - task)], first, worker);
    });
  }

  /// All heads add to the same averages: those of the same queries follow one another, always in the same order.
  void RunAveraged(Index first_group, std::vector<RowBlock>& blocks) {
    Permute(std::span(blocks),
            Order(blocks.size(), [&](std::size_t i, std::size_t j) { return blocks[i].first < blocks[j].first; }));
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (i == 0 || blocks[i].first != blocks[i - 1].first) starts.push_back(i);
    starts.push_back(blocks.size());
    workers_.Run(static_cast<Index>(starts.size()) - 1, [&](Index task, Index worker) {
      const auto i = static_cast<std::size_t>(task);
      for (std::size_t j = starts[i]; j < starts[i + 1]; ++j) RunBlock(blocks[j], first_group, worker);
    });
  }

  void Pack(Index group, Index slot, bool values) {
    const Index b = group / groups_, g = group % groups_;
    float* to = packed_.data() + slot * PackedSize();
    if (!values) {
      kernels_.pack_rows(RowsOf(p_.k, b, g, {0, keys_}), to);
    } else if (r_.output) {
      kernels_.pack_columns(RowsOf(p_.v, b, g, {0, keys_}), to + KeysSize());
    }
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
    PackedHead head;
    if (packs_) {
      const float* packed = packed_.data() + (block.b * groups_ + block.g - first_group) * PackedSize();
      head = {packed, packed + KeysSize()};
    }
    if (online_) {
      if (!state.online) state.online = std::make_unique<OnlineRows>(p_, r_, kernels_);
      if (state.online->Run(block, head)) return;
    }
    if (!state.whole) state.whole = std::make_unique<WholeRows>(p_, r_, kernels_);
    const Index rows = WholeRows::BlockRows(keys_);
    for (Index i = 0; i < block.count; i += rows)
      state.whole->Run(block.Part(i, std::min(rows, block.count - i)), head);
  }

  const AttentionProblem& p_;
  const AttentionResults& r_;
  Workers& workers_;
  const Kernels& kernels_;
  Index groups_, keys_, group_heads_;
  bool packs_, online_;
  Buffer<float> packed_;
  std::vector<State> states_;
};

}  // namespace
}  // namespace simd

void RunSimdAttention(const AttentionProblem& problem, const AttentionResults& results, simd::Workers& workers) {
  simd::AttentionRun(problem, results, workers).Run();
}

}  // namespace headlens
