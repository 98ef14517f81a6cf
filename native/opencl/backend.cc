// SPDX-License-Identifier: Apache-2.0
/// The backend itself: it checks sizes, takes its turn with the device where there is something to compute, and leaves
/// the computing to layers/ and attention/.
#include <exception>
#include <functional>
#include <utility>

#include "backends/parts.h"
#include "opencl/attention/attention.h"
#include "opencl/attention/pooled.h"
#include "opencl/layers/layers.h"
#include "opencl/opencl.h"

namespace headlens::opencl {
namespace {

const DeviceWeights& Packed(const LinearWeights& weights) { return static_cast<const DeviceWeights&>(weights); }

/// Elements that are read when the caller waits for them. Until then the device has time to compute them.
class Download final : public Reading {
 public:
  Download(std::shared_ptr<SharedDevice> device, DeviceTensor from, Tensor memory)
      : device_(std::move(device)), from_(std::move(from)), to_(std::move(memory)) {}

  Tensor Wait() override {
    if (error_) std::rethrow_exception(error_);
    if (!is_there_) Read();
    return std::move(to_);
  }

  /// Reads them now, since a driver's thread, from which it would call back, may not call OpenCL.
  void Then(std::function<void(Reading&)> use) override {
    try {
      Read();
    } catch (...) {
      error_ = std::current_exception();
    }
    use(*this);
  }

 private:
  void Read() {
    device_->Use([&](Session& session) {
      const Resident& resident = *session.ResidentOf(from_.storage().get());
      to_ = to_.size() == from_.size() ? std::move(to_).Reshaped(from_.shape()) : Tensor(from_.shape());
      session.Fetch(resident, to_.data());
    });
    is_there_ = true;
  }

  std::shared_ptr<SharedDevice> device_;
  DeviceTensor from_;
  Tensor to_;
  bool is_there_ = false;
  std::exception_ptr error_;
};

class OpenCl final : public Backend {
 public:
  explicit OpenCl(Settings settings) : device_(std::make_shared<SharedDevice>(std::move(settings))) {}

  std::string_view name() const override { return "opencl"; }

  std::unique_ptr<LinearWeights> PackLinear(const WeightMatrix& weight, std::span<const float> bias) const override {
    CheckPack(weight, bias);
    return std::make_unique<DeviceWeights>(device_, weight, bias);
  }

  /// The tensor is on the device when a buffer can hold it.
  DeviceTensor Allocate(Shape shape) const override {
    const Index count = ElementCount(shape);
    std::shared_ptr<Resident> resident;
    if (count > 0) {
      device_->Use([&](Session& session) {
        if (session.HasRoomFor(count)) resident = session.MakeResident(count);
      });
    }
    return resident ? DeviceTensor(std::move(shape), std::move(resident)) : DeviceTensor(Tensor(std::move(shape)));
  }

  DeviceTensor Upload(Tensor tensor) const override {
    DeviceTensor kept = tensor.size() > 0 ? Allocate(tensor.shape()) : DeviceTensor();
    if (!kept.storage()) return DeviceTensor(std::move(tensor));
    device_->Use([&](Session& session) { session.Send(*session.ResidentOf(kept.storage().get()), tensor.data()); });
    return kept;
  }

  std::shared_ptr<Reading> ReadBack(const DeviceTensor& tensor, Tensor memory) const override {
    if (!tensor.storage()) return Backend::ReadBack(tensor, std::move(memory));
    device_->Use([](Session& session) { session.Start(); });
    return std::make_shared<Download>(device_, tensor, std::move(memory));
  }

  void Finish() const override {
    device_->Use([](Session& session) { session.Finish(); });
  }

  Transfers transfers() const override { return device_->transfers(); }

  /// A device is only busy with many rows at once.
  Index strip_rows() const override { return 4096; }
  Index strip_floats() const override {
    Index floats = Backend::strip_floats();
    device_->Use([&](Session& session) {
      if (!session.is_cpu()) floats = session.step_memory() / Index{4 * sizeof(float)};
    });
    return floats;
  }

