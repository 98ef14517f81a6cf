// SPDX-License-Identifier: Apache-2.0
/// Operations by name, which case files, the npm package and the command line share.
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

/// Results by name.
using Results = TensorMap;

/// An operation with its options. It is given named tensors and then run, once or several times.
///
/// `op` is "scaled_dot_product_attention", "multihead_attention", "transformer_encoder_layer",
/// "transformer_decoder_layer" or "embedding". Options are a JSON object with PyTorch's names and PyTorch's defaults,
/// except that a fully masked row gives zeros. An unknown name is an error. Input tensors are `query`, `key`, `value`,
/// or `src`, `tgt`, `memory`, or `ids`; masks, position biases, sinks, head masks and past keys under the names that
/// their rules in core/src list; and parameters under their state-dict names.
class Problem {
 public:
  /// Throws kOption for an unknown op, and kFormat when `options` is not a JSON object. The option `backend` names one
  /// of `backends`, which must outlive the problem.
  Problem(std::string_view op, std::string_view options, std::span<const Backend* const> backends = Backends());
  ~Problem();
  Problem(Problem&&) noexcept;
  Problem& operator=(Problem&&) noexcept;

  /// Declares an input and returns its storage, dense and row-major, which the caller fills before Run. Replaces an
  /// input of the same name. Throws kOption for a name that the op does not know.
  std::span<std::byte> Input(std::string_view name, DType dtype, const Shape& shape);

  /// Drops the inputs that were declared since the last run. Parameters stay.
  void DropInputs();

  /// Builds the layer from its parameters, as the next Run would. Throws kShape or kDtype for a parameter that is
  /// missing or does not fit.
  void Build();

  /// A prepared run: its options are read, its inputs checked and its results allocated. For small problems this takes
  /// most of the time, and repeating the call saves it. Must not outlive its problem.
  class Call {
   public:
    ~Call();
    Call(Call&&) noexcept;
    Call& operator=(Call&&) noexcept;

    /// Returns true when Run may be called again after the inputs were filled with new numbers. That is so unless there
    /// is a cache or past keys, or an input had to be converted: one that is neither float nor boolean, or is 16-bit.
    bool repeatable() const;

    struct Input {
      std::string_view name;
      DType dtype;
      std::span<std::byte> bytes;
    };
    /// The storage of the inputs by name, without the parameters.
    std::vector<Input> Inputs() const;

    /// Computes with the current contents of the inputs and parameters. The results stay at the same addresses in every
    /// run.
    const Results& Run();

   private:
    friend class Problem;
    struct State;
    explicit Call(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };

  /// Prepares a run of the inputs declared so far.
  Call Prepare(std::string_view options = "{}", KvCache* cache = nullptr);

  /// Runs with the constructor's options, which `options` override. The results are "output", "weights" when they are
  /// needed, and each name in `stages`. Parameters stay for the next run; the other inputs are dropped, also when an
  /// Error is thrown. With a `cache`, self-attention appends its keys and values to it and attends to all that it
  /// keeps.
  Results Run(std::string_view options = "{}", KvCache* cache = nullptr);

  /// The backend that a run with these options uses.
  const Backend& BackendOf(std::string_view options = "{}") const;

  /// The number of parameters of the layer that the options describe; 0 for operations without a layer. Throws when the
  /// options that describe it are wrong.
  Index ParameterCount() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads a case: a safetensors file whose metadata holds `op` and `options` and whose tensors are the inputs. Tensors
/// named "expected.*" are skipped; they are for tests that check the results.
Problem ReadCase(std::span<const std::byte> file, std::span<const Backend* const> backends = Backends());

}  // namespace headlens

#endif  // HEADLENS_PROBLEM_H_
