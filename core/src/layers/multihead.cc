// SPDX-License-Identifier: Apache-2.0
#include "headlens/multihead.h"

#include <vector>

#include "base/checks.h"

namespace headlens {
namespace {

/// Returns true when the tensor is [T, B, D] in memory, so that the batches of each step are next to each other.
template <class T>
bool IsStepFirst(const DeviceView<T, 3>& x) {
  return x.shape[0] > 1 && x.strides[0] < x.strides[1];
}

/// The same memory as rows. `x` [B, T, D] must be contiguous as [B, T, D] or as [T, B, D].
template <class T>
DeviceView<T, 2> AsRows(const DeviceView<T, 3>& x) {
  const Index stride = x.shape[1] > 1 && !IsStepFirst(x) ? x.strides[1] : x.strides[0];
  const Index rows = x.shape[0] * x.shape[1];
  return {x.data, {rows, x.shape[2]}, {rows > 1 ? stride : x.shape[2], x.strides[2]}};
}

/// A tensor with the memory order of `like`, batches first or steps first, and `extra` more rows in each batch.
DeviceView<float, 3> LaidOutLike(const DeviceView<const float, 3>& like, DevicePointer<float> data, Index width,
                                 Index extra) {
  const Index batch = like.shape[0], length = like.shape[1] + extra;
  if (IsStepFirst(like)) return {data, {batch, length, width}, {width, batch * width, 1}};
  return DenseView(data, std::array<Index, 3>{batch, length, width});
}

DeviceView<float, 3> Leading(DeviceView<float, 3> x, Index length) {
  x.shape[1] = length;
  return x;
}

/// Returns true when AsRows can address `x`: there is no other memory between its rows.
template <class T>
bool IsContiguousRows(const DeviceView<T, 3>& x) {
  const auto& [batch, length, width] = x.shape;
  const bool batch_first =
      x.strides[1] >= width && (batch == 1 || length == 1 || x.strides[0] == length * x.strides[1]);
  const bool step_first = x.strides[0] >= width && (batch == 1 || length == 1 || x.strides[1] == batch * x.strides[0]);
  return x.strides[2] == 1 && (batch_first || step_first || batch * length <= 1);
}

void Project(const Backend& backend, const LinearWeights& weights, const DeviceView<const float, 3>& x,
             const DeviceView<float, 3>& y) {
  const bool same_order = x.shape[1] <= 1 || IsStepFirst(x) == IsStepFirst(y);
  if (same_order && IsContiguousRows(x) && IsContiguousRows(y)) return backend.Linear(AsRows(x), weights, AsRows(y));
  for (Index b = 0; b < x.shape[0]; ++b) {
    backend.Linear({x.at(b), {x.shape[1], x.shape[2]}, {x.strides[1], x.strides[2]}}, weights,
                   {y.at(b), {y.shape[1], y.shape[2]}, {y.strides[1], y.strides[2]}});
  }
}

void CopyHeads(const Backend& backend, const DeviceView<const float, 4>& from, const DeviceView<float, 4>& to) {
  if (!to) return;
  ExpectSizes("q, k or v", SizesOf(to), SizesOf(from));
  backend.Copy(from, to);
}

}  // namespace

void Validate(const MultiheadConfig& config) {
  if (config.embed_dim < 1 || config.num_heads < 1 || config.kdim < 0 || config.vdim < 0) {
    throw Error(ErrorCode::kShape, {"`embed_dim` is ", config.embed_dim, " and `num_heads` ", config.num_heads,
                                    ", expected positive numbers, and widths that are not negative"});
  }
  for (const auto& [name, width] :
       {std::pair("embed_dim", config.embed_dim), std::pair("kdim", config.kdim), std::pair("vdim", config.vdim)}) {
    if (width > kMaxWidth) {
      throw Wrong(ErrorCode::kShape, Fragment::Name(name), "is", width, {"at most ", kMaxWidth});
    }
  }
  if (config.embed_dim % config.num_heads != 0) {
    throw Wrong(ErrorCode::kShape, "`embed_dim`", "is", config.embed_dim,
                {"a multiple of `num_heads`, ", config.num_heads});
  }
  if (config.num_kv_heads < 0 || config.num_heads % config.kv_heads() != 0) {
    throw Wrong(ErrorCode::kShape, "`num_heads`", "is", config.num_heads,
                {"a multiple of `num_kv_heads`, ", config.num_kv_heads});
  }
}

MultiheadAttention::MultiheadAttention(const MultiheadConfig& config, const StateDict& state, const Backend& backend)
    : config_(config), backend_(backend) {
  Validate(config);
  const Index d = config.embed_dim, kv = config.kv_dim();
  const Tensor in_bias = config.bias ? Parameter(state, "in_proj_bias", {d + 2 * kv}) : Tensor();
  const auto bias = [&](Index first, Index count) {
    return config.bias ? in_bias.values().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count))
                       : std::span<float>();
  };
  if (config.packed_projections()) {
    const Tensor weight = Parameter(state, "in_proj_weight", {3 * d, d});
    q_proj_ = backend.PackLinear(Rows(View<const float, 2>(weight.view<2>()), 0, d), bias(0, d));
    k_proj_ = backend.PackLinear(Rows(View<const float, 2>(weight.view<2>()), d, d), bias(d, d));
    v_proj_ = backend.PackLinear(Rows(View<const float, 2>(weight.view<2>()), 2 * d, d), bias(2 * d, d));
  } else {
    const auto project = [&](const char* name, Index out, Index in, Index first) {
      return backend.PackLinear(Parameter(state, name, {out, in}).view<2>(), bias(first, out));
    };
    q_proj_ = project("q_proj_weight", d, d, 0);
    k_proj_ = project("k_proj_weight", kv, config.key_width(), d);
    v_proj_ = project("v_proj_weight", kv, config.value_width(), d + kv);
  }
  if (config.add_bias_kv) {
    bias_k_ = Parameter(state, "bias_k", {1, 1, kv});
    bias_v_ = Parameter(state, "bias_v", {1, 1, kv});
  }
  out_weight_ = Parameter(state, "out_proj.weight", {d, d});
  const Tensor out_bias = config.bias ? Parameter(state, "out_proj.bias", {d}) : Tensor();
  out_proj_ = backend.PackLinear(out_weight_.view<2>(), out_bias.values());
}

