// SPDX-License-Identifier: Apache-2.0
#include "headlens/problem.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "headlens/safetensors.h"
#include "operations/registry.h"
#include "words.h"

namespace headlens {
namespace {

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void RefuseTensor(const OperationKind& kind, std::string_view name) {
  std::string known = Joined(kind.inputs);
  if (!kind.parameters.empty()) known += ", and parameters such as " + kind.parameters.front();
  throw Error(ErrorCode::kOption, "unknown tensor " + Quoted(name) + "; known here: " + known);
}

}  // namespace

struct Problem::State {
  const OperationKind& kind;
  nlohmann::json options;
  std::unique_ptr<Operation> operation;
  Inputs inputs;
  Parameters parameters;

  Results Run(const Inputs& given, std::string_view run_options, KvCache* cache) {
    nlohmann::json merged = options;
    merged.update(ParseObject(run_options, "options"));
    OperationRun run(given, std::move(merged), parameters, cache);
    return operation->Run(run);
  }
};

Problem::Problem(std::string_view op, std::string_view options) {
  const OperationKind& kind = FindOperation(op);
  state_.reset(new State{kind, ParseObject(options, "options"), kind.make(), {}, {}});
}

Problem::~Problem() = default;
Problem::Problem(Problem&&) noexcept = default;
Problem& Problem::operator=(Problem&&) noexcept = default;

std::span<std::byte> Problem::Input(std::string_view name, DType dtype, const Shape& shape) {
  const bool is_parameter = Contains(state_->kind.parameters, name);
  if (!is_parameter && !Contains(state_->kind.inputs, name)) RefuseTensor(state_->kind, name);
  Given input{dtype, shape, Buffer<std::byte>(ElementCount(shape) * static_cast<Index>(ByteSize(dtype)))};
  const std::span<std::byte> bytes(input.bytes.data(), static_cast<std::size_t>(input.bytes.size()));
  (is_parameter ? state_->parameters.tensors : state_->inputs).insert_or_assign(std::string(name), std::move(input));
  if (is_parameter) ++state_->parameters.version;
  return bytes;
}

void Problem::DropInputs() { state_->inputs.clear(); }

void Problem::Build() {
  OptionReader reader(state_->options);
  state_->operation->Build(reader, state_->parameters);
}

Results Problem::Run(std::string_view options, KvCache* cache) {
  const Inputs inputs = std::exchange(state_->inputs, {});
  if (!cache) return state_->Run(inputs, options, nullptr);
  const Index length = cache->length();
  try {
    return state_->Run(inputs, options, cache);
  } catch (...) {
    cache->Truncate(length);  // what failed leaves no tokens there
    throw;
  }
}

Index Problem::ParameterCount() const {
  OptionReader reader(state_->options);
  return state_->operation->ParameterCount(reader);
}

Problem ReadCase(std::span<const std::byte> file) {
  const Safetensors tensors(file);
  const auto& metadata = tensors.metadata();
  const auto text = [&](std::string_view key) {
    const auto it = metadata.find(key);
    if (it == metadata.end())
      throw Error(ErrorCode::kFormat, "the case has no \"" + std::string(key) + "\" in its __metadata__");
    return it->second;
  };
  Problem problem(text("op"), metadata.contains("options") ? text("options") : "{}");
  for (const auto& [name, tensor] : tensors.tensors()) {
    if (name.starts_with("expected.")) continue;
    const std::span<std::byte> bytes = problem.Input(name, tensor.dtype, tensor.shape);
    if (!bytes.empty()) std::memcpy(bytes.data(), tensor.data, bytes.size());
  }
  return problem;
}

}  // namespace headlens
