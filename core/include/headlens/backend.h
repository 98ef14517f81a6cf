// SPDX-License-Identifier: Apache-2.0
/// The backends: each computes the same operations in its own way, and all agree within rounding.
#ifndef HEADLENS_BACKEND_H_
#define HEADLENS_BACKEND_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "headlens/attention.h"
#include "headlens/device.h"
#include "headlens/tensor.h"

namespace headlens {

/// A borrowed matrix [out, in] in F32, F16 or BF16. Strides count elements, and addresses need no alignment.
struct WeightMatrix {
  WeightMatrix(DType dtype, const std::byte* data, Index out_features, Index in_features, Index out_stride,
               Index in_stride)
      : dtype(dtype), data(data), out(out_features), in(in_features), out_stride(out_stride), in_stride(in_stride) {}
  // Implicit, because a view of floats is such a matrix.
  WeightMatrix(View<const float, 2> w)
      : WeightMatrix(DType::kF32, reinterpret_cast<const std::byte*>(w.data), w.shape[0], w.shape[1], w.strides[0],
                     w.strides[1]) {}
  WeightMatrix(View<float, 2> w) : WeightMatrix(View<const float, 2>(w)) {}

  DType dtype;
  const std::byte* data;
  Index out, in;
  Index out_stride, in_stride;
};

/// The weights of y = x Wᵀ + b in the memory order that suits a backend best. Backend::PackLinear makes them, and they
/// work with that backend only.
class LinearWeights {
 public:
  LinearWeights(Index in_features, Index out_features) : in_(in_features), out_(out_features) {}
  virtual ~LinearWeights() = default;
  LinearWeights(const LinearWeights&) = delete;
  LinearWeights& operator=(const LinearWeights&) = delete;

  Index in_features() const { return in_; }
  Index out_features() const { return out_; }

  /// Copies row `out` of W as floats into `to`, which has in_features elements. When W is an embedding table, this is
  /// the embedding of one token.
  virtual void CopyRow(Index out, std::span<float> to) const = 0;
  /// The bias [out_features], or empty when there is none. Borrowed.
  virtual std::span<const float> bias() const = 0;

 private:
  Index in_, out_;
};

/// The pairs of elements that rotary positions rotate together.
enum class RotaryPairs {
  kHalf,         ///< i and i + d/2 (Llama, GPT-NeoX)
  kInterleaved,  ///< 2i and 2i + 1 (GPT-J, the paper)
};

/// The number that stands for a block of a map: its mean, or its largest weight, in which narrow diagonals and columns
/// of a large map stay visible.
enum class PoolKind { kMean, kMax };

/// The index at which block `i` begins when `count` cells are cut into `blocks` blocks of equal size, give or take a
/// cell.
constexpr Index BlockBegin(Index i, Index count, Index blocks) { return i * count / blocks; }

/// A set of functions that compute with tensors. A backend can be shared between threads. Rows of all views are dense
/// (last stride 1), and outputs must not overlap inputs unless a function allows it. Sizes are checked, and an Error
/// kShape names both that do not fit.
///
/// A backend may have memory of its own, as a GPU has. The tensors that Allocate and Upload return lie there, and the
/// host sees them only through ReadBack. A function also takes views of the host's memory, and brings their elements
/// there and back itself; masks, biases, and all results of attention but output and weights must be of that kind.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;

  /// An uninitialised tensor in this backend's memory.
  virtual DeviceTensor Allocate(Shape shape) const { return DeviceTensor(Tensor(std::move(shape))); }
  /// The same elements in this backend's memory.
  virtual DeviceTensor Upload(Tensor tensor) const { return DeviceTensor(std::move(tensor)); }
  /// Begins to bring the elements of a tensor to the host. Where that makes a copy, it goes into `memory` if that has
  /// the tensor's size, and into new memory otherwise. The way back is Copy.
  virtual std::shared_ptr<Reading> ReadBack(const DeviceTensor& tensor, Tensor memory = {}) const;
  /// Waits until everything is computed. Without this call, functions may return while results that stay in this
  /// backend's memory are still being computed.
  virtual void Finish() const {}
  /// The amount of data moved between the host and this backend's memory so far, and the time it took.
  struct Transfers {
    double bytes = 0.0, seconds = 0.0;
  };
  virtual Transfers transfers() const { return {}; }
  /// The number of rows of a long computation that is best given to this backend at a time.
  virtual Index strip_rows() const { return 256; }
  /// The number of floats of a map that is best computed at a time, when it is larger than what is asked for: as many
  /// as stay in the cache, from which they are read again.
  virtual Index strip_floats() const { return Index{1} << 19; }

  /// Copies and reorders `weight` [out, in] (PyTorch's layout) and `bias`, which is [out] or empty. Throws kDtype
  /// unless the weights are F32, F16 or BF16.
  virtual std::unique_ptr<LinearWeights> PackLinear(const WeightMatrix& weight, std::span<const float> bias) const = 0;

  /// y [rows, out] = x [rows, in] Wᵀ + b.
  virtual void Linear(DeviceView<const float, 2> x, const LinearWeights& weights, DeviceView<float, 2> y) const = 0;

  /// Solves `problem` and fills the results that are set.
  virtual void Attention(const AttentionProblem& problem, const AttentionResults& results) const = 0;