Index MultiheadAttention::ParameterCount(const MultiheadConfig& config) {
  Validate(config);
  const Index d = config.embed_dim, kv = config.kv_dim();
  return 2 * d * d + kv * (config.key_width() + config.value_width()) + (config.bias ? 2 * d + 2 * kv : 0) +
         (config.add_bias_kv ? 2 * kv : 0);
}

void MultiheadAttention::CheckInputs(const MultiheadInputs& in) const {
  const auto expect = [](const char* name, const DeviceView<const float, 3>& x, const Shape& expected,
                         const char* why) {
    if (!x) throw MissingError(ErrorCode::kShape, Fragment::Name(name));
    if (SizesOf(x) != expected) {
      throw ShapeError(Fragment::Name(name), SizesOf(x), {expected, ": ", why});
    }
  };
  if (!in.query || !in.key) throw MissingError(ErrorCode::kShape, in.query ? "`key`" : "`query`");
  const Index batch = in.query.shape[0];
  expect("query", in.query, {batch, in.query.shape[1], config_.embed_dim}, "the width is `embed_dim`");
  expect("key", in.key, {batch, in.key.shape[1], config_.key_width()}, "the batch of `query`, the width `kdim`");
  expect("value", in.value, {batch, in.key.shape[1], config_.value_width()},
         "the batch and length of `key`, the width `vdim`");
  if (in.cache && config_.appended_keys() > 0) {
    throw Error(ErrorCode::kOption,
                "a layer with `add_bias_kv` or `add_zero_attn` cannot take past keys: what it appends stands last");
  }
}

void MultiheadAttention::AppendConstants(Index length, DeviceView<float, 3> k, DeviceView<float, 3> v) const {
  const Index batch = k.shape[0], width = config_.kv_dim();
  const std::vector<float> zeros(static_cast<std::size_t>(width));
  const auto append = [&](const DeviceView<float, 3>& to, const float* row) {
    backend_.Copy({row, {1, 1, batch, width}, {0, 0, 0, 1}},
                  {to.at(0, length), {1, 1, batch, width}, {0, 0, to.strides[0], 1}});
  };
  if (config_.add_bias_kv) {
    append(k, bias_k_.data());
    append(v, bias_v_.data());
    ++length;
  }
  if (config_.add_zero_attn) {
    append(k, zeros.data());
    append(v, zeros.data());
  }
}

