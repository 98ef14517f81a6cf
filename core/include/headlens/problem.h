// SPDX-License-Identifier: Apache-2.0
/// Attention problems by name: what case files, the npm package and the command line have in common.
#ifndef HEADLENS_PROBLEM_H_
#define HEADLENS_PROBLEM_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlens/backend.h"
#include "headlens/cache.h"
#include "headlens/tensor.h"

namespace headlens {

/// Named results.
using Results = TensorMap;

/// An operation with its options, to be given named tensors and run, once or many times.
///
/// `op` is "scaled_dot_product_attention", "multihead_attention", "transformer_encoder_layer",
/// "transformer_decoder_layer" or "embedding". Options are a JSON object in PyTorch's words; what is absent has
/// PyTorch's default, except that a fully masked row gives zeros. A name that is not known is an error. Tensors:
/// `query`, `key`, `value`, or `src`, `tgt`, `memory`, or `ids`; masks, position biases, sinks, head masks and past
/// keys by name (each kind of mask, normaliser and position in core/src says which it takes); and parameters under
/// their state-dict names.
class Problem {
 public:
  /// Throws kOption for an unknown op, kFormat for what is not a JSON object. The option `backend` names one of
  /// `backends`, which must outlive the problem.
  Problem(std::string_view op, std::string_view options, std::span<const Backend* const> backends = Backends());
  ~Problem();
  Problem(Problem&&) noexcept;
  Problem& operator=(Problem&&) noexcept;

  /// Declares an input and returns its storage, dense and row-major, to be filled before Run; replaces one of the same
  /// name. Throws kOption for a name the op does not know.
  std::span<std::byte> Input(std::string_view name, DType dtype, const Shape& shape);

  /// Drops the inputs that were declared since the last run; parameters stay.
  void DropInputs();

  /// Builds the layer of its parameters, as the next Run would. Throws kShape or kDtype for a parameter that is missing
  /// or does not fit.
  void Build();

  /// A run made ready: its options are read, its inputs checked, its results allocated. For small problems that is most
  /// of the time, and a call that is repeatable is spared it the next time. Must not outlive its problem.
  class Call {
   public:
    ~Call();
    Call(Call&&) noexcept;
    Call& operator=(Call&&) noexcept;

    /// Whether Run may be called again when inputs were filled anew: not with a cache or past keys, and not where
    /// inputs of another type than floats or booleans, or 16-bit ones, had to be converted.
    bool repeatable() const;

    struct Input {
      std::string_view name;
      DType dtype;
      std::span<std::byte> bytes;
    };
    /// The inputs' storage, by name; parameters left out.
    std::vector<Input> Inputs() const;

    /// Computes with what the inputs, and the problem's parameters, hold now. The results stay where they are from run
    /// to run.
    const Results& Run();

   private:
    friend class Problem;
    struct State;
    explicit Call(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };

  /// A run as Run has it, of the inputs declared so far.
  Call Prepare(std::string_view options = "{}", KvCache* cache = nullptr);

  /// Runs with the constructor's options, overridden by `options`. Results: "output", "weights" when needed, and each
  /// name in `stages`. Parameters stay for the next run; the other inputs are dropped, also when an Error is thrown.
  /// With a `cache`, self-attention appends its keys and values there and attends to all that it keeps.
  Results Run(std::string_view options = "{}", KvCache* cache = nullptr);

  /// The backend that such a run computes on.
  const Backend& BackendOf(std::string_view options = "{}") const;

  /// Number of parameters of the layer that the options describe; 0 for other operations. Throws when the options that
  /// describe it are wrong.
  Index ParameterCount() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads a case: a safetensors file whose metadata holds `op` and `options` and whose tensors are the inputs.
/// Tensors named "expected.*" are left out: they are for whoever checks the results.
Problem ReadCase(std::span<const std::byte> file, std::span<const Backend* const> backends = Backends());

}  // namespace headlens

#endif  // HEADLENS_PROBLEM_H_
