// SPDX-License-Identifier: Apache-2.0
/// What an operation is given and what it keeps between runs.
#ifndef HEADLENS_SRC_BY_NAME_OPERATIONS_OPERATION_H_
#define HEADLENS_SRC_BY_NAME_OPERATIONS_OPERATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "by_name/inputs.h"
#include "by_name/option_reader.h"
#include "headlens/cache.h"
#include "headlens/problem.h"
#include "headlens/state_dict.h"

namespace headlens {

/// Parameters under their state-dict names; they stay between runs.
struct Parameters {
  Inputs tensors;
  std::uint64_t version = 0;  ///< counts changes

  const Given* Find(std::string_view name) const {
    const auto it = tensors.find(name);
    return it == tensors.end() ? nullptr : &it->second;
  }

  /// The same as layers read them, borrowed.
  StateDict state() const {
    return [this](std::string_view name) -> std::optional<RawTensor> {
      const Given* parameter = Find(name);
      return parameter ? std::optional(parameter->raw()) : std::nullopt;
    };
  }
};

/// What a run is given: inputs, options, and the caller's cache or none.
struct OperationRun {
  OperationRun(Inputs given, OptionReader options, const Parameters& all, KvCache* given_cache)
      : inputs(std::move(given)), args(inputs), reader(std::move(options)), parameters(all), cache(given_cache) {}

  Inputs inputs;
  Arguments args;
  OptionReader reader;
  const Parameters& parameters;
  KvCache* cache;
};

/// A run made ready: its options read, its inputs checked, its results allocated. Borrows the OperationRun and the
/// Operation.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  /// Fills `results` out of what the inputs hold now.
  virtual void Compute() = 0;
  /// Whether Compute may be called again when the inputs hold something else.
  virtual bool repeatable() const = 0;

  Results results;
};

/// One operation, with what it built of its parameters.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  virtual std::unique_ptr<Work> Prepare(OperationRun& run) = 0;
  /// Builds what runs need of the parameters; throws what is wrong with them.
  virtual void Build(OptionReader& reader, const Parameters& parameters) = 0;
  /// As PyTorch counts them; 0 where an operation is no layer. Throws when the options that describe it are wrong.
  virtual Index ParameterCount(OptionReader& reader) const = 0;
};

/// A layer as it was last built. It is built anew when its parameters, its configuration or its backend are others.
template <class Layer>
class BuiltLayer {
 public:
  template <class Config>
  const Layer& Get(const Config& config, const Parameters& parameters, const Backend& backend) {
    if (layer_ && version_ == parameters.version && backend_ == &backend && layer_->config() == config) return *layer_;
    layer_.emplace(config, parameters.state(), backend);  // empty when the constructor throws
    version_ = parameters.version;
    backend_ = &backend;
    return *layer_;
  }

 private:
  std::optional<Layer> layer_;
  std::uint64_t version_ = 0;
  const Backend* backend_ = nullptr;
};

// One file each.
std::unique_ptr<Operation> MakeScaledDotProduct();
std::unique_ptr<Operation> MakeMultihead();
std::unique_ptr<Operation> MakeEncoderLayer();
std::unique_ptr<Operation> MakeDecoderLayer();
std::unique_ptr<Operation> MakeEmbedding();

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_OPERATIONS_OPERATION_H_
