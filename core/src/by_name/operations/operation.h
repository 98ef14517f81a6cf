// SPDX-License-Identifier: Apache-2.0
/// The interface of operations: their inputs, and the state that they keep between runs.
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

/// Parameters under their state-dict names. They stay between runs.
struct Parameters {
  Inputs tensors;
  std::uint64_t version = 0;  ///< increases with every change

  const Given* Find(std::string_view name) const {
    const auto it = tensors.find(name);
    return it == tensors.end() ? nullptr : &it->second;
  }

  /// Throws kShape when none was ever given.
  void ExpectLoaded() const {
    if (tensors.empty())
      throw Error(ErrorCode::kShape, "parameters", "", "", "nothing was loaded yet: the parameters are missing");
  }

  /// The parameters as layers read them. Borrowed.
  StateDict state() const {
    return [this](std::string_view name) -> std::optional<RawTensor> {
      const Given* parameter = Find(name);
      return parameter ? std::optional(parameter->raw()) : std::nullopt;
    };
  }
};

/// The inputs and options of a run, and the caller's cache if there is one.
struct OperationRun {
  OperationRun(Inputs given, OptionReader options, const Parameters& all, KvCache* given_cache)
      : inputs(std::move(given)), args(inputs), reader(std::move(options)), parameters(all), cache(given_cache) {}

  Inputs inputs;
  Arguments args;
  OptionReader reader;
  const Parameters& parameters;
  KvCache* cache;
};

/// A prepared run: its options are read, its inputs checked and its results allocated. Borrows the OperationRun and the
/// Operation.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  /// Fills `results` from the current contents of the inputs.
  virtual void Compute() = 0;
  /// True when Compute may be called again after the contents of the inputs changed.
  virtual bool repeatable() const = 0;

  Results results;
};

/// One operation, with the layer that it built from its parameters.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  virtual std::unique_ptr<Work> Prepare(OperationRun& run) = 0;
  /// Builds the layer from the parameters. Throws an Error when they are wrong.
  virtual void Build(OptionReader& reader, const Parameters& parameters) = 0;
  /// The number of parameters as PyTorch counts them; 0 for an operation without a layer. Throws when the options that
  /// describe the layer are wrong.
  virtual Index ParameterCount(OptionReader& reader) const = 0;
};

/// A layer that is kept between runs. It is built again when its parameters, configuration or backend change.
template <class Layer>
class BuiltLayer {
 public:
  template <class Config>
  const Layer& Get(const Config& config, const Parameters& parameters, const Backend& backend) {
    if (layer_ && version_ == parameters.version && backend_ == &backend && layer_->config() == config) return *layer_;
    parameters.ExpectLoaded();
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

// Each of these is defined in a file of its own.
std::unique_ptr<Operation> MakeScaledDotProduct();
std::unique_ptr<Operation> MakeMultihead();
std::unique_ptr<Operation> MakeEncoderLayer();
std::unique_ptr<Operation> MakeDecoderLayer();
std::unique_ptr<Operation> MakeEmbedding();

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_OPERATIONS_OPERATION_H_