  void Linear(DeviceView<const float, 2> x, const LinearWeights& weights, DeviceView<float, 2> y) const override {
    CheckLinear(x, weights, y);
    if (y.shape[1] == 0) return;
    device_->Use([&](Session& session) { RunLinear(session, x, Packed(weights), y); });
  }

  void Attention(const AttentionProblem& problem, const AttentionResults& results) const override {
    Validate(problem, results);
    device_->Use([&](Session& session) { RunAttention(session, problem, results); });
  }

  void RmsNorm(DeviceView<const float, 2> x, DeviceView<const float, 1> weight, float eps,
               DeviceView<float, 2> y) const override {
    CheckNorm(x, weight, {}, y);
    if (x.shape[1] == 0) return;
    device_->Use([&](Session& session) { RunRmsNorm(session, x, weight, eps, y); });
  }

  void LayerNorm(DeviceView<const float, 2> x, DeviceView<const float, 1> weight, DeviceView<const float, 1> bias,
                 float eps, DeviceView<float, 2> y) const override {
    CheckNorm(x, weight, bias, y);
    if (x.shape[1] == 0) return;
    device_->Use([&](Session& session) { RunLayerNorm(session, x, weight, bias, eps, y); });
  }

  void Rotary(DeviceView<float, 3> x, DeviceView<const float, 2> cosine, DeviceView<const float, 2> sine,
              RotaryPairs pairs) const override {
    CheckRotary(x, cosine, sine);
    if (HasNoElements(x)) return;
    device_->Use([&](Session& session) { RunRotary(session, x, cosine, sine, pairs); });
  }

  void Silu(DeviceView<float, 1> x) const override {
    device_->Use([&](Session& session) { RunElements(session, "Silu", x); });
  }

  void Gelu(DeviceView<float, 1> x, bool tanh_approximation) const override {
    device_->Use([&](Session& session) { RunElements(session, tanh_approximation ? "GeluTanh" : "Gelu", x); });
  }

  void Relu(DeviceView<float, 1> x) const override {
    device_->Use([&](Session& session) { RunElements(session, "Relu", x); });
  }

  void Add(DeviceView<float, 1> x, DeviceView<const float, 1> y) const override {
    CheckSameLength(x, y);
    device_->Use([&](Session& session) { RunElements(session, "Add", x, y); });
  }

  void Multiply(DeviceView<float, 1> x, DeviceView<const float, 1> y) const override {
    CheckSameLength(x, y);
    device_->Use([&](Session& session) { RunElements(session, "Multiply", x, y); });
  }

  void Copy(DeviceView<const float, 4> from, DeviceView<float, 4> to) const override {
    ExpectSizes("copy", SizesOf(to), SizesOf(from));
    if (HasNoElements(from)) return;
    device_->Use([&](Session& session) { RunCopy(session, from, to); });
  }

  void CopyRows(const LinearWeights& weights, std::span<const std::int32_t> rows,
                DeviceView<float, 2> y) const override {
    CheckCopyRows(weights, rows, y);
    if (y.shape[1] == 0) return;
    device_->Use([&](Session& session) { RunCopyRows(session, Packed(weights), rows, y); });
  }

  void Pool(DeviceView<const float, 2> x, const Pooling& pooling, DeviceView<float, 2> y) const override {
    CheckPool(x, pooling, y);
    if (y.shape[0] == 0) return;
    device_->Use([&](Session& session) { RunPool(session, x, pooling, y); });
  }

  bool PoolWeights(const AttentionProblem& problem, DeviceView<float, 2> pooled) const override {
    bool done = false;
    device_->Use([&](Session& session) { done = opencl::PoolWeights(session, problem, pooled); });
    return done;
  }

 private:
  std::shared_ptr<SharedDevice> device_;
};

}  // namespace

std::unique_ptr<const Backend> MakeBackend(Settings settings) {
  return std::make_unique<const OpenCl>(std::move(settings));
}

}  // namespace headlens::opencl
