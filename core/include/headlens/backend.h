// SPDX-License-Identifier: Apache-2.0
/// The table of backends: the same operations, computed differently. All agree within rounding.
#ifndef HEADLENS_BACKEND_H_
#define HEADLENS_BACKEND_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "headlens/attention.h"
#include "headlens/tensor.h"

namespace headlens {

/// The elements of a matrix [out, in] where they lie, in F32, F16 or BF16; strides count elements, addresses need no
/// alignment.
struct WeightMatrix {
  WeightMatrix(DType dtype, const std::byte* data, Index out_features, Index in_features, Index out_stride,
               Index in_stride)
      : dtype(dtype), data(data), out(out_features), in(in_features), out_stride(out_stride), in_stride(in_stride) {}
  // Implicit: a view of floats is such a matrix.
  WeightMatrix(View<const float, 2> w)
      : WeightMatrix(DType::kF32, reinterpret_cast<const std::byte*>(w.data), w.shape[0], w.shape[1], w.strides[0],
                     w.strides[1]) {}
  WeightMatrix(View<float, 2> w) : WeightMatrix(View<const float, 2>(w)) {}

  DType dtype;
  const std::byte* data;
  Index out, in;
  Index out_stride, in_stride;
};

/// Weights of y = x Wᵀ + b in the order a backend likes best. Made by Backend::PackLinear, used with the same backend
/// only.
class LinearWeights {
 public:
  LinearWeights(Index in_features, Index out_features) : in_(in_features), out_(out_features) {}
  virtual ~LinearWeights() = default;
  LinearWeights(const LinearWeights&) = delete;
  LinearWeights& operator=(const LinearWeights&) = delete;

  Index in_features() const { return in_; }
  Index out_features() const { return out_; }

  /// Row `out` of W as floats: an embedding, when W is the table of them. `to` has in_features elements.
  virtual void CopyRow(Index out, std::span<float> to) const = 0;
  /// [out_features]; empty without one. Borrowed.
  virtual std::span<const float> bias() const = 0;

 private:
  Index in_, out_;
};

/// Which elements rotary positions turn together.
enum class RotaryPairs {
  kHalf,         ///< i and i + d/2 (Llama, GPT-NeoX)
  kInterleaved,  ///< 2i and 2i + 1 (GPT-J, the paper)
};

/// Where block `i` begins when `count` cells are cut into `blocks` that are equal to within one cell.
constexpr Index BlockBegin(Index i, Index count, Index blocks) { return i * count / blocks; }

/// What a backend computes. Stateless and safe to share between threads. Rows of all views are dense (last stride 1);
/// outputs must not overlap inputs unless a function says so. Sizes are checked; Error kShape names both.
///
/// A backend may have memory of its own, as a GPU has. Tensors of Allocate and Keep are there: views and spans of them
/// are given to the functions below like any others (masks and biases excepted, and of the results of attention all but
/// output and weights), and nothing is moved from call to call. What the host reads of them it must Fetch before, and
/// what it writes it must Send.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;

  /// An uninitialised tensor where this backend computes.
  virtual Tensor Allocate(Shape shape) const { return Tensor(std::move(shape)); }
  /// The same elements where this backend computes.
  virtual Tensor Keep(Tensor tensor) const { return tensor; }
  /// The host's elements of the whole tensor become what the backend computed, and the other way around.
  virtual void Fetch(const Tensor&) const {}
  virtual void Send(const Tensor&) const {}
  /// Returns when all is computed. Before that a function may return while its results are still being computed where
  /// only this backend looks at them.
  virtual void Finish() const {}
  /// What was moved between the host and this backend's memory so far, and how long that took.
  struct Transfers {
    double bytes = 0.0, seconds = 0.0;
  };
  virtual Transfers transfers() const { return {}; }
  /// How many rows of a long computation it likes best at a time.
  virtual Index strip_rows() const { return 256; }

  /// Copies and reorders `weight` [out, in] (PyTorch's layout) and `bias` [out] or empty. Throws kDtype for weights
  /// that are neither F32 nor 16-bit floats.
  virtual std::unique_ptr<LinearWeights> PackLinear(const WeightMatrix& weight, std::span<const float> bias) const = 0;

  /// y [rows, out] = x [rows, in] Wᵀ + b.
  virtual void Linear(View<const float, 2> x, const LinearWeights& weights, View<float, 2> y) const = 0;

