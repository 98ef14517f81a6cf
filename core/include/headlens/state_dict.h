// SPDX-License-Identifier: Apache-2.0
/// Parameters by name.
#ifndef HEADLENS_STATE_DICT_H_
#define HEADLENS_STATE_DICT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headlens/backend.h"
#include "headlens/tensor.h"

namespace headlens {

/// A parameter as it is handed over. Without an owner its bytes are borrowed from whoever keeps the parameters; with
/// one they are released together with it, as soon as whoever took the parameter has made its own of it.
struct TakenTensor : RawTensor {
  TakenTensor(RawTensor raw, std::shared_ptr<const void> bytes_owner = nullptr)  // implicit: borrowed
      : RawTensor(std::move(raw)), owner(std::move(bytes_owner)) {}
  std::shared_ptr<const void> owner;
};

class Safetensors;

/// Looks parameters up by their state-dict names, or by the rest of them after a prefix. Borrows what it is made of.
class StateDict {
 public:
  // Both are implicit, since a map of tensors and a file are state dicts. A temporary one would be gone too early.
  StateDict(const TensorMap& tensors);
  StateDict(const Safetensors& tensors);
  StateDict(TensorMap&&) = delete;
  StateDict(Safetensors&&) = delete;

  using Lookup = std::function<std::optional<TakenTensor>(std::string_view name)>;
  using Probe = std::function<bool(std::string_view name)>;

  /// Of parameters that stay where they are: `lookup` gives a RawTensor, or nothing where there is none of that name.
  template <class Borrow>
    requires std::is_invocable_r_v<std::optional<TakenTensor>, Borrow, std::string_view>
  StateDict(Borrow lookup)  // implicit: any function of that form is a state dict
      : take_(lookup), has_([lookup](std::string_view name) { return lookup(name).has_value(); }) {}

  /// Of parameters that are handed over: each can be taken once.
  StateDict(Lookup take, Probe has) : take_(std::move(take)), has_(std::move(has)) {}

  bool Has(std::string_view name) const { return has_(FullName(name)); }
  std::optional<TakenTensor> Take(std::string_view name) const { return take_(FullName(name)); }
  /// With the prefix, as messages show it.
  std::string FullName(std::string_view name) const { return prefix_ + std::string(name); }

  /// The same parameters, every name looked up under `prefix`: WithPrefix(state, "self_attn.").
  friend StateDict WithPrefix(StateDict state, std::string_view prefix) {
    state.prefix_ += prefix;
    return state;
  }

 private:
  Lookup take_;
  Probe has_;
  std::string prefix_;
};

/// The named parameter. Throws kShape, naming both shapes, when it is missing or has another shape.
TakenTensor TakeParameter(const StateDict& state, std::string_view name, const Shape& shape);

/// The same as floats.
Tensor Parameter(const StateDict& state, std::string_view name, const Shape& shape);

/// y = x Wᵀ + b from "<name>.weight" [out, in] and, when `bias`, "<name>.bias" [out]. 16-bit weights stay 16-bit.
std::unique_ptr<LinearWeights> LinearParameter(const Backend& backend, const StateDict& state, const std::string& name,
                                               Index out_features, Index in_features, bool bias);

/// Packs rows [first, first + count) of `matrix` [out, in] in its own type; of a `transposed` one [in, out], as GPT-2
/// has them, those columns.
std::unique_ptr<LinearWeights> PackRows(const Backend& backend, const RawTensor& matrix, bool transposed, Index first,
                                        Index count, std::span<const float> bias);

}  // namespace headlens

#endif  // HEADLENS_STATE_DICT_H_
