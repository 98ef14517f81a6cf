// SPDX-License-Identifier: Apache-2.0
/// The SIMD backend. Its vectorised code is in kernels/, and its attention in attention.cc.
#include "headlens/backend.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/parts.h"
#include "backends/simd/attention.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/spare_blocks.h"
#include "backends/simd/workers.h"

namespace headlens {
namespace {

using simd::BestKernels;
using simd::Kernels;
using simd::RoundUp;

/// Weights packed in panels, in the type in which they were given. gemm expands 16-bit floats while it computes.
struct PackedLinear : LinearWeights {
  PackedLinear(const WeightMatrix& weight, std::span<const float> bias_values)
      : LinearWeights(weight.in, weight.out),
        kernels(BestKernels()),
        type(weight.dtype),
        panels(ElementCount({RoundUp(weight.out, kernels.panel_width), weight.in}) *
               static_cast<Index>(ByteSize(type))) {
    if (type == DType::kF32) {
      Pack<std::uint32_t>(weight);
    } else {
      Pack<std::uint16_t>(weight);
    }
    if (bias_values.empty()) return;
    padded_bias.resize(static_cast<std::size_t>(RoundUp(weight.out, kernels.panel_width)), 0.0f);
    std::copy(bias_values.begin(), bias_values.end(), padded_bias.begin());
  }

  /// Copies bit patterns: element (o, i) goes to column o mod width of panel o / width. The padding of the last panel
  /// is zero.
  template <class Bits>
  void Pack(const WeightMatrix& weight) {
    constexpr auto kSize = static_cast<Index>(sizeof(Bits));
    const Index width = kernels.panel_width;
    std::byte* to = panels.data();
    for (Index first = 0; first < weight.out; first += width) {
      const bool is_contiguous = weight.out_stride == 1 && first + width <= weight.out;  // as of a transposed matrix
      for (Index i = 0; i < weight.in; ++i, to += width * kSize) {
        const std::byte* from = weight.data + (first * weight.out_stride + i * weight.in_stride) * kSize;
        if (is_contiguous) {
          std::memcpy(to, from, static_cast<std::size_t>(width * kSize));
          continue;
        }
        for (Index j = 0; j < width; ++j) {
          Bits bits = 0;
          if (first + j < weight.out) std::memcpy(&bits, from + j * weight.out_stride * kSize, sizeof(Bits));
          std::memcpy(to + j * kSize, &bits, sizeof(Bits));
        }
      }
    }
  }

  void CopyRow(Index out, std::span<float> to) const override {
    CheckRow(*this, out, to);
    const Index width = kernels.panel_width, size = static_cast<Index>(ByteSize(type));
    const std::byte* from = panels.data() + (out / width * width * in_features() + out % width) * size;
    if (type == DType::kF32) {  // one instruction each
      for (std::size_t i = 0; i < to.size(); ++i, from += width * size) std::memcpy(&to[i], from, sizeof(float));
      return;
    }
    for (std::size_t i = 0; i < to.size(); ++i, from += width * size) to[i] = LoadFloat(type, from);
  }

  std::span<const float> bias() const override {
    const std::span<const float> padded = padded_bias;
    return padded.first(padded.empty() ? 0 : static_cast<std::size_t>(out_features()));
  }

  const Kernels& kernels;  // the kernels whose panel width was used
  DType type;
  Buffer<std::byte> panels;
  std::vector<float> padded_bias;
};

class Simd final : public Backend {
 public:
  explicit Simd(int threads) : workers_(threads) {}

  simd::Workers& workers() const { return workers_; }

  std::string_view name() const override { return "simd"; }

#ifndef __EMSCRIPTEN__  // whose memory stays what it is
  DeviceTensor Allocate(Shape shape) const override { return DeviceTensor(spare_blocks_->Allocate(std::move(shape))); }
#endif

  std::unique_ptr<LinearWeights> PackLinear(const WeightMatrix& weight, std::span<const float> bias) const override {
    CheckPack(weight, bias);
    return std::make_unique<PackedLinear>(weight, bias);
  }

  void Linear(DeviceView<const float, 2> device_x, const LinearWeights& weights,
              DeviceView<float, 2> device_y) const override {
    CheckLinear(device_x, weights, device_y);
    const View<const float, 2> x = device_x.host();
    const View<float, 2> y = device_y.host();
    const auto& packed = static_cast<const PackedLinear&>(weights);
    const Pieces pieces = Split(x.shape[0], packed);
    workers_.Run(pieces.rows * pieces.columns, [&](Index task, Index) {
      const Index row = task / pieces.columns * pieces.row_step, panel = task % pieces.columns * pieces.panel_step;
      Multiply(x, packed, y, row, std::min(row + pieces.row_step, x.shape[0]), panel, pieces.panel_step);
    });
  }

  void Attention(const AttentionProblem& problem, const AttentionResults& results) const override {
    Validate(problem, results);
    simd::RunAttention(problem, results, workers_);
  }

  void RmsNorm(DeviceView<const float, 2> device_x, DeviceView<const float, 1> weight, float eps,
               DeviceView<float, 2> device_y) const override {
    CheckNorm(device_x, weight, {}, device_y);
    const View<const float, 2> x = device_x.host();
    const View<float, 2> y = device_y.host();
    const float* const w = weight.data.host();
    for (Index row = 0; row < x.shape[0]; ++row) BestKernels().rms_norm(x.at(row), x.shape[1], w, eps, y.at(row));
  }

