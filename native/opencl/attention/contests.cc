// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/contests.h"

#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <span>

#include "opencl/attention/attention.h"

namespace headlens::opencl {
namespace {

/// The problems that kernels compete over: heads and values of that width, a single query or many, and scores that are
/// capped or not.
struct AttentionShape {
  Index width;
  bool few = false, capped = false;
};

/// Attention of many rows, or of a single one, on tensors that live on the device.
class AttentionTrial {
 public:
  AttentionTrial(Session& session, const AttentionShape& shape, Index heads, Index queries, Index keys)
      : session_(session), width_(shape.width), queries_(queries), keys_(keys) {
    const Index rows[] = {queries, keys, keys, queries};
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      tensors_[i] = Tensor({1, heads, rows[i], width_});
      for (Index j = 0; j < tensors_[i].size(); ++j)
        tensors_[i].data()[j] = std::sin(static_cast<float>(j * static_cast<Index>(i + 3) % 8191));
      residents_[i] = session.MakeResident(tensors_[i].size());
      session.Send(*residents_[i], tensors_[i].data());
    }
    problem_.q = OnDevice(0);
    problem_.k = OnDevice(1);
    problem_.v = OnDevice(2);
    problem_.scale = DefaultScale(width_);
    if (shape.capped) problem_.softcap = 20.0f;
    results_.output = OnDevice(3);
  }

  double operations() const {
    const double cells = static_cast<double>(tensors_[0].shape()[1] * queries_ * keys_);
    return 4.0 * cells * static_cast<double>(width_);
  }

  void Launch(const AttentionKernel& kernel) const { RunAttention(session_, problem_, results_, kernel); }

  /// Looks at the last row of the last head, and then makes it wrong, so that the next launch cannot live on it.
  bool IsRight() const {
    const Tensor& output = tensors_[3];
    session_.Fetch(*residents_[3], output.data());
    const std::vector<double> expected = LastRow();
    float* const row = output.data() + output.size() - width_;
    const double tolerance = HasHalves(session_.precision()) ? 4e-3 : 1e-4;
    bool right = true;
    for (Index i = 0; i < width_; ++i) {
      right = right && std::abs(static_cast<double>(row[i]) - expected[static_cast<std::size_t>(i)]) <= tolerance;
      row[i] = std::nanf("");
    }
    session_.Send(*residents_[3], output.data());
    return right;
  }

 private:
  DeviceView<float, 4> OnDevice(std::size_t i) const {
    return DeviceTensor(tensors_[i].shape(), residents_[i]).view<4>();
  }

  std::vector<double> LastRow() const {
    const auto end = [this](std::size_t i, Index rows) {
      return tensors_[i].data() + tensors_[i].size() - rows * width_;
    };
    const float *q = end(0, 1), *k = end(1, keys_), *v = end(2, keys_);
    std::vector<double> row(static_cast<std::size_t>(width_), 0.0);
    double total = 0.0;
    for (Index s = 0; s < keys_; ++s, k += width_, v += width_) {
      double score = 0.0;
      for (Index i = 0; i < width_; ++i) score += double{q[i]} * double{k[i]};
      score *= double{problem_.scale};
      if (problem_.softcap > 0.0f) score = double{problem_.softcap} * std::tanh(score / double{problem_.softcap});
      const double weight = std::exp(score);
      total += weight;
      for (Index i = 0; i < width_; ++i) row[static_cast<std::size_t>(i)] += weight * double{v[i]};
    }
    for (double& value : row) value /= total;
    return row;
  }

  Session& session_;
  Index width_, queries_, keys_;
  std::array<Tensor, 4> tensors_;  // q, k, v and the output
  std::array<std::shared_ptr<Resident>, 4> residents_;
  AttentionProblem problem_;
  AttentionResults results_;
};

/// kernel(candidate) is one of those that compete.
Trial TrialOf(Session& session, const AttentionShape& shape,
              const std::function<AttentionKernel(std::size_t)>& kernel) {
  // Large enough that a launch takes far longer than its start.
  const Index many = session.is_cpu() ? 128 : session.compute_units() < 64 ? 2048 : 4096;
  const Index queries = shape.few ? 1 : many, keys = shape.few ? 4096 : queries;
  const Index heads = shape.few ? 2 * session.compute_units() : session.is_cpu() ? 2 : 32;
  const auto trial = std::make_shared<const AttentionTrial>(session, shape, heads, queries, keys);
  return {.operations = trial->operations(),
          .launch = [trial, kernel](std::size_t i) { trial->Launch(kernel(i)); },
          .is_right = [trial] { return trial->IsRight(); }};
}

}  // namespace

std::vector<Contest> OnlineContests() {
  std::vector<Contest> contests;
  for (std::size_t i = 0; i < std::size(kOnlineWorks); ++i)
    contests.push_back({&OnlineTunableOf(i), [i](Session& session) {
                          const auto kernel = [i](std::size_t candidate) -> AttentionKernel {
                            return std::visit([](const auto& tile) { return AttentionKernel(tile); },
                                              OnlineCandidate(i, candidate));
                          };
                          return TrialOf(session, {kOnlineWorks[i].width, kOnlineWorks[i].few}, kernel);
                        }});
  return contests;
}

std::vector<Contest> FusedContests(Precision precision) {
  std::vector<Contest> contests;
  for (std::size_t i = 0; i < std::size(kFusedWorks); ++i) {
    const FusedWork& work = kFusedWorks[i];
    const std::span<const FusedTile> tiles = FusedTiles(precision, work);
    const auto kernel = [tiles](std::size_t tile) -> AttentionKernel {
      if (tile < tiles.size()) return tiles[tile];
      return OrdinaryKernels();
    };
    contests.push_back({&FusedTunableOf(precision, i), [work, kernel](Session& session) {
                          return TrialOf(session, {.width = work.width, .capped = work.changes_scores}, kernel);
                        }});
  }
  return contests;
}

}  // namespace headlens::opencl
