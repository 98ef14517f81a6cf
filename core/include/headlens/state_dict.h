// SPDX-License-Identifier: Apache-2.0
/// Parameters by their state-dict names.
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

/// A parameter that has been taken from a StateDict. Without an owner, its bytes are borrowed. With one, the bytes live
/// as long as the owner does, so they can be freed as soon as the taker has copied them.
struct TakenTensor : RawTensor {
  TakenTensor(RawTensor raw, std::shared_ptr<const void> bytes_owner = nullptr)  // implicit: borrowed
      : RawTensor(std::move(raw)), owner(std::move(bytes_owner)) {}
  std::shared_ptr<const void> owner;
};

class Safetensors;

/// Finds parameters by their state-dict names, which may share a prefix. Borrows whatever it is made from.
class StateDict {
 public:
  // Both are implicit, since a map of tensors and a file are state dicts. Temporaries are refused: they would be
  // destroyed too early.
  StateDict(const TensorMap& tensors);
  StateDict(const Safetensors& tensors);
  StateDict(TensorMap&&) = delete;
  StateDict(Safetensors&&) = delete;

  using Lookup = std::function<std::optional<TakenTensor>(std::string_view name)>;
  using Probe = std::function<bool(std::string_view name)>;

  /// A state dict of parameters that stay where they are. `lookup` returns a RawTensor, or nothing for an unknown name.
  template <class Borrow>
    requires std::is_invocable_r_v<std::optional<TakenTensor>, Borrow, std::string_view>
  StateDict(Borrow lookup)  // implicit: any function of that form is a state dict
      : take_(lookup), has_([lookup](std::string_view name) { return lookup(name).has_value(); }) {}

  /// A state dict of parameters that are handed over, so that each can be taken once.
  StateDict(Lookup take, Probe has) : take_(std::move(take)), has_(std::move(has)) {}

  bool Has(std::string_view name) const { return has_(FullName(name)); }
  std::optional<TakenTensor> Take(std::string_view name) const { return take_(FullName(name)); }
  /// The name with its prefix, as error messages show it.
  std::string FullName(std::string_view name) const { return prefix_ + std::string(name); }

  /// The same parameters with `prefix` before every name, for example WithPrefix(state, "self_attn.").
  friend StateDict WithPrefix(const StateDict& state, std::string_view prefix);
  /// The same parameters, of which matrices may be I8 [rows, columns] beside floats "<name>_scale" [rows, 1] or [rows].
  friend StateDict WithScales(const StateDict& state);

  bool may_have_scales() const { return may_have_scales_; }

 private:
  Lookup take_;
  Probe has_;
  std::string prefix_;
  bool may_have_scales_ = false;
};

StateDict WithPrefix(const StateDict& state, std::string_view prefix);
StateDict WithScales(const StateDict& state);

/// Takes the named parameter in its type. A matrix with scales becomes floats here, each integer times the scale of its
/// row, so that one matrix at a time is there in both forms. Throws kShape, naming both shapes, when it is missing or
/// has another shape, kDtype for integers without scales and for scales without integers, and kValue for a scale that
/// is no positive number.
TakenTensor TakeParameter(const StateDict& state, std::string_view name, const Shape& shape);

/// Takes the named parameter and converts it to floats. Throws as TakeParameter does.
Tensor Parameter(const StateDict& state, std::string_view name, const Shape& shape);

/// The weights of y = x Wᵀ + b from "<name>.weight" [out, in] and, with `bias`, "<name>.bias" [out]. 16-bit weights
/// stay 16-bit.
std::unique_ptr<LinearWeights> LinearParameter(const Backend& backend, const StateDict& state, std::string_view name,
                                               Index out_features, Index in_features, bool bias);

/// Packs rows [first, first + count) of `matrix` [out, in] in its own type. When `transposed`, the matrix is [in, out],
/// as in GPT-2, and those columns are packed.
std::unique_ptr<LinearWeights> PackRows(const Backend& backend, const RawTensor& matrix, bool transposed, Index first,
                                        Index count, std::span<const float> bias);

}  // namespace headlens

#endif  // HEADLENS_STATE_DICT_H_
