// SPDX-License-Identifier: Apache-2.0
#include "by_name/operations/heads_call.h"

#include <algorithm>

namespace headlens {
namespace {

/// Throws kShape for sizes that do not fit together, in the dimensions that the caller gave.
void CheckSizes(const Qkv& in, bool gqa) {
  const Shape& query = in.query.shape;
  const std::size_t rank = query.size();
  Shape key = query;
  key[rank - 2] = in.key.shape[rank - 2];
  if (gqa && rank > 2) {
    const Index heads = query[rank - 3], kv_heads = key[rank - 3] = in.key.shape[rank - 3];
    if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0) {
      throw ShapeError(Fragment::Name(in.key_name), in.key.shape,
                       {"a number of heads that divides the ", heads, " of `query`"});
    }
  }
  if (in.key.shape != key) {
    const bool fewer = !gqa && rank == 4 && in.key.shape[1] < key[1];
    throw ShapeError(Fragment::Name(in.key_name), in.key.shape,
                     {key, ", as `query` has but for the length", fewer ? "; `enable_gqa` allows fewer heads" : ""});
  }
  Shape value = key;
  value.back() = in.value.shape.back();
  if (in.value.shape != value) {
    throw ShapeError(Fragment::Name(in.value_name), in.value.shape,
                     {value, ", as ", Fragment::Name(in.key_name), " has but for the width"});
  }
}

}  // namespace

View<float, 4> Turnable(Tensor& storage, const View<const float, 4>& from) {
  storage = Tensor(Shape(from.shape.begin(), from.shape.end()));
  const View<float, 4> to = storage.view<4>();
  if (HasNoElements(from)) return to;
  for (Index b = 0; b < from.shape[0]; ++b)
    for (Index h = 0; h < from.shape[1]; ++h)
      for (Index t = 0; t < from.shape[2]; ++t) std::copy_n(from.at(b, h, t), from.shape[3], to.at(b, h, t));
  return to;
}

HeadsCall::HeadsCall(Arguments& args, const CallOptions& options, bool heads_in_three, const Qkv& in)
    : shape(in.query.shape),
      as_heads([&args, rank = shape.size(), heads_in_three](std::string_view name, const Given& input) {
        return AsHeads(name, args.Floats(name, input), input.shape, rank, heads_in_three);
      }) {
  problem.q = as_heads("query", in.query);
  problem.k = as_heads(in.key_name, in.key);
  problem.v = as_heads(in.value_name, in.value);
  CheckSizes(in, options.enable_gqa);
  problem.scale = options.scale.value_or(DefaultScale(std::max<Index>(problem.q.shape[3], 1)));
}

void HeadsCall::ExpectWidth() const {
  if (shape.back() < 1) throw ShapeError("`query`", shape, "a head width of at least 1");
}

}  // namespace headlens
