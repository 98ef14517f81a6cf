// SPDX-License-Identifier: Apache-2.0
/// The OpenCL backend: what is given lies on the host, and so do results; packed weights stay on the device. Attention
/// is in attention.cc.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "checks.h"
#include "opencl/attention.h"
#include "opencl/matrix.h"
#include "opencl/opencl.h"
#include "opencl/session.h"

namespace headlens::opencl {
namespace {

/// A device that is opened when it is first used, by one thread at a time.
class Device {
 public:
  explicit Device(Settings settings) : settings_(std::move(settings)) {}

  /// Returns f(session).
  template <class F>
  auto Use(const F& f) {
    const std::lock_guard lock(mutex_);
    return Explaining([&] {
      if (!session_) {
        if (settings_.before_opening) settings_.before_opening();
        session_.emplace(settings_);
      }
      return f(*session_);
    });
  }

 private:
  const Settings settings_;
  std::mutex mutex_;
  std::optional<Session> session_;
};

/// Rows of W [out, in] on the device, in their own type; in several pieces where one buffer cannot hold them.
struct DeviceLinear : LinearWeights {
  struct Piece {
    Index first, count;
    cl::Buffer weights, bias;  // bias: null without one
  };

  DeviceLinear(std::shared_ptr<Device> device, const WeightMatrix& weight, std::span<const float> bias_values)
      : LinearWeights(weight.in, weight.out),
        device(std::move(device)),
        type(weight.dtype),
        bias_copy(bias_values.begin(), bias_values.end()) {
    if (weight.in > 0 && weight.out > 0) this->device->Use([&](Session& session) { Upload(session, weight); });
  }

  Index RowBytes() const { return in_features() * static_cast<Index>(ByteSize(type)); }

  void Upload(Session& session, const WeightMatrix& weight) {
    const Index most = std::max<Index>(session.step_memory() / RowBytes(), 1);
    for (Index first = 0; first < weight.out; first += most) {
      const Index count = std::min(most, weight.out - first);
      const std::vector<std::byte> rows = Rows(weight, first, count);
      const std::span<const float> bias_part =
          std::span<const float>(bias_copy).subspan(bias_copy.empty() ? 0 : static_cast<std::size_t>(first),
                                                    bias_copy.empty() ? 0 : static_cast<std::size_t>(count));
      pieces.push_back({first, count, session.Upload(std::span<const std::byte>(rows)),
                        bias_part.empty() ? cl::Buffer() : session.Upload(bias_part)});
    }
  }

  /// `count` rows of a matrix, one element after the other.
  static std::vector<std::byte> Rows(const WeightMatrix& weight, Index first, Index count) {
    const auto size = static_cast<Index>(ByteSize(weight.dtype));
    std::vector<std::byte> rows(static_cast<std::size_t>(ElementCount({count, weight.in}) * size));
    std::byte* to = rows.data();
    for (Index o = first; o < first + count; ++o)
      for (Index i = 0; i < weight.in; ++i, to += size) {
        const Index at = o * weight.out_stride + i * weight.in_stride;
        std::memcpy(to, weight.data + at * size, static_cast<std::size_t>(size));
      }
    return rows;
  }

  void CopyRow(Index out, std::span<float> to) const override {
    CheckRow(*this, out, to);
    if (to.empty()) return;
    std::vector<std::byte> row(static_cast<std::size_t>(RowBytes()));
    const auto piece =
        std::find_if(pieces.begin(), pieces.end(), [&](const Piece& p) { return out < p.first + p.count; });
    device->Use([&](Session& session) {
      session.DownloadBytes(piece->weights, (out - piece->first) * RowBytes(), RowBytes(), row.data());
    });
    const std::byte* from = row.data();
    for (float& value : to) {
      value = LoadFloat(type, from);
      from += ByteSize(type);
    }
  }

  std::span<const float> bias() const override { return bias_copy; }

