// SPDX-License-Identifier: Apache-2.0
/// The OpenCL backend: weights and residents lie on the device, and what lies on the host is copied there and back, in
/// pieces. Attention is in attention.cc.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "backends/checks.h"
#include "opencl/attention/attention.h"
#include "opencl/matrix/matrix.h"
#include "opencl/opencl.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {
namespace {

/// A device that is opened when it is first used, by one thread at a time, and again after it was lost.
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
        session_->residents() = std::exchange(lost_, {});
      }
      try {
        return f(*session_);
      } catch (...) {
        if (!session_->IsAlive()) Lose();
        throw;
      }
    });
  }

  Backend::Transfers transfers() {
    const std::lock_guard lock(mutex_);
    return session_ ? session_->transfers() : Backend::Transfers();
  }

  /// A resident's tensor is gone.
  void Forget(const float* host) {
    const std::lock_guard lock(mutex_);
    (session_ ? session_->residents() : lost_).Remove(host);
  }

 private:
  void Lose() {
    lost_ = std::move(session_->residents());
    lost_.Lose();
    session_.reset();
  }

  const Settings settings_;
  std::mutex mutex_;
  std::optional<Session> session_;
  Residents lost_;  // while there is no session
};

/// Rows of W [out, in] on the device, in their own type; in several pieces where one buffer cannot hold them.
struct DeviceLinear : LinearWeights {
  struct Piece {
    Index first, count;
    Memory weights, bias;  // bias: null without one
  };

  DeviceLinear(std::shared_ptr<Device> device, const WeightMatrix& weight, std::span<const float> bias_values)
      : LinearWeights(weight.in, weight.out),
        device(std::move(device)),
        type(weight.dtype),
        bias_copy(bias_values.begin(), bias_values.end()) {
    if (weight.in > 0 && weight.out > 0) this->device->Use([&](Session& session) { Upload(session, weight); });
  }

  /// Throws kUnsupported where what was packed has gone with the session that it belonged to.
  void CheckSession(const Session& session) const {
    if (!pieces.empty() && session_id != session.id())
      throw Error(ErrorCode::kUnsupported,
                  "the OpenCL device was lost since the weights were packed: load the model again");
  }

  Index RowBytes() const { return in_features() * static_cast<Index>(ByteSize(type)); }

