// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/mma_probe.h"

#include <limits>
#include <vector>

#include "opencl/kernels/sources.h"
#include "opencl/matrix/mma.h"
#include "opencl/matrix/rounding.h"

namespace headlens::opencl {
namespace {

/// Turns [rows, columns] into [columns, rows].
std::vector<float> Transposed(std::span<const float> matrix, Index columns) {
  std::vector<float> transposed;
  const Index rows = static_cast<Index>(matrix.size()) / columns;
  for (Index j = 0; j < columns; ++j)
    for (Index i = 0; i < rows; ++i) transposed.push_back(matrix[static_cast<std::size_t>(i * columns + j)]);
  return transposed;
}

/// Copies rows to the device as the tiles of a precision have them.
Memory Numbers(Session& session, std::span<const float> rows, Index width) {
  const Memory floats = session.Upload(rows);
  if (!HasHalves(session.precision())) return floats;
  const Index count = static_cast<Index>(rows.size()) / width;
  const cl_uint none = 0;
  const RoundedRows all{gpu::kOneHead, 1, count, width};
  return RoundRows(session, all, {floats, gpu::MatrixPlace(width)}, session.Upload(std::span(&none, 1))).buffer;
}

}  // namespace

MmaResult MultiplyOnce(Session& session, std::span<const float> left, std::span<const float> right) {
  MmaResult result;
  const Index depth = MmaLayout(session.precision()).step();
  const auto allocate = [&](const auto& to) { return session.Allocate<float>(static_cast<Index>(to.size())); };
  const auto download = [&](const Memory& from, auto& to) {
    session.DownloadBytes(from, 0, static_cast<Index>(sizeof to), to.data());
  };
  std::array<float, 16 * 16> again;
  const Memory products[] = {allocate(result.product), allocate(again)};
  const Memory maxima = allocate(result.maxima), totals = allocate(result.totals);
  session.Launch(kMmaProbeSource, MmaOptions(session) + "-D ALIGNED", "MultiplyOnce", {kWarp, kWarp},
                 Numbers(session, left, depth), Numbers(session, right, 16),
                 Numbers(session, Transposed(right, 16), depth), products[0], products[1], maxima, totals);
  download(products[0], result.product);
  download(products[1], again);
  download(maxima, result.maxima);
  download(totals, result.totals);
  result.ways = again == result.product;
  return result;
}

namespace {

/// Multiplies whole numbers, which are small enough for sums without rounding. Where a number has two parts, those on
/// the left are more than one part holds.
bool MultipliesRight(Session& session) {
  const MmaLayout layout(session.precision());
  const Index depth = layout.step(), scale = layout.splits ? 65 : 1;
  std::vector<float> left, right;
  for (Index i = 0; i < 16; ++i)
    for (Index d = 0; d < depth; ++d) left.push_back(static_cast<float>(scale * (15 * i + d)));
  for (Index d = 0; d < depth; ++d)
    for (Index j = 0; j < 16; ++j) right.push_back(static_cast<float>(d - 3 - 2 * j));
  const MmaResult got = MultiplyOnce(session, left, right);
  for (Index i = 0; i < 16; ++i) {
    float most = -std::numeric_limits<float>::max(), total = 0.0f;
    for (Index j = 0; j < 16; ++j) {
      float sum = 0.0f;
      for (Index d = 0; d < depth; ++d)
        sum += left[static_cast<std::size_t>(i * depth + d)] * right[static_cast<std::size_t>(d * 16 + j)];
      if (got.product[static_cast<std::size_t>(i * 16 + j)] != sum) return false;
      if (j >= 8) continue;
      most = std::max(most, sum);
      total += sum;
    }
    const auto row = static_cast<std::size_t>(i);
    if (got.maxima[row] != most || got.totals[row] != total) return false;
  }
  return got.ways;
}

bool Probe(const Settings& settings) {
  try {
    Session session(settings);
    const DeviceInfo& device = session.device();
    const bool is_nvidia = device.type == "GPU" && device.vendor.find("NVIDIA") != std::string::npos;
    return (is_nvidia || settings.emulate_matrix_units) && MultipliesRight(session);
  } catch (const Error&) {
    return false;
  } catch (const cl::Error&) {
    return false;
  }
}

}  // namespace

bool HasMatrixUnits(Session& session) {
  if (session.precision() == Precision::kFp32) return false;
  return session.Answer("matrix units", [&] { return Probe(session.settings()); });
}

}  // namespace headlens::opencl