  /// y = x / √(mean(x²) + eps) · weight, row by row (Zhang & Sennrich 2019). y may be x.
  virtual void RmsNorm(DeviceView<const float, 2> x, DeviceView<const float, 1> weight, float eps,
                       DeviceView<float, 2> y) const = 0;

  /// y = (x − mean) / √(variance + eps) · weight + bias, row by row (Ba et al. 2016); bias may be empty. y may be x.
  virtual void LayerNorm(DeviceView<const float, 2> x, DeviceView<const float, 1> weight,
                         DeviceView<const float, 1> bias, float eps, DeviceView<float, 2> y) const = 0;

  /// Rotates pairs of each head's elements in place by the angles of the token's position (Su et al. 2021). x is [T, H,
  /// d], `cosine` and `sine` are [T, d/2].
  virtual void Rotary(DeviceView<float, 3> x, DeviceView<const float, 2> cosine, DeviceView<const float, 2> sine,
                      RotaryPairs pairs) const = 0;

  /// x ← x · sigmoid(x) (Elfwing et al. 2018), also called swish.
  virtual void Silu(DeviceView<float, 1> x) const = 0;

  /// x ← x · Φ(x), exactly with erf or by its tanh approximation (Hendrycks & Gimpel 2016).
  virtual void Gelu(DeviceView<float, 1> x, bool tanh_approximation) const = 0;

  /// x ← max(x, 0).
  virtual void Relu(DeviceView<float, 1> x) const = 0;

  /// x ← x + y.
  virtual void Add(DeviceView<float, 1> x, DeviceView<const float, 1> y) const = 0;

  /// x ← x · y, element by element.
  virtual void Multiply(DeviceView<float, 1> x, DeviceView<const float, 1> y) const = 0;

  /// to ← from. Both have the same sizes.
  virtual void Copy(DeviceView<const float, 4> from, DeviceView<float, 4> to) const;

  /// Row i of y becomes row rows[i] of W. Throws kValue for a row that W does not have.
  virtual void CopyRows(const LinearWeights& weights, std::span<const std::int32_t> rows, DeviceView<float, 2> y) const;

  /// Pools a map [rows, S] over equal blocks (BlockBegin), `row_blocks` rows of C blocks each. x holds rows of the map
  /// from `first_row` on; y [n, C] receives n rows of blocks from `first_block` on, all of whose rows must be in x. A
  /// NaN makes its block NaN.
  struct Pooling {
    Index rows, row_blocks, first_row, first_block;
    PoolKind kind = PoolKind::kMean;
  };
  virtual void Pool(DeviceView<const float, 2> x, const Pooling& pooling, DeviceView<float, 2> y) const;

  /// Computes the mean weights of a problem of one batch and one head, without v, over equal blocks (BlockBegin) into
  /// `pooled`, which has at most as many rows as there are queries and as many columns as keys. Returns false where
  /// this backend has no faster way than to pool weights that it has computed; what is in `pooled` then means nothing.
  virtual bool PoolWeights(const AttentionProblem& /*problem*/, DeviceView<float, 2> /*pooled*/) const { return false; }
};

/// Plain loops in fp64 that round to fp32 once, at the end of each kernel. Every other backend is tested against this
/// one.
const Backend& ReferenceBackend();

/// Highway's SIMD kernels, with the best instruction set of this machine, chosen at run time. Uses the caller's thread
/// only.
const Backend& SimdBackend();

/// The SIMD backend with `threads` threads, the caller's among them, which share large products and attention. The
/// results do not depend on the number of threads, and the threads end with the backend. Several threads may call it at
/// once; the helping threads then work for one of them at a time. Throws kValue when `threads` is less than 1. In
/// WebAssembly only the host can start threads: the backend uses those that call ServeSimdBackend, or the caller's
/// alone when compiled without -matomics.
std::unique_ptr<const Backend> MakeSimdBackend(int threads);

#ifdef __EMSCRIPTEN__
/// The calling thread becomes thread `worker` (from 1 to threads − 1) of a backend that MakeSimdBackend made. Returns
/// when that backend ends.
void ServeSimdBackend(const Backend& backend, int worker);

/// Reports that a trap ended a thread inside ServeSimdBackend. The call that the thread was helping stops waiting for
/// it and throws std::runtime_error.
void GiveUpServing(const Backend& backend);
#endif

/// The backends of this library: "reference" and "simd".
std::span<const Backend* const> Backends();

/// Returns the backend of that name. Throws kOption, listing the names, when there is none.
const Backend& FindBackend(std::string_view name, std::span<const Backend* const> among = Backends());

/// Highway's name of the instruction set that SimdBackend uses now, such as "AVX2", "NEON" or "WASM".
std::string_view SimdTarget();

struct SimdTargetInfo {
  std::string_view name;
  bool available;  ///< this machine has it
};

/// The instruction sets that SimdBackend was compiled for, the best first.
std::vector<SimdTargetInfo> SimdTargets();

/// Makes SimdBackend use this instruction set until the next call; for tests and measurements. It works through
/// hwy::DisableTargets, so it affects everything in the process that uses the same Highway. No other thread may be
/// using the backend, and weights that it packed before must not be used again. Throws kOption, listing the sets that
/// this machine has, for any other name.
void UseSimdTarget(std::string_view name);

}  // namespace headlens

#endif  // HEADLENS_BACKEND_H_