  std::shared_ptr<Device> device;
  DType type;
  std::vector<Piece> pieces;
  std::vector<float> bias_copy;
};

/// Rows of x without their stride.
std::vector<float> DenseRows(const View<const float, 2>& x, Index first, Index count) {
  std::vector<float> dense(static_cast<std::size_t>(ElementCount({count, x.shape[1]})));
  for (Index i = 0; i < count; ++i) std::copy_n(x.at(first + i), x.shape[1], dense.data() + i * x.shape[1]);
  return dense;
}

/// Calls f(first, count) for pieces of `rows` rows that a step's memory holds.
template <class F>
void InPieces(const Session& session, Index rows, Index floats_a_row, const F& f) {
  const Index bytes = std::max<Index>(floats_a_row, 1) * static_cast<Index>(sizeof(float));
  const Index most = std::max<Index>(session.step_memory() / bytes, 1);
  for (Index first = 0; first < rows; first += most) f(first, std::min(most, rows - first));
}

Grid ForEach(const Session& session, Index count) { return {{count, 1, 1}, {GroupItems(session), 1, 1}}; }

/// x ← kernel(x, y) element by element, where y may be absent.
void RunOn(Session& session, const char* kernel, std::span<float> x, std::optional<std::span<const float>> y) {
  InPieces(session, static_cast<Index>(x.size()), 1, [&](Index first, Index count) {
    const std::span<float> part = x.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    const cl::Buffer device_x = session.Upload(std::span<const float>(part));
    if (y) {
      const cl::Buffer device_y = session.Upload(y->subspan(static_cast<std::size_t>(first), part.size()));
      session.Launch(kLayersSource, GroupOption(session), kernel, ForEach(session, count), device_x, device_y,
                     cl_long{count});
    } else {
      session.Launch(kLayersSource, GroupOption(session), kernel, ForEach(session, count), device_x, cl_long{count});
    }
    session.Download(device_x, 0, 1, count, part.data(), 0);
  });
}

class OpenCl final : public Backend {
 public:
  explicit OpenCl(Settings settings) : device_(std::make_shared<Device>(std::move(settings))) {}

  std::string_view name() const override { return "opencl"; }

  std::unique_ptr<LinearWeights> PackLinear(const WeightMatrix& weight, std::span<const float> bias) const override {
    CheckPack(weight, bias);
    return std::make_unique<DeviceLinear>(device_, weight, bias);
  }

  void Linear(View<const float, 2> x, const LinearWeights& weights, View<float, 2> y) const override {
    CheckLinear(x, weights, y);
    const auto& linear = static_cast<const DeviceLinear&>(weights);
    if (x.shape[1] == 0) return FillWithBias(linear.bias(), y);
    device_->Use([&](Session& session) {
      InPieces(session, x.shape[0], std::max(x.shape[1], y.shape[1]), [&](Index first, Index count) {
        const cl::Buffer a = session.Upload(std::span<const float>(DenseRows(x, first, count)));
        for (const DeviceLinear::Piece& piece : linear.pieces) {
          const cl::Buffer c = session.Allocate<float>(count * piece.count);
          Multiply(session, {.a = a,
                             .b = piece.weights,
                             .c = c,
                             .m = count,
                             .n = piece.count,
                             .k = x.shape[1],
                             .b_columns = true,
                             .b_type = linear.type,
                             .bias = piece.bias});
          session.Download(c, 0, count, piece.count, y.at(first, piece.first), y.strides[0]);
        }
      });
    });
  }

  void Attention(const AttentionProblem& problem, const AttentionResults& results) const override {
    Validate(problem, results);
    device_->Use([&](Session& session) { RunAttention(session, problem, results); });
  }

  void RmsNorm(View<const float, 2> x, std::span<const float> weight, float eps, View<float, 2> y) const override {
    CheckNorm(x, weight, {}, y);
    Norm(x, y, [&](Session& session, const Grid& grid, const cl::Buffer& rows) {
      session.Launch(kLayersSource, GroupOption(session), "RmsNorm", grid, rows, session.Upload(weight), cl_float{eps},
                     cl_long{x.shape[1]}, rows);
    });
  }

