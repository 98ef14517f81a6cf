// SPDX-License-Identifier: Apache-2.0
/// The queries, keys and values of calls that have heads already, such as scaled_dot_product_attention.
#ifndef HEADLENS_SRC_BY_NAME_OPERATIONS_HEADS_CALL_H_
#define HEADLENS_SRC_BY_NAME_OPERATIONS_HEADS_CALL_H_

#include "by_name/call_options.h"
#include "by_name/inputs.h"
#include "by_name/operations/past_keys.h"
#include "headlens/attention.h"

namespace headlens {

/// A copy of a tensor of heads that can be rotated in place.
View<float, 4> Turnable(Tensor& storage, const View<const float, 4>& from);

/// The attention problem of a call, and the shape of its query. Three dimensions are those of heads or of a batch.
struct HeadsCall {
  HeadsCall(Arguments& args, const CallOptions& options, bool heads_in_three)
      : HeadsCall(args, options, heads_in_three, Qkv(args)) {}

  Sizes SizesAfter(Index past) const {
    return {problem.q.shape[0], problem.q.shape[1], problem.q.shape[2], past + problem.k.shape[2]};
  }
  Shape Lead() const { return {shape.begin(), shape.end() - 2}; }
  Shape MeanLead() const { return shape.size() == 4 ? Shape{shape[0]} : Lead(); }
  /// Throws kShape when the heads have no width.
  void ExpectWidth() const;

  const Shape& shape;  ///< of the query, as the caller gave it
  PastKeys::ReadHeads as_heads;
  AttentionProblem problem;

 private:
  HeadsCall(Arguments& args, const CallOptions& options, bool heads_in_three, const Qkv& in);
};

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_OPERATIONS_HEADS_CALL_H_
