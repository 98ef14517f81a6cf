// SPDX-License-Identifier: Apache-2.0
/// Attention whose cells are never in memory: the choice of its kernels, and a pass that runs them.
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_ONLINE_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_ONLINE_H_

#include <optional>
#include <variant>

#include "gpu/key_ranges.h"
#include "opencl/attention/fused_tile.h"
#include "opencl/attention/online_kernel.h"
#include "opencl/attention/pass.h"

namespace headlens::opencl {

/// A kernel for attention without cells: the best of the ordinary ones, this tile of them, this tile of the one for few
/// rows where it suits the problem, or this tile on matrix units.
struct OrdinaryKernels {};
using AttentionKernel = std::variant<OrdinaryKernels, OnlineTile, FewTile, FusedTile>;

/// The kernels of a call.
struct OnlineChoice {
  OnlineShape shape;
  std::optional<FewTile> few;      ///< where there is one, it runs in place of the shape if it suits the rows
  std::optional<FusedTile> units;  ///< where there is one, it runs in place of the shape
  bool rounds;                     ///< q, k and v are rounded to 16 bits before
};

/// The choice for a problem; nothing where it needs cells, or no kernel suits it. `kernel` is taken where it is given.
std::optional<OnlineChoice> ChooseOnline(Session& session, const gpu::AttentionPlan& plan,
                                         const std::optional<AttentionKernel>& kernel);

/// A pass that goes without cells. Borrows it.
class OnlinePass {
 public:
  OnlinePass(const DevicePass& on, const OnlineChoice& choice);

  /// Returns false when a number is infinite or NaN. The caller then has to compute these rows, and those after them.
  bool Run(const gpu::QueryRange& rows);

 private:
  /// The rows of one launch, and the memory for their results.
  struct Launched {
    gpu::QueryRange rows;
    Operand output;
    Memory lse;  // null when it is not wanted
  };
  /// The kernel of a launch: how many rows its tiles have, and how many work-groups share the keys of each.
  struct Tiles {
    const Source& source;
    const char* kernel;
    std::string options;
    Index rows, count, parts, items_x, items_y;
  };
  bool SuitsKept() const;
  Memory KeptRounded(const DeviceView<const float, 4>& view) const;
  bool reads_rounded() const { return choice_.rounds || reads_kept_; }
  Operand AsRead(const Operand& rows, const gpu::Heads& heads, Index head_count, Index count, Index width) const;
  gpu::Problem Describe(const Launched& launched, const Operand& q) const;
  std::optional<gpu::FewShape> FewShapeOf(const gpu::Problem& problem, Index aligned) const;
  Tiles TilesOf(const gpu::Problem& problem) const;
  Memory UploadRanges(const gpu::QueryRange& rows, const gpu::Tiling& tiling, bool plain) const;
  void LaunchTiles(const Launched& launched) const;
  void LaunchUnits(const Launched& launched) const;

  const DevicePass& on_;
  const gpu::AttentionPlan& plan_;
  Session& session_;
  const OnlineChoice& choice_;
  bool reads_kept_ = false;  // k and v are what earlier calls rounded
  Operand k_, v_;            // as the kernels read them
  Memory unusual_;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_ONLINE_H_
