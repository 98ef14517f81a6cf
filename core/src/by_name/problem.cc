// SPDX-License-Identifier: Apache-2.0
#include "headlens/problem.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/words.h"
#include "by_name/operations/registry.h"
#include "headlens/safetensors.h"

namespace headlens {
namespace {

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void RefuseTensor(const OperationKind& kind, std::string_view name) {
  const std::vector<std::string_view> known(kind.inputs.begin(), kind.inputs.end());
  const bool has_parameters = !kind.parameters.empty();
  throw UnknownName("tensor", name, known,
                    has_parameters ? Phrase{", and parameters such as ", kind.parameters.front()} : Phrase());
}

}  // namespace

struct Problem::State {
  OptionReader Reader() const { return OptionReader(options, backends); }
  /// The options of the problem, overridden by further ones.
  OptionReader Reader(std::string_view more) const {
    nlohmann::json merged = options;
    merged.update(ParseObject(more, "options"));
    return OptionReader(std::move(merged), backends);
  }

  const OperationKind& kind;
  nlohmann::json options;
  std::span<const Backend* const> backends;
  std::unique_ptr<Operation> operation;
  Inputs inputs;
  Parameters parameters;
};

struct Problem::Call::State {
  OperationRun run;
  std::unique_ptr<Work> work;
};

Problem::Problem(std::string_view op, std::string_view options, std::span<const Backend* const> backends) {
  const OperationKind& kind = FindOperation(op);
  state_.reset(new State{kind, ParseObject(options, "options"), backends, kind.make(), {}, {}});
}

Problem::~Problem() = default;
Problem::Problem(Problem&&) noexcept = default;
Problem& Problem::operator=(Problem&&) noexcept = default;

std::span<std::byte> Problem::Input(std::string_view name, DType dtype, const Shape& shape) {
  const bool is_parameter = Contains(state_->kind.parameters, name);
  if (!is_parameter && !Contains(state_->kind.inputs, name)) RefuseTensor(state_->kind, name);
  const std::span<std::byte> bytes =
      Declare(is_parameter ? state_->parameters.tensors : state_->inputs, name, dtype, shape);
  if (is_parameter) ++state_->parameters.version;
  return bytes;
}

void Problem::DropInputs() { state_->inputs.clear(); }

void Problem::Build() {
  OptionReader reader = state_->Reader();
  state_->operation->Build(reader, state_->parameters);
}

Problem::Call::Call(std::unique_ptr<State> state) : state_(std::move(state)) {}
Problem::Call::~Call() = default;
Problem::Call::Call(Call&&) noexcept = default;
Problem::Call& Problem::Call::operator=(Call&&) noexcept = default;

bool Problem::Call::repeatable() const { return state_->work->repeatable(); }

std::vector<Problem::Call::Input> Problem::Call::Inputs() const {
  std::vector<Input> inputs;
  for (const auto& [name, input] : state_->run.inputs) {
    inputs.push_back({name, input.dtype, {input.bytes.data(), static_cast<std::size_t>(input.bytes.size())}});
  }
  return inputs;
}

const Results& Problem::Call::Run() {
  KvCache* cache = state_->run.cache;
  const Index length = cache ? cache->length() : 0;
  try {
    state_->work->Compute();
  } catch (...) {
    if (cache) cache->Truncate(length);  // a failed call leaves no tokens in the cache
    state_->run.args.CheckAgain();       // backends see views, and cannot say where the caller's own tensor is wrong
    throw;
  }
  return state_->work->results;
}

Problem::Call Problem::Prepare(std::string_view options, KvCache* cache) {
  Inputs inputs = std::exchange(state_->inputs, {});
  std::unique_ptr<Call::State> call(
      new Call::State{{std::move(inputs), state_->Reader(options), state_->parameters, cache}, nullptr});
  call->work = state_->operation->Prepare(call->run);
  return Call(std::move(call));
}

Results Problem::Run(std::string_view options, KvCache* cache) {
  Call call = Prepare(options, cache);
  call.Run();
  return std::move(call.state_->work->results);
}

const Backend& Problem::BackendOf(std::string_view options) const { return state_->Reader(options).Backend(); }

Index Problem::ParameterCount() const {
  OptionReader reader = state_->Reader();
  return state_->operation->ParameterCount(reader);
}

Problem ReadCase(std::span<const std::byte> file, std::span<const Backend* const> backends) {
  const Safetensors tensors(file);
  const auto& metadata = tensors.metadata();
  const auto text = [&](std::string_view key) {
    const auto it = metadata.find(key);
    if (it == metadata.end()) throw MissingError(ErrorCode::kFormat, {"__metadata__.", key}, "a string");
    return it->second;
  };
  Problem problem(text("op"), metadata.contains("options") ? text("options") : "{}", backends);
  for (const auto& [name, tensor] : tensors.tensors()) {
    if (name.starts_with("expected.")) continue;
    const std::span<std::byte> bytes = problem.Input(name, tensor.dtype, tensor.shape);
    if (!bytes.empty()) std::memcpy(bytes.data(), tensor.data, bytes.size());
  }
  return problem;
}

}  // namespace headlens