  void LayerNorm(DeviceView<const float, 2> device_x, DeviceView<const float, 1> weight,
                 DeviceView<const float, 1> bias, float eps, DeviceView<float, 2> device_y) const override {
    CheckNorm(device_x, weight, bias, device_y);
    const View<const float, 2> x = device_x.host();
    const View<float, 2> y = device_y.host();
    const float *const w = weight.data.host(), *const b = bias.shape[0] > 0 ? bias.data.host() : nullptr;
    for (Index row = 0; row < x.shape[0]; ++row) BestKernels().layer_norm(x.at(row), x.shape[1], w, b, eps, y.at(row));
  }

  void Rotary(DeviceView<float, 3> device_x, DeviceView<const float, 2> device_cosine,
              DeviceView<const float, 2> device_sine, RotaryPairs pairs) const override {
    CheckRotary(device_x, device_cosine, device_sine);
    const View<float, 3> x = device_x.host();
    const View<const float, 2> cosine = device_cosine.host(), sine = device_sine.host();
    const auto rotate = pairs == RotaryPairs::kHalf ? BestKernels().rotate : BestKernels().rotate_interleaved;
    for (Index t = 0; t < x.shape[0]; ++t)
      for (Index h = 0; h < x.shape[1]; ++h) rotate(x.at(t, h), x.shape[2] / 2, cosine.at(t), sine.at(t));
  }

  void Silu(DeviceView<float, 1> x) const override { BestKernels().silu(x.data.host(), x.shape[0]); }

  void Gelu(DeviceView<float, 1> x, bool tanh_approximation) const override {
    (tanh_approximation ? BestKernels().gelu_tanh : BestKernels().gelu_erf)(x.data.host(), x.shape[0]);
  }

  void Relu(DeviceView<float, 1> x) const override { BestKernels().relu(x.data.host(), x.shape[0]); }

  void Add(DeviceView<float, 1> x, DeviceView<const float, 1> y) const override {
    CheckSameLength(x, y);
    BestKernels().add(x.data.host(), x.shape[0], y.data.host());
  }

  void Multiply(DeviceView<float, 1> x, DeviceView<const float, 1> y) const override {
    CheckSameLength(x, y);
    BestKernels().multiply(x.data.host(), x.shape[0], y.data.host());
  }

 private:
  /// A product cut into rows × columns pieces, each of row_step rows and panel_step panels except for the last.
  struct Pieces {
    Index rows, columns, row_step, panel_step;
  };

  /// Two pieces for each thread: pieces of rows, or of columns when there are few rows. A small product stays whole.
  Pieces Split(Index rows, const PackedLinear& weights) const {
    const Index panels = RoundUp(weights.out_features(), weights.kernels.panel_width) / weights.kernels.panel_width;
    const Index wanted = 2 * workers_.count(), tile = weights.kernels.tile_rows;
    const double multiply_adds = static_cast<double>(rows) * static_cast<double>(weights.in_features()) *
                                 static_cast<double>(weights.out_features());
    if (!workers_.Pays(multiply_adds)) return {1, 1, rows, panels};
    if (rows >= 48 * wanted) {
      const Index step = RoundUp((rows + wanted - 1) / wanted, tile);
      return {(rows + step - 1) / step, 1, step, panels};
    }
    const Index step = (panels + wanted - 1) / wanted;
    return {1, (panels + step - 1) / step, rows, step};
  }

  static void Multiply(const View<const float, 2>& x, const PackedLinear& weights, const View<float, 2>& y, Index row,
                       Index row_end, Index panel, Index panels) {
    const Index width = weights.kernels.panel_width, column = panel * width, in = weights.in_features();
    const std::byte* b = weights.panels.data() + column * in * static_cast<Index>(ByteSize(weights.type));
    weights.kernels.gemm({.a = x.data + row * x.strides[0],
                          .lda = x.strides[0],
                          .b = b,
                          .b_row = width,
                          .b_panel = width * in,
                          .bias = weights.padded_bias.empty() ? nullptr : weights.padded_bias.data() + column,
                          .c = y.data + row * y.strides[0] + column,
                          .ldc = y.strides[0],
                          .m = row_end - row,
                          .n = std::min(panels * width, weights.out_features() - column),
                          .k = in,
                          .b_type = weights.type,
                          .b_is_far = true});
  }

  mutable simd::Workers workers_;
#ifndef __EMSCRIPTEN__
  const std::shared_ptr<simd::SpareBlocks> spare_blocks_ = std::make_shared<simd::SpareBlocks>();
#endif
};

}  // namespace

const Backend& SimdBackend() {
  static const Simd kBackend(1);
  return kBackend;
}

std::unique_ptr<const Backend> MakeSimdBackend(int threads) {
  if (threads < 1) throw ValueError("`threads`", threads, "at least 1");
  return std::make_unique<const Simd>(threads);
}

#ifdef __EMSCRIPTEN__
void ServeSimdBackend(const Backend& backend, int worker) { static_cast<const Simd&>(backend).workers().Serve(worker); }

void GiveUpServing(const Backend& backend) { static_cast<const Simd&>(backend).workers().GiveUp(); }
#endif

std::string_view SimdTarget() { return BestKernels().target; }

}  // namespace headlens