void MultiheadAttention::Contributions(DeviceView<const float, 4> heads, DeviceView<float, 4> contributions) const {
  const Index head_dim = heads.shape[3];
  ExpectSizes("`head_contributions`", SizesOf(contributions),
              {heads.shape[0], heads.shape[1], heads.shape[2], config_.embed_dim});
  for (Index h = 0; h < heads.shape[1]; ++h) {
    const View<const float, 2> all = out_weight_.view<2>();
    const auto part = backend_.PackLinear(
        View<const float, 2>{all.at(0, h * head_dim), {config_.embed_dim, head_dim}, all.strides}, {});
    for (Index b = 0; b < heads.shape[0]; ++b) {
      backend_.Linear({heads.at(b, h), {heads.shape[2], head_dim}, {heads.strides[2], heads.strides[3]}}, *part,
                      {contributions.at(b, h),
                       {heads.shape[2], config_.embed_dim},
                       {contributions.strides[2], contributions.strides[3]}});
    }
  }
}

void MultiheadAttention::Forward(const MultiheadInputs& inputs, const MultiheadResults& results) const {
  CheckInputs(inputs);
  const Index batch = inputs.query.shape[0], queries = inputs.query.shape[1], d = config_.embed_dim,
              kv = config_.kv_dim(), heads = config_.num_heads;
  const Index length = inputs.key.shape[1], keys = length + config_.appended_keys();
  if (results.output) ExpectSizes("`output`", SizesOf(results.output), {batch, queries, d});

  // Projections keep the memory order of their inputs, so that each is a single product over all rows.
  const Index q_size = ElementCount({batch, queries, d}), k_size = ElementCount({batch, keys, kv});
  // A cache takes keys and values that are on the host: it need not be this backend's.
  const Shape block_shape = {2, q_size + k_size};
  const DeviceTensor block = inputs.cache ? DeviceTensor(Tensor(block_shape)) : backend_.Allocate(block_shape);
  const DevicePointer<float> start = block.data();
  const DeviceView<float, 3> q = LaidOutLike(inputs.query, start, d, 0),
                             joined = LaidOutLike(inputs.query, start + q_size, d, 0);
  const DeviceView<float, 3> k = LaidOutLike(inputs.key, start + 2 * q_size, kv, config_.appended_keys());
  const DeviceView<float, 3> v = LaidOutLike(inputs.key, start + 2 * q_size + k_size, kv, config_.appended_keys());
  Project(backend_, *q_proj_, inputs.query, q);
  Project(backend_, *k_proj_, inputs.key, Leading(k, length));
  Project(backend_, *v_proj_, inputs.value, Leading(v, length));
  if (config_.appended_keys() > 0) AppendConstants(length, k, v);

  AttentionProblem problem;
  static_cast<AttentionSettings&>(problem) = inputs;
  problem.q = SplitHeads(q, heads);
  problem.k = SplitHeads(k, config_.kv_heads());
  problem.v = SplitHeads(v, config_.kv_heads());
  problem.scale = inputs.scale.value_or(DefaultScale(config_.head_dim()));
  problem.mask.appended_keys = config_.appended_keys();
  CopyHeads(backend_, SplitHeads(v, config_.kv_heads()), results.v);
  RotateAndCache(backend_, inputs.rotary, SplitHeads(q, heads), SplitHeads(Leading(k, length), config_.kv_heads()),
                 inputs.cache, problem);
  CopyHeads(backend_, problem.q, results.q);
  CopyHeads(backend_, SplitHeads(k, config_.kv_heads()), results.k);

  AttentionResults attention = results.attention;
  const DeviceView<float, 4> head_outputs = SplitHeads(joined, heads);
  attention.output = head_outputs;
  backend_.Attention(problem, attention);

  CopyHeads(backend_, head_outputs, results.attention.output);
  if (results.contributions) Contributions(head_outputs, results.contributions);
  if (results.output) Project(backend_, *out_proj_, joined, results.output);
}

}  // namespace headlens