  void LayerNorm(View<const float, 2> x, std::span<const float> weight, std::span<const float> bias, float eps,
                 View<float, 2> y) const override {
    CheckNorm(x, weight, bias, y);
    Norm(x, y, [&](Session& session, const Grid& grid, const cl::Buffer& rows) {
      session.Launch(kLayersSource, GroupOption(session), "LayerNorm", grid, rows, session.Upload(weight),
                     bias.empty() ? cl::Buffer() : session.Upload(bias), cl_float{eps}, cl_long{x.shape[1]}, rows);
    });
  }

  void Rotary(View<float, 3> x, View<const float, 2> cosine, View<const float, 2> sine,
              RotaryPairs pairs) const override {
    CheckRotary(x, cosine, sine);
    const auto& [steps, heads, width] = x.shape;
    if (steps == 0 || heads == 0 || width == 0) return;
    device_->Use([&](Session& session) {
      InPieces(session, steps, heads * width,
               [&](Index first, Index count) { RotateSteps(session, x, cosine, sine, pairs, first, count); });
    });
  }

  void SwiGlu(std::span<float> gate, std::span<const float> up) const override {
    CheckSameLength(gate, up);
    device_->Use([&](Session& session) { RunOn(session, "SwiGlu", gate, up); });
  }

  void Gelu(std::span<float> x, bool tanh_approximation) const override {
    device_->Use([&](Session& session) { RunOn(session, tanh_approximation ? "GeluTanh" : "Gelu", x, std::nullopt); });
  }

  void Relu(std::span<float> x) const override {
    device_->Use([&](Session& session) { RunOn(session, "Relu", x, std::nullopt); });
  }

  void Add(std::span<float> x, std::span<const float> y) const override {
    CheckSameLength(x, y);
    device_->Use([&](Session& session) { RunOn(session, "Add", x, y); });
  }

 private:
  /// A product over nothing.
  static void FillWithBias(std::span<const float> bias, const View<float, 2>& y) {
    for (Index row = 0; row < y.shape[0]; ++row)
      for (Index i = 0; i < y.shape[1]; ++i) y(row, i) = bias.empty() ? 0.0f : bias[static_cast<std::size_t>(i)];
  }

  /// y = launch(x), a work-group for each row, in place on the device.
  template <class F>
  void Norm(const View<const float, 2>& x, const View<float, 2>& y, const F& launch) const {
    if (x.shape[1] == 0) return;
    device_->Use([&](Session& session) {
      InPieces(session, x.shape[0], x.shape[1], [&](Index first, Index count) {
        const cl::Buffer rows = session.Upload(std::span<const float>(DenseRows(x, first, count)));
        launch(session, ForEach(session, count * GroupItems(session)), rows);
        session.Download(rows, 0, count, x.shape[1], y.at(first), y.strides[0]);
      });
    });
  }

  static void RotateSteps(Session& session, const View<float, 3>& x, const View<const float, 2>& cosine,
                          const View<const float, 2>& sine, RotaryPairs pairs, Index first, Index count) {
    const Index heads = x.shape[1], width = x.shape[2], all = count * heads * (width / 2);
    std::vector<float> dense(static_cast<std::size_t>(count * heads * width));
    const auto each = [&](const auto& use) {
      float* row = dense.data();
      for (Index t = first; t < first + count; ++t)
        for (Index h = 0; h < heads; ++h, row += width) use(x.at(t, h), row);
    };
    each([&](float* from, float* row) { std::copy_n(from, width, row); });
    const cl::Buffer device_x = session.Upload(std::span<const float>(dense));
    session.Launch(kLayersSource, GroupOption(session), "Rotate", ForEach(session, all), device_x,
                   session.Upload(std::span<const float>(DenseRows(cosine, first, count))),
                   session.Upload(std::span<const float>(DenseRows(sine, first, count))), cl_long{heads},
                   cl_long{width / 2}, cl_long{all}, cl_int{pairs == RotaryPairs::kInterleaved});
    session.Download(device_x, 0, 1, static_cast<Index>(dense.size()), dense.data(), 0);
    each([&](float* to, const float* row) { std::copy_n(row, width, to); });
  }

  std::shared_ptr<Device> device_;
};

}  // namespace

std::unique_ptr<const Backend> MakeBackend(Settings settings) {
  return std::make_unique<const OpenCl>(std::move(settings));
}

}  // namespace headlens::opencl