  void Upload(Session& session, const WeightMatrix& weight) {
    session_id = session.id();
    const Index most = std::max<Index>(session.step_memory() / RowBytes(), 1);
    for (Index first = 0; first < weight.out; first += most) {
      const Index count = std::min(most, weight.out - first);
      const std::vector<std::byte> rows = Rows(weight, first, count);
      const std::span<const float> bias_part =
          std::span<const float>(bias_copy).subspan(bias_copy.empty() ? 0 : static_cast<std::size_t>(first),
                                                    bias_copy.empty() ? 0 : static_cast<std::size_t>(count));
      pieces.push_back({first, count, session.Upload(std::span<const std::byte>(rows)),
                        bias_part.empty() ? Memory() : session.Upload(bias_part)});
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
      CheckSession(session);
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
  std::uint64_t session_id = 0;
  std::vector<Piece> pieces;
  std::vector<float> bias_copy;
};

/// Rows of x without their stride.
std::vector<float> DenseRows(const View<const float, 2>& x) {
  std::vector<float> dense(static_cast<std::size_t>(ElementCount({x.shape[0], x.shape[1]})));
  for (Index i = 0; i < x.shape[0]; ++i) std::copy_n(x.at(i), x.shape[1], dense.data() + i * x.shape[1]);
  return dense;
}

/// A matrix on the device: rows from element `first` on that are `stride` apart.
struct DeviceRows {
  Memory buffer;
  cl_long first, stride;

  Operand AsOperand() const { return {buffer, MatrixPlace(stride, first)}; }
};

/// Those of a resident, or a copy of the host's.
DeviceRows Read(Session& session, const View<const float, 2>& x) {
  if (const auto found = session.residents().Find(x.data)) return {found->buffer, found->first, x.strides[0]};
  return {session.Upload(std::span<const float>(DenseRows(x))), 0, x.shape[1]};
}

/// y ← what compute(rows) leaves in rows, which are y's own on the device where y is a resident.
template <class F>
void Write(Session& session, const View<float, 2>& y, const F& compute) {
  if (const auto found = session.residents().Find(y.data, /*writes=*/true))
    return compute(DeviceRows{found->buffer, found->first, y.strides[0]});
  const DeviceRows rows{session.Allocate<float>(y.shape[0] * y.shape[1]), 0, y.shape[1]};
  compute(rows);
  session.Download(rows.buffer, 0, y.shape[0], y.shape[1], y.data, y.strides[0]);
}

/// x ← what change(rows) makes of x.
template <class F>
void Change(Session& session, const View<float, 2>& x, const F& change) {
  const DeviceRows rows = Read(session, x);
  const bool resident = session.residents().Find(x.data, /*writes=*/true).has_value();
  change(rows);
  if (!resident) session.Download(rows.buffer, 0, x.shape[0], x.shape[1], x.data, x.strides[0]);
}

/// Calls f(first, count) for pieces of `rows` rows that a step's memory holds.
template <class F>
void InPieces(const Session& session, Index rows, Index floats_a_row, const F& f) {
  const Index bytes = std::max<Index>(floats_a_row, 1) * static_cast<Index>(sizeof(float));
  const Index most = std::max<Index>(session.step_memory() / bytes, 1);
  for (Index first = 0; first < rows; first += most) f(first, std::min(most, rows - first));
}

template <class T>
View<T, 2> Part(const View<T, 2>& x, Index first, Index count) {
  return {x.at(first), {count, x.shape[1]}, x.strides};
}

Grid ForEach(const Session& session, Index count) { return {count, GroupItems(session)}; }

/// x ← kernel(x, y) element by element, where y may be absent.
void RunOn(Session& session, const char* kernel, std::span<float> x, std::optional<std::span<const float>> y) {
  InPieces(session, static_cast<Index>(x.size()), 1, [&](Index first, Index count) {
    const auto begin = static_cast<std::size_t>(first), length = static_cast<std::size_t>(count);
    Change(session, {x.data() + first, {1, count}, {count, 1}}, [&](const DeviceRows& rows) {
      const Grid grid = ForEach(session, count);
      if (y) {
        const Elements other = session.OnDevice(y->subspan(begin, length));
        session.Launch(kLayersSource, GroupOption(session), kernel, grid, rows.buffer, rows.first, other.buffer,
                       cl_long{other.first}, cl_long{count});
      } else {
        session.Launch(kLayersSource, GroupOption(session), kernel, grid, rows.buffer, rows.first, cl_long{count});
      }
    });
  });
}

std::vector<float> DenseHeads(const View<const float, 4>& x) {
  std::vector<float> dense(static_cast<std::size_t>(ElementCount(SizesOf(x))));
  Copy(x, DenseView(dense.data(), x.shape));
  return dense;
}

/// Where the heads [B, H, n, width] of a view are.
template <class T>
Place HeadsPlace(Index first, const View<T, 4>& view) {
  return {first, view.strides[0], view.strides[1], 0, view.strides[2]};
}

class OpenCl final : public Backend {
 public:
  explicit OpenCl(Settings settings) : device_(std::make_shared<Device>(std::move(settings))) {}

  std::string_view name() const override { return "opencl"; }

  std::unique_ptr<LinearWeights> PackLinear(const WeightMatrix& weight, std::span<const float> bias) const override {
    CheckPack(weight, bias);
    return std::make_unique<DeviceLinear>(device_, weight, bias);
  }

  Tensor Allocate(Shape shape) const override { return Resident(Tensor(std::move(shape)), /*send=*/false); }

  Tensor Keep(Tensor tensor) const override { return Resident(std::move(tensor), /*send=*/true); }

  void Fetch(const Tensor& tensor) const override {
    if (tensor.size() > 0) device_->Use([&](Session& session) { session.Fetch(tensor.data()); });
  }

  void Send(const Tensor& tensor) const override {
    if (tensor.size() > 0) device_->Use([&](Session& session) { session.Send(tensor.data()); });
  }

  void Finish() const override {
    device_->Use([](Session& session) { session.Finish(); });
  }

  Transfers transfers() const override { return device_->transfers(); }

  /// A device is filled by many rows at once.
  Index strip_rows() const override { return 4096; }

  void Linear(View<const float, 2> x, const LinearWeights& weights, View<float, 2> y) const override {
    CheckLinear(x, weights, y);
    const auto& linear = static_cast<const DeviceLinear&>(weights);
    if (y.shape[1] == 0) return;
    device_->Use([&](Session& session) {
      linear.CheckSession(session);
      InPieces(session, x.shape[0], std::max(x.shape[1], y.shape[1]), [&](Index first, Index count) {
        if (x.shape[1] == 0) return FillWithBias(session, linear.bias(), Part(y, first, count));
        const DeviceRows a = Read(session, Part(x, first, count));
        for (const DeviceLinear::Piece& piece : linear.pieces)
          Write(session, {y.at(first, piece.first), {count, piece.count}, y.strides}, [&](const DeviceRows& c) {
            Multiply(session, {.a = a.AsOperand(),
                               .b = {piece.weights, MatrixPlace(x.shape[1])},
                               .c = c.AsOperand(),
                               .m = count,
                               .n = piece.count,
                               .k = x.shape[1],
                               .b_columns = true,
                               .b_type = linear.type,
                               .bias = piece.bias,
                               .rounds = true});
          });
      });
    });
  }

  void Attention(const AttentionProblem& problem, const AttentionResults& results) const override {
    Validate(problem, results);
    device_->Use([&](Session& session) { RunAttention(session, problem, results); });
  }

  void RmsNorm(View<const float, 2> x, std::span<const float> weight, float eps, View<float, 2> y) const override {
    CheckNorm(x, weight, {}, y);
    Norm(x, y, [&](Session& session, const Grid& grid, const DeviceRows& from, const DeviceRows& to) {
      const Elements w = session.OnDevice(weight);
      session.Launch(kLayersSource, GroupOption(session), "RmsNorm", grid, from.buffer, from.first, from.stride,
                     w.buffer, cl_long{w.first}, cl_float{eps}, cl_long{x.shape[1]}, to.buffer, to.first, to.stride);
    });
  }

  void LayerNorm(View<const float, 2> x, std::span<const float> weight, std::span<const float> bias, float eps,
                 View<float, 2> y) const override {
    CheckNorm(x, weight, bias, y);
    Norm(x, y, [&](Session& session, const Grid& grid, const DeviceRows& from, const DeviceRows& to) {
      const Elements w = session.OnDevice(weight), b = bias.empty() ? Elements() : session.OnDevice(bias);
      session.Launch(kLayersSource, GroupOption(session), "LayerNorm", grid, from.buffer, from.first, from.stride,
                     w.buffer, cl_long{w.first}, b.buffer, cl_long{b.first}, cl_float{eps}, cl_long{x.shape[1]},
                     to.buffer, to.first, to.stride);
    });
  }

  void Rotary(View<float, 3> x, View<const float, 2> cosine, View<const float, 2> sine,
              RotaryPairs pairs) const override {
    CheckRotary(x, cosine, sine);
    const Index steps = x.shape[0], heads = x.shape[1], width = x.shape[2];
    if (steps == 0 || heads == 0 || width == 0) return;
    device_->Use([&](Session& session) {
      if (const auto found = session.residents().Find(x.data, /*writes=*/true))
        return Rotate(session, *found, x, cosine, sine, pairs);
      InPieces(session, steps, heads * width, [&](Index first, Index count) {
        RotateHost(session, {x.at(first), {count, heads, width}, x.strides}, Part(cosine, first, count),
                   Part(sine, first, count), pairs);
      });
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

  void Copy(View<const float, 4> from, View<float, 4> to) const override {
    ExpectSizes("copy", SizesOf(to), SizesOf(from));
    const Index batch = from.shape[0], heads = from.shape[1], rows = from.shape[2], width = from.shape[3];
    const Index count = batch * heads * rows * width;
    if (count == 0) return;
    device_->Use([&](Session& session) {
      const Memory rounded = session.residents().Rounded(to.data);
      const auto target = session.residents().Find(to.data, /*writes=*/true);
      const auto source = session.residents().Find(from.data);
      if (!target) {
        if (source) session.Fetch(from.data);
        return headlens::Copy(from, to);
      }
      const std::vector<float> dense = source ? std::vector<float>() : DenseHeads(from);
      session.Launch(kLayersSource, GroupOption(session), "CopyHeads", ForEach(session, count),
                     source ? source->buffer : session.Upload(std::span<const float>(dense)),
                     source ? HeadsPlace(source->first, from) : DensePlace({0, heads, 1}, rows, width), target->buffer,
                     HeadsPlace(target->first, to), Heads{0, heads, 1}, cl_long{rows}, cl_long{width}, cl_long{count});
      if (!rounded) return;
      const Place place = HeadsPlace(target->first, to);
      RoundRows(session, {target->buffer, place}, {0, heads, 1}, batch * heads, rows, width, width, {rounded, place},
                Memory());
      session.residents().KeepRounded(to.data, rounded);
    });
  }

  void CopyRows(const LinearWeights& weights, std::span<const std::int32_t> rows, View<float, 2> y) const override {
    CheckCopyRows(weights, rows, y);
    const auto& linear = static_cast<const DeviceLinear&>(weights);
    if (y.shape[1] == 0) return;
    device_->Use([&](Session& session) {
      linear.CheckSession(session);
      InPieces(session, y.shape[0], y.shape[1], [&](Index first, Index count) {
        const Memory ids =
            session.Upload(rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
        Write(session, Part(y, first, count), [&](const DeviceRows& to) {
          for (const DeviceLinear::Piece& piece : linear.pieces)
            session.Launch(kWeightsSource, GroupOption(session) + ElementOptions(linear.type), "CopyRows",
                           ForEach(session, count * y.shape[1]), piece.weights, cl_long{piece.first},
                           cl_long{piece.count}, ids, cl_long{y.shape[1]}, to.buffer, to.first, to.stride,
                           cl_long{count * y.shape[1]});
        });
      });
    });
  }

  void Pool(View<const float, 2> x, const Pooling& pooling, View<float, 2> y) const override {
    CheckPool(x, pooling, y);
    if (y.shape[0] == 0) return;
    device_->Use([&](Session& session) {
      const DeviceRows from = Read(session, x);
      Write(session, y, [&](const DeviceRows& to) {
        const Index items = GroupItems(session);
        session.Launch(kLayersSource, GroupOption(session), "Pool", {y.shape[1] * y.shape[0] * items, items},
                       from.buffer, from.first, from.stride, cl_long{x.shape[1]}, cl_long{pooling.first_row},
                       cl_long{pooling.rows}, cl_long{pooling.first_block}, cl_long{pooling.row_blocks},
                       cl_long{y.shape[1]}, to.buffer, to.first, to.stride);
      });
    });
  }

 private:
  /// `tensor` on the device, where a buffer can hold it. Its memory stays what Fetch fills.
  Tensor Resident(Tensor tensor, bool send) const {
    const Index count = tensor.size();
    if (count == 0) return tensor;
    const bool fits = device_->Use([&](Session& session) {
      if (count > session.largest_buffer() / static_cast<Index>(sizeof(float))) return false;
      session.residents().Add(tensor.data(), count, session.Allocate<float>(count));
      if (send) session.Send(tensor.data());
      return true;
    });
    if (!fits) return tensor;
    const Shape shape = tensor.shape();
    float* const elements = tensor.data();
    const auto owner = std::make_shared<Tensor>(std::move(tensor));
    return Tensor(shape,
                  std::shared_ptr<float>(elements, [device = device_, owner](float* host) { device->Forget(host); }));
  }

  /// A product over nothing.
  static void FillWithBias(Session& session, std::span<const float> bias, const View<float, 2>& y) {
    std::vector<float> row(static_cast<std::size_t>(y.shape[1]), 0.0f);
    std::copy(bias.begin(), bias.end(), row.begin());
    const Memory values = session.Upload(std::span<const float>(row));
    Write(session, y, [&](const DeviceRows& to) {
      for (Index i = 0; i < y.shape[0]; ++i)
        session.CopyRows({values, 0}, y.shape[1], {to.buffer, to.first + i * to.stride}, to.stride, 1, y.shape[1]);
    });
  }

  /// y = launch(x), a work-group for each row.
  template <class F>
  void Norm(const View<const float, 2>& x, const View<float, 2>& y, const F& launch) const {
    if (x.shape[1] == 0) return;
    device_->Use([&](Session& session) {
      InPieces(session, x.shape[0], x.shape[1], [&](Index first, Index count) {
        const DeviceRows from = Read(session, Part(x, first, count));
        Write(session, Part(y, first, count),
              [&](const DeviceRows& to) { launch(session, ForEach(session, count * GroupItems(session)), from, to); });
      });
    });
  }

  /// [steps, heads, width] from an element on, with the strides of x.
  static void Rotate(Session& session, const Elements& at, const View<float, 3>& x, const View<const float, 2>& cosine,
                     const View<const float, 2>& sine, RotaryPairs pairs) {
    const auto& [steps, heads, width] = x.shape;
    const Index all = steps * heads * (width / 2);
    const DeviceRows c = Read(session, cosine), s = Read(session, sine);
    session.Launch(kLayersSource, GroupOption(session), "Rotate", ForEach(session, all), at.buffer, cl_long{at.first},
                   cl_long{x.strides[0]}, cl_long{x.strides[1]}, c.buffer, c.first, c.stride, s.buffer, s.first,
                   s.stride, cl_long{heads}, cl_long{width / 2}, cl_long{all},
                   cl_int{pairs == RotaryPairs::kInterleaved});
  }

  static void RotateHost(Session& session, const View<float, 3>& x, const View<const float, 2>& cosine,
                         const View<const float, 2>& sine, RotaryPairs pairs) {
    std::vector<float> dense = DenseHeads(BatchOfOne<const float>(x));
    const Memory buffer = session.Upload(std::span<const float>(dense));
    Rotate(session, {buffer, 0}, DenseView(x.data, x.shape), cosine, sine, pairs);
    const auto size = static_cast<Index>(dense.size());
    session.Download(buffer, 0, 1, size, dense.data(), size);
    headlens::Copy(DenseView(dense.data(), x.shape), x);
  }

  std::shared_ptr<Device> device_;
};

}  // namespace

std::unique_ptr<const Backend> MakeBackend(Settings settings) {
  return std::make_unique<const OpenCl>(std::move(settings));
}

}  // namespace headlens::opencl
