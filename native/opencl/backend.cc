// SPDX-License-Identifier: Apache-2.0
/// The backend itself: it checks sizes, takes its turn with the device where there is something to compute, and leaves
/// the computing to layers/ and attention/.
#include <utility>

#include "gpu/core.h"
#include "opencl/attention/attention.h"
#include "opencl/layers/layers.h"
#include "opencl/opencl.h"

namespace headlens::opencl {
namespace {

const DeviceWeights& Packed(const LinearWeights& weights) { return static_cast<const DeviceWeights&>(weights); }

class OpenCl final : public Backend {
 public:
  explicit OpenCl(Settings settings) : device_(std::make_shared<SharedDevice>(std::move(settings))) {}

  std::string_view name() const override { return "opencl"; }

  std::unique_ptr<LinearWeights> PackLinear(const WeightMatrix& weight, std::span<const float> bias) const override {
    CheckPack(weight, bias);
    return std::make_unique<DeviceWeights>(device_, weight, bias);
  }

  Tensor Allocate(Shape shape) const override { return Resident(Tensor(std::move(shape)), /*sends=*/false); }

  Tensor Keep(Tensor tensor) const override { return Resident(std::move(tensor), /*sends=*/true); }

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

  /// Many rows at once fill a device.
  Index strip_rows() const override { return 4096; }

  void Linear(View<const float, 2> x, const LinearWeights& weights, View<float, 2> y) const override {
    CheckLinear(x, weights, y);
    if (y.shape[1] == 0) return;
    device_->Use([&](Session& session) { RunLinear(session, x, Packed(weights), y); });
  }

  void Attention(const AttentionProblem& problem, const AttentionResults& results) const override {
    Validate(problem, results);
    device_->Use([&](Session& session) { RunAttention(session, problem, results); });
  }

  void RmsNorm(View<const float, 2> x, std::span<const float> weight, float eps, View<float, 2> y) const override {
    CheckNorm(x, weight, {}, y);
    if (x.shape[1] == 0) return;
    device_->Use([&](Session& session) { RunRmsNorm(session, x, weight, eps, y); });
  }

  void LayerNorm(View<const float, 2> x, std::span<const float> weight, std::span<const float> bias, float eps,
                 View<float, 2> y) const override {
    CheckNorm(x, weight, bias, y);
    if (x.shape[1] == 0) return;
    device_->Use([&](Session& session) { RunLayerNorm(session, x, weight, bias, eps, y); });
  }

  void Rotary(View<float, 3> x, View<const float, 2> cosine, View<const float, 2> sine,
              RotaryPairs pairs) const override {
    CheckRotary(x, cosine, sine);
    if (HasNoElements(x)) return;
    device_->Use([&](Session& session) { RunRotary(session, x, cosine, sine, pairs); });
  }

  void SwiGlu(std::span<float> gate, std::span<const float> up) const override {
    CheckSameLength(gate, up);
    device_->Use([&](Session& session) { RunElements(session, "SwiGlu", gate, up); });
  }

  void Gelu(std::span<float> x, bool tanh_approximation) const override {
    device_->Use([&](Session& session) { RunElements(session, tanh_approximation ? "GeluTanh" : "Gelu", x); });
  }

  void Relu(std::span<float> x) const override {
    device_->Use([&](Session& session) { RunElements(session, "Relu", x); });
  }

  void Add(std::span<float> x, std::span<const float> y) const override {
    CheckSameLength(x, y);
    device_->Use([&](Session& session) { RunElements(session, "Add", x, y); });
  }

  void Copy(View<const float, 4> from, View<float, 4> to) const override {
    ExpectSizes("copy", SizesOf(to), SizesOf(from));
    if (HasNoElements(from)) return;
    device_->Use([&](Session& session) { RunCopy(session, from, to); });
  }

  void CopyRows(const LinearWeights& weights, std::span<const std::int32_t> rows, View<float, 2> y) const override {
    CheckCopyRows(weights, rows, y);
    if (y.shape[1] == 0) return;
    device_->Use([&](Session& session) { RunCopyRows(session, Packed(weights), rows, y); });
  }

  void Pool(View<const float, 2> x, const Pooling& pooling, View<float, 2> y) const override {
    CheckPool(x, pooling, y);
    if (y.shape[0] == 0) return;
    device_->Use([&](Session& session) { RunPool(session, x, pooling, y); });
  }

 private:
  /// `tensor` on the device, where a buffer can hold it. Its memory on the host stays, for Fetch to fill.
  Tensor Resident(Tensor tensor, bool sends) const {
    const Index count = tensor.size();
    if (count == 0) return tensor;
    const bool fits = device_->Use([&](Session& session) {
      if (count > session.largest_buffer() / static_cast<Index>(sizeof(float))) return false;
      session.residents().Add(tensor.data(), count, session.Allocate<float>(count));
      if (sends) session.Send(tensor.data());
      return true;
    });
    if (!fits) return tensor;
    const Shape shape = tensor.shape();
    float* const elements = tensor.data();
    const auto owner = std::make_shared<Tensor>(std::move(tensor));
    return Tensor(shape,
                  std::shared_ptr<float>(elements, [device = device_, owner](float* host) { device->Forget(host); }));
  }

  std::shared_ptr<SharedDevice> device_;
};

}  // namespace

std::unique_ptr<const Backend> MakeBackend(Settings settings) {
  return std::make_unique<const OpenCl>(std::move(settings));
}

}  // namespace headlens::opencl