  /// Solves `problem`, filling those results that are there.
  virtual void Attention(const AttentionProblem& problem, const AttentionResults& results) const = 0;

  /// y = x / √(mean(x²) + eps) · weight, row by row (Zhang & Sennrich 2019). y may be x.
  virtual void RmsNorm(View<const float, 2> x, std::span<const float> weight, float eps, View<float, 2> y) const = 0;

  /// y = (x − mean) / √(variance + eps) · weight + bias, row by row (Ba et al. 2016); bias may be empty. y may be x.
  virtual void LayerNorm(View<const float, 2> x, std::span<const float> weight, std::span<const float> bias, float eps,
                         View<float, 2> y) const = 0;

  /// Rotates pairs of each head's elements in place by the angles of its position (Su et al. 2021). x [T, H, d];
  /// `cosine` and `sine` are [T, d/2].
  virtual void Rotary(View<float, 3> x, View<const float, 2> cosine, View<const float, 2> sine,
                      RotaryPairs pairs) const = 0;

  /// gate ← gate · sigmoid(gate) · up (Shazeer 2020).
  virtual void SwiGlu(std::span<float> gate, std::span<const float> up) const = 0;

  /// x ← x · Φ(x) exactly, with erf, or its tanh approximation (Hendrycks & Gimpel 2016).
  virtual void Gelu(std::span<float> x, bool tanh_approximation) const = 0;

  /// x ← max(x, 0).
  virtual void Relu(std::span<float> x) const = 0;

  /// x ← x + y.
  virtual void Add(std::span<float> x, std::span<const float> y) const = 0;

  /// to ← from, of equal sizes.
  virtual void Copy(View<const float, 4> from, View<float, 4> to) const;

  /// Row i of y is row rows[i] of W. Throws kValue for one that is not there.
  virtual void CopyRows(const LinearWeights& weights, std::span<const std::int32_t> rows, View<float, 2> y) const;

  /// y [n, C]: means over equal blocks (BlockBegin) of a map [rows, S] that is cut into `row_blocks` rows and C columns
  /// of them. y's rows are those from `first_block` on; x [.., S] begins with the map's row `first_row` and holds them.
  struct Pooling {
    Index rows, row_blocks, first_row, first_block;
  };
  virtual void Pool(View<const float, 2> x, const Pooling& pooling, View<float, 2> y) const;
};

/// Plain loops in fp64, each kernel rounding once to fp32 at the end: the twin that every other backend is held
/// against.
const Backend& ReferenceBackend();

/// Highway kernels; the best instruction set of this machine is chosen at run time. Works on the caller's thread.
const Backend& SimdBackend();

/// The same with `threads` threads, the caller's among them, which large products and attention share; results are the
/// same for any number of them. The threads end with the backend. Calls from several threads at once are welcome; one
/// at a time gets the help. Throws kValue for less than 1. In WebAssembly only the host can start threads: the backend
/// works with those that come to ServeSimdBackend, and without -matomics with the caller's alone.
std::unique_ptr<const Backend> MakeSimdBackend(int threads);

#ifdef __EMSCRIPTEN__
/// The calling thread becomes thread `worker` (from 1 to threads − 1) of a backend that MakeSimdBackend made, and comes
/// back when that ends.
void ServeSimdBackend(const Backend& backend, int worker);

/// For a thread that a trap threw out of ServeSimdBackend: the call that it helped throws std::runtime_error, and goes
/// on waiting no more.
void GiveUpServing(const Backend& backend);
#endif

/// The backends of this library by name: "reference", "simd".
std::span<const Backend* const> Backends();

/// The one of that name. Throws kOption and lists the names when there is none such.
const Backend& FindBackend(std::string_view name, std::span<const Backend* const> among = Backends());

/// Highway's name of the instruction set that SimdBackend uses now: "AVX2", "NEON", "WASM", …
std::string_view SimdTarget();

struct SimdTargetInfo {
  std::string_view name;
  bool available;  ///< whether this machine has it
};

/// The instruction sets that SimdBackend is compiled for, best first.
std::vector<SimdTargetInfo> SimdTargets();

/// From now on SimdBackend uses this one, until another call: to measure and to compare. No other thread may be using
/// the backend, and what it has packed before must not be used again. Throws kOption, naming those that there are, when
/// this machine does not have it.
void UseSimdTarget(std::string_view name);

}  // namespace headlens

#endif  // HEADLENS_BACKEND_H_
