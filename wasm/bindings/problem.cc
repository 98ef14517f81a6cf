// SPDX-License-Identifier: Apache-2.0
/// One attention problem or layer: its parameters stay set between runs, its other inputs are dropped after each run.
#include "headlens/problem.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../threads.h"
#include "cache.h"
#include "convert.h"

namespace headlens {
namespace {

val ViewOf(const Tensor& tensor) { return val(emscripten::typed_memory_view(tensor.values().size(), tensor.data())); }

/// { data, shape } of each result, whose data are views. The views are made last: making names and shapes may make
/// memory grow, which takes from views what they look at.
val ViewsToJs(const Results& results) {
  val tensors = val::object();
  std::vector<val> objects;
  for (const auto& [name, tensor] : results) {
    objects.push_back(val::object());
    objects.back().set(TensorKeys().shape, ShapeToJs(tensor.shape()));
    tensors.set(name, objects.back());
  }
  auto object = objects.begin();
  for (const auto& [name, tensor] : results) (object++)->set(TensorKeys().data, ViewOf(tensor));
  return tensors;
}

class ProblemHandle {
 public:
  ProblemHandle(const std::string& op, const std::string& options)
      : op_(op),
        options_(options),
        problem_(op, options, EngineBackends()),
        parameter_count_(problem_.ParameterCount()) {}

  /// Takes all parameters at once. Those that do not fit leave the ones before in place.
  val Load(const val& parameters) {
    return Guard([&] {
      kept_.reset();
      Problem fresh(op_, options_, EngineBackends());
      Feed(fresh, parameters);
      fresh.Build();
      problem_ = std::move(fresh);
      return val::undefined();
    });
  }

  /// Gives each result as { data, shape }, whose data are a view. They are to be copied, and then released.
  val Run(const val& inputs, const std::string& options, CacheHandle* cache) {
    return Guard([&] {
      // However this call ends, nothing of it may reach the next one.
      const auto drop = [](Problem* problem) { problem->DropInputs(); };
      const std::unique_ptr<Problem, decltype(drop)> fed(&problem_, drop);
      kept_.reset();
      Feed(problem_, inputs);
      Problem::Call call = problem_.Prepare(options, cache ? &cache->cache() : nullptr);
      const Results& results = call.Run();
      kept_.emplace(std::move(call), results);
      return ViewsToJs(results);
    });
  }

  /// Frees what the last run holds, unless it is small and can be repeated.
  void Release() {
    if (kept_ && !(kept_->call.repeatable() && BytesOf(*kept_) <= kMostKept)) kept_.reset();
  }

  /// { inputs, results } of the last run: inputs are views by name, and results are as Run gives them. It is undefined
  /// when the run was released.
  val Kept() const {
    if (!kept_) return val::undefined();
    const std::vector<Problem::Call::Input> given = kept_->call.Inputs();
    std::vector<val> names;
    for (const auto& input : given) names.emplace_back(std::string(input.name));
    val inputs = val::object(), kept = val::object();
    kept.set("results", ViewsToJs(kept_->results));
    for (std::size_t i = 0; i < given.size(); ++i) inputs.set(names[i], Fillable(given[i].bytes, given[i].dtype));
    kept.set("inputs", inputs);
    return kept;
  }

  /// Runs the kept call with what its inputs hold now.
  val Repeat() {
    return Guard([&] {
      if (!kept_) throw Error(ErrorCode::kOption, "there is no call to repeat");
      kept_->call.Run();
      return val::undefined();
    });
  }

  double ParameterCount() const { return static_cast<double>(parameter_count_); }

 private:
  struct KeptCall {
    Problem::Call call;
    const Results& results;
  };
  /// The most bytes that a call which is kept until the next one may hold. It is enough for those small calls that take
  /// no more time to compute than to prepare.
  static constexpr std::size_t kMostKept = std::size_t{1} << 22;

  static std::size_t BytesOf(const KeptCall& kept) {
    std::size_t bytes = 0;
    for (const auto& input : kept.call.Inputs()) bytes += input.bytes.size();
    for (const auto& [name, tensor] : kept.results) bytes += tensor.values().size_bytes();
    return bytes;
  }

  std::string op_, options_;
  Problem problem_;
  std::optional<KeptCall> kept_;  // borrows from problem_, and goes before it
  Index parameter_count_;
};

val CreateProblem(const std::string& op, const std::string& options) {
  return Guard([&] { return val(std::make_unique<ProblemHandle>(op, options)); });
}

EMSCRIPTEN_BINDINGS(problem) {
  emscripten::function("createProblem", &CreateProblem);
  emscripten::class_<ProblemHandle>("Problem")
      .function("load", &ProblemHandle::Load)
      .function("run", &ProblemHandle::Run, emscripten::allow_raw_pointers())
      .function("release", &ProblemHandle::Release)
      .function("kept", &ProblemHandle::Kept)
      .function("repeat", &ProblemHandle::Repeat)
      .function("parameterCount", &ProblemHandle::ParameterCount);
}

}  // namespace
}  // namespace headlens
