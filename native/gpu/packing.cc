// SPDX-License-Identifier: Apache-2.0
#include "gpu/packing.h"

#include <algorithm>

namespace headlens::gpu {
namespace {

/// [count, rows, width]: `rows` rows of each of `count` heads, the first of which is at begin(i).
template <class Begin>
std::vector<float> Pack(Index count, Index rows, Index width, Index stride, const Begin& begin) {
  std::vector<float> all(static_cast<std::size_t>(ElementCount({count, rows, width})));
  float* to = all.data();
  for (Index i = 0; i < count; ++i) {
    const float* from = begin(i);
    for (Index row = 0; row < rows; ++row, to += width) std::copy_n(from + row * stride, width, to);
  }
  return all;
}

}  // namespace

std::vector<float> PackKeys(const View<const float, 4>& view, const Pass& pass) {
  return Pack(pass.groups, view.shape[2], view.shape[3], view.strides[2], [&](Index i) {
    const Index group = pass.launched.first + i;
    return view.at(group / pass.launched.groups, group % pass.launched.groups);
  });
}

std::vector<float> PackQueries(const View<const float, 4>& view, const Pass& pass, const QueryRange& rows) {
  return Pack(pass.head_count(), rows.count, view.shape[3], view.strides[2], [&](Index z) {
    const Head& head = pass.heads[static_cast<std::size_t>(z)];
    return view.at(head.b, head.h, rows.first);
  });
}

std::vector<float> PackBiases(const AttentionProblem& problem, const Pass& pass) {
  BiasTable biases(problem);
  if (biases.empty()) return {};
  const Index queries = problem.q.shape[2], count = queries + MaskableKeys(problem);
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(ElementCount({pass.head_count(), count})));
  for (const Head& head : pass.heads) {
    biases.Prepare(head.h);
    const float* from = biases.Row(queries - 1);
    all.insert(all.end(), from, from + count);
  }
  return all;
}

std::vector<float> PackHeadMask(const AttentionProblem& problem, const Pass& pass) {
  std::vector<float> factors;
  for (const Head& head : pass.heads) factors.push_back(problem.head_mask(head.b, head.h));
  return factors;
}

}  // namespace headlens::gpu
