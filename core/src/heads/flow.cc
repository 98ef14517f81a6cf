// SPDX-License-Identifier: Apache-2.0
/// Attention flow: the maximal flow through the layers as a network.
#include <algorithm>

#include "base/checks.h"
#include "headlens/attribution.h"
#include "heads/maps.h"

namespace headlens {
namespace {

/// A directed graph with capacities, in which it finds maximal flows (Dinic 1970). Edge e and its reverse e^1 are
/// stored next to each other.
class Network {
 public:
  explicit Network(Index nodes) : edges_of_(static_cast<std::size_t>(nodes)) {}

  void AddEdge(Index from, Index to, double capacity) {
    for (const auto& [tail, head, room] : {Edge{from, to, capacity}, Edge{to, from, 0.0}}) {
      edges_of_[static_cast<std::size_t>(tail)].push_back(heads_.size());
      tails_.push_back(tail);
      heads_.push_back(head);
      capacities_.push_back(room);
    }
  }

  double MaxFlow(Index source, Index sink) {
    room_ = capacities_;
    double flow = 0.0;
    while (MeasureDistances(source, sink)) flow += BlockingFlow(source, sink);
    return flow;
  }

 private:
  struct Edge {
    Index tail, head;
    double room;
  };

  Index& DistanceOf(Index node) { return distance_[static_cast<std::size_t>(node)]; }
  const std::vector<std::size_t>& EdgesOf(Index node) const { return edges_of_[static_cast<std::size_t>(node)]; }

  /// Computes each node's distance to the sink along edges that have room left. Returns true when the source is
  /// connected.
  bool MeasureDistances(Index source, Index sink) {
    distance_.assign(edges_of_.size(), -1);
    queue_.assign(1, sink);
    DistanceOf(sink) = 0;
    for (std::size_t at = 0; at < queue_.size() && DistanceOf(source) < 0; ++at) {
      for (const std::size_t edge : EdgesOf(queue_[at])) {
        const Index before = heads_[edge];
        if (DistanceOf(before) >= 0 || !(room_[edge ^ 1] > 0.0)) continue;
        DistanceOf(before) = DistanceOf(queue_[at]) + 1;
        queue_.push_back(before);
      }
    }
    return DistanceOf(source) >= 0;
  }

  /// Sends flow along shortest paths until each of them has a full edge.
  double BlockingFlow(Index source, Index sink) {
    next_.assign(edges_of_.size(), 0);
    path_.clear();
    double flow = 0.0;
    for (Index node = source;;) {
      if (node == sink) {
        flow += Augment();
        node = path_.empty() ? source : heads_[path_.back()];
      } else if (const std::size_t* edge = NextEdge(node)) {
        path_.push_back(*edge);
        node = heads_[*edge];
      } else {
        if (path_.empty()) return flow;
        node = tails_[path_.back()];
        path_.pop_back();
        ++next_[static_cast<std::size_t>(node)];
      }
    }
  }

  /// The next edge of the node that leads one step closer to the sink and has room left; null when there is none.
  const std::size_t* NextEdge(Index node) {
    const std::vector<std::size_t>& edges = EdgesOf(node);
    for (std::size_t& at = next_[static_cast<std::size_t>(node)]; at < edges.size(); ++at) {
      const std::size_t edge = edges[at];
      if (room_[edge] > 0.0 && DistanceOf(heads_[edge]) >= 0 && DistanceOf(heads_[edge]) == DistanceOf(node) - 1)
        return &edges[at];
    }
    return nullptr;
  }

  /// Sends as much flow as fits along the path, and shortens the path to end before its first full edge.
  double Augment() {
    const auto less_room = [this](std::size_t a, std::size_t b) { return room_[a] < room_[b]; };
    const auto tightest = std::min_element(path_.begin(), path_.end(), less_room);
    const double amount = room_[*tightest];
    for (const std::size_t edge : path_) {
      room_[edge] -= amount;
      room_[edge ^ 1] += amount;
    }
    path_.erase(tightest, path_.end());
    return amount;
  }

  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<Index> tails_, heads_;
  std::vector<double> capacities_, room_;
  std::vector<Index> distance_, queue_;
  std::vector<std::size_t> next_, path_;
};

void CheckFlow(const View<const float, 4>& weights, const FlowOptions& options) {
  const Index length = weights.shape[2];
  ExpectSizes("`weights`", SizesOf(weights), {weights.shape[0], weights.shape[1], length, length});
  metrics::ExpectElements("`weights`", weights);
  if (length > options.max_tokens) {
    const Index most = options.max_tokens;
    throw Wrong(ErrorCode::kUnsupported, "attention flow", "takes", {length, " x ", length, " maximal flows"},
                {"at most ", most, " x ", most, ": `max_tokens` is ", most});
  }
}

/// Node (l, i) has the number l · T + i; layer l = 0 holds the inputs.
Network LayeredNetwork(const View<const float, 4>& weights, const FlowOptions& options) {
  const Index layers = weights.shape[0], length = weights.shape[2];
  Network network((layers + 1) * length);
  for (Index l = 0; l < layers; ++l) {
    const Matrix fused = FuseHeads(Slice(weights, l), options.fusion, options.discard_ratio, options.info);
    for (Index i = 0; i < length; ++i) {
      for (Index j = 0; j < length; ++j)
        if (fused(i, j) > 0.0) network.AddEdge((l + 1) * length + i, l * length + j, fused(i, j));
    }
  }
  return network;
}

}  // namespace

std::optional<Matrix> AttentionFlow(View<const float, 4> weights, const FlowOptions& options,
                                    const ProgressCallback& progress) {
  CheckFlow(weights, options);
  const Index layers = weights.shape[0], length = weights.shape[2];
  Network network = LayeredNetwork(weights, options);
  Matrix flow(length, length);
  for (Index i = 0; i < length; ++i) {
    if (progress && !progress(static_cast<double>(i) / static_cast<double>(length))) return std::nullopt;
    double sum = 0.0;
    for (Index j = 0; j < length; ++j) sum += flow(i, j) = network.MaxFlow(layers * length + i, j);
    for (double& x : flow.row(i)) x /= sum;  // never 0, since a token always reaches itself
  }
  return flow;
}

}  // namespace headlens
