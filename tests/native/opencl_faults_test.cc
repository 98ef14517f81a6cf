// SPDX-License-Identifier: Apache-2.0
/// Failing OpenCL calls: the backend reports an error that names the call, gives right results afterwards, and leaks
/// nothing. Every call is made to fail, each time that an operation makes it.
#include "opencl_faults.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>

#include "environment.h"
#include "headlens/model.h"
#include "opencl/opencl.h"
#include "opencl/runtime/session.h"
#include "random_problem.h"

namespace headlens::testing {
namespace {

// GCC has a macro for AddressSanitizer, and Clang a feature.
#if defined(__SANITIZE_ADDRESS__)
#define HEADLENS_HAS_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEADLENS_HAS_ADDRESS_SANITIZER
#endif
#endif

#if defined(HEADLENS_HAS_ADDRESS_SANITIZER)
constexpr int kRuns = 100;
constexpr double kMostGrowth = 1e9;  // it keeps freed memory, and finds leaks by itself
/// To open a device takes half a second: PoCL reads a file into memory that grows step by step, and each step is a
/// copy.
constexpr int kOpeningsEach = 8;
#else
constexpr int kRuns = 1000;
constexpr double kMostGrowth = 4e6;
constexpr int kOpeningsEach = 1;
#endif

using Numbers = std::vector<float>;

/// A cache of programs for the test only, which is removed at the end. A device that is opened anew takes its programs
/// from there, in a tenth of the time that PoCL takes to find them in its own cache.
class TemporaryCache {
 public:
  TemporaryCache() { Clear(); }
  ~TemporaryCache() { std::filesystem::remove_all(folder_); }
  TemporaryCache(const TemporaryCache&) = delete;
  TemporaryCache& operator=(const TemporaryCache&) = delete;

  void Clear() const { std::filesystem::remove_all(folder_ / "headlens"); }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("headlens-faults-" + std::to_string(getpid()));
  Variable variable_{"XDG_CACHE_HOME", folder_.string()};
};

/// An operation that can be repeated. Its data are already in the backend's memory, if it has any.
struct Operation {
  const char* name;
  bool keeps_weights;
  std::function<std::function<Numbers()>(const Backend&)> prepare;
};

std::function<Numbers()> PrepareLinear(const Backend& backend) {
  Random random(21);
  const auto w = std::make_shared<Tensor>(random.NormalTensor({19, 33})),
             b = std::make_shared<Tensor>(random.NormalTensor({19})),
             x = std::make_shared<Tensor>(random.NormalTensor({5, 33}));
  const std::shared_ptr<LinearWeights> packed = backend.PackLinear(w->view<2>(), b->values());
  return [=, &backend] {
    Tensor y({5, 21});
    std::fill_n(y.data(), y.size(), 0.0f);
    backend.Linear(x->view<2>(), *packed, {y.data(), {5, 19}, {21, 1}});
    Numbers numbers(y.values().begin(), y.values().end()), row(33);
    packed->CopyRow(7, row);
    numbers.insert(numbers.end(), row.begin(), row.end());
    return numbers;
  };
}

std::function<Numbers()> PreparePacking(const Backend& backend) {
  return [&backend] { return PrepareLinear(backend)(); };
}

/// Attention with every map, or with the output alone, which other code computes.
std::function<Numbers()> PrepareAttention(const Backend& backend, bool maps) {
  Random random(22);
  const auto r = std::make_shared<RandomProblem>(PlainProblem(random, {1, 2, 4, 5, 7, 6, 3}));
  DrawBiases(random, *r);
  r->problem.mask.causal = true;
  r->problem.mask.key_padding = {};
  return [=, &backend] {
    const AllResults all(r->problem);
    AttentionResults wanted = all.views();
    if (!maps) {
      wanted = {};
      wanted.output = all.output.view<4>();
      wanted.lse = all.lse.view<3>();
    }
    backend.Attention(r->problem, wanted);
    Numbers numbers(all.output.values().begin(), all.output.values().end());
    for (int i = 0; maps && i < AllResults::kMaps; ++i)
      numbers.insert(numbers.end(), all.maps[i].values().begin(), all.maps[i].values().end());
    return numbers;
  };
}

std::function<Numbers()> PrepareLayers(const Backend& backend) {
  return [&backend] {
    Random random(23);
    Tensor x = random.NormalTensor({4, 6}), w = random.NormalTensor({6}), angles = random.NormalTensor({4, 3});
    const Tensor y = x.Clone();
    backend.RmsNorm(x.view<2>(), w.values(), 1e-5f, x.view<2>());
    backend.LayerNorm(x.view<2>(), w.values(), w.values(), 1e-5f, x.view<2>());
    backend.Rotary({x.data(), {4, 1, 6}, {6, 6, 1}}, angles.view<2>(), angles.view<2>(), RotaryPairs::kHalf);
    backend.Silu(x.values());
    backend.Multiply(x.values(), y.values());
    backend.Gelu(x.values(), true);
    backend.Add(x.values(), y.values());
    return Numbers(x.values().begin(), x.values().end());
  };
}

/// One step of a model, with its logits.
std::function<Numbers()> PrepareDecoding(const Backend& backend) {
  const auto model = std::make_shared<Model>(LoadFolder(GoldenFolder("llama_bf16_biases"), backend));
  return [=] {
    Decoding decoding = model->StartDecoding();
    decoding.Step(std::vector<std::int32_t>{1});
    const Tensor logits = decoding.Logits(0, 1);
    return Numbers(logits.values().begin(), logits.values().end());
  };
}

const std::vector<Operation>& Operations() {
  static const std::vector<Operation> kOperations = {
      {"linear", true, PrepareLinear},
      {"packing", false, PreparePacking},
      {"attention with maps", false, [](const Backend& backend) { return PrepareAttention(backend, true); }},
      {"attention without maps", false, [](const Backend& backend) { return PrepareAttention(backend, false); }},
      {"layers", false, PrepareLayers},
      {"decoding", true, PrepareDecoding},
  };
  return kOperations;
}

struct Status {
  cl_int status;
  ErrorCode code;
  const char* name;
};

constexpr Status kStatuses[] = {
    {CL_OUT_OF_RESOURCES, ErrorCode::kUnsupported, "(CL_OUT_OF_RESOURCES)"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, ErrorCode::kMemory, "(CL_MEM_OBJECT_ALLOCATION_FAILURE)"},
    {-9999, ErrorCode::kUnsupported, "(-9999)"},
    {CL_OUT_OF_HOST_MEMORY, ErrorCode::kMemory, "(CL_OUT_OF_HOST_MEMORY)"},
    {CL_DEVICE_NOT_AVAILABLE, ErrorCode::kUnsupported, "(CL_DEVICE_NOT_AVAILABLE)"},
    {CL_INVALID_COMMAND_QUEUE, ErrorCode::kUnsupported, "(CL_INVALID_COMMAND_QUEUE)"},
};

/// Runs with a fault. Returns true when the run ended with an error, which must name the call and the status. Otherwise
/// the results must be right.
bool Fails(const std::string& call, const Status& status, const Numbers& expected,
           const std::function<Numbers()>& run) {
  try {
    const Numbers got = run();
    CHECK(got == expected);
    return false;
  } catch (const Error& error) {
    const std::string what = error.what();
    CAPTURE(what);
    CHECK(error.code() == status.code);
    CHECK(what.find(call) != std::string::npos);
    CHECK(what.find(status.name) != std::string::npos);
    CHECK(what.find('\n') == std::string::npos);
    return true;
  }
}

const Status& StatusOf(int number) { return kStatuses[static_cast<std::size_t>(number) % std::size(kStatuses)]; }

/// An operation that is ready to run on its own backend.
class Ready {
 public:
  explicit Ready(const Operation& operation, const opencl::Settings& settings = {})
      : operation_(operation), backend_(opencl::MakeBackend(settings)), run_(operation.prepare(*backend_)) {}

  Numbers Run() const { return run_(); }

  /// Runs after a fault. Weights that were lost with the device must be refused, and are packed again.
  Numbers RunAgain() {
    if (operation_.keeps_weights) {
      try {
        return run_();
      } catch (const Error& error) {
        CHECK(std::string(error.what()).find("load the model again") != std::string::npos);
        CHECK(error.code() == ErrorCode::kUnsupported);
        ++losses_;
        run_ = operation_.prepare(*backend_);
      }
    }
    return run_();
  }

  /// The number of times that weights were lost.
  int losses() const { return losses_; }

 private:
  const Operation& operation_;
  std::unique_ptr<const Backend> backend_;
  std::function<Numbers()> run_;
  int losses_ = 0;
};

/// Runs with a fault at the first, second, … call of that name until there are no more such calls, so that the last run
/// is one without a fault. There is such a run after each fault too, or after the first and every `each`-th. `reports`
/// is the call that must report the fault. Returns the number of runs that ended with an error.
int FailEach(const std::string& call, FaultKind kind, const std::string& reports, const Numbers& expected, Ready& ready,
             int each = 1) {
  const std::string held = HeldReferences();
  int failed = 0;
  for (int number = 1;; ++number) {
    CAPTURE(number);
    bool happened = false;
    {
      const Fault fault(call, number, StatusOf(number).status, kind);
      failed += Fails(reports, StatusOf(number), expected, [&] { return ready.Run(); });
      happened = fault.happened();
    }
    if (kind != FaultKind::kOnce || (happened && (number - 1) % each == 0)) {
      const Numbers again = ready.RunAgain();
      CHECK(again == expected);
    }
    CHECK(HeldReferences() == held);
    if (!happened) return failed;
  }
}

constexpr const char* kOperationCalls[] = {
    "clCreateBuffer",      "clCreateKernel",          "clSetKernelArg",        "clFinish",
    "clEnqueueReadBuffer", "clEnqueueReadBufferRect", "clEnqueueNDRangeKernel"};

/// A call that waits for the device may report a failure of earlier work, whose results are then worthless.
bool Waits(const std::string& call) {
  return call == "clFinish" || call.substr(0, 13) == "clEnqueueRead" || call == "clEnqueueWriteBuffer";
}

TEST_CASE("OpenCL: after a call that failed, whichever it was, results are right again") {
  const TemporaryCache cache;
  std::map<std::string, int> failed;
  for (const Operation& operation : Operations()) {
    CAPTURE(std::string(operation.name));
    Ready ready(operation, {.idle_memory = 0});  // each run makes all of its buffers
    const Numbers expected = ready.Run();
    for (const std::string& call : FallibleCalls()) {
      CAPTURE(call);
      const int before = ready.losses();
      failed[call] += FailEach(call, FaultKind::kOnce, call, expected, ready);
      if (!Waits(call)) CHECK(ready.losses() == before);
    }
  }
  for (const std::string call : kOperationCalls) {
    CAPTURE(call);
    CHECK(failed[call] > 0);
  }
}

TEST_CASE("OpenCL: a kernel whose failure is reported late is no result") {
  const TemporaryCache cache;
  for (const Operation& operation : Operations()) {
    CAPTURE(std::string(operation.name));
    Ready ready(operation);
    const Numbers expected = ready.Run();
    CHECK(FailEach("clEnqueueNDRangeKernel", FaultKind::kLate, "clFinish", expected, ready) > 0);
    CHECK((ready.losses() > 0) == operation.keeps_weights);
  }
}

/// Makes, uses and destroys a backend, with all calls from the first on.
Numbers Open() {
  Numbers x = {-1.0f, 2.0f};
  opencl::MakeBackend({})->Relu(x);
  return x;
}

TEST_CASE("OpenCL: after a device that did not open or a program that did not build, results are right again") {
  const TemporaryCache cache;
  for (const bool cached : {false, true}) {
    CAPTURE(cached);
    std::map<std::string, int> failed;
    const Operation open{"opening", false, [&](const Backend&) {
                           return [&] {
                             if (!cached) cache.Clear();
                             return Open();
                           };
                         }};
    Ready ready(open);
    const Numbers expected = ready.Run();
    CHECK(expected == Numbers{0.0f, 2.0f});
    for (const std::string& call : FallibleCalls()) {
      // With and without a cache, a device is opened in the same way. To compile a program each time takes long.
      if (!cached && call.find("Program") == std::string::npos && call.find("Kernel") == std::string::npos) continue;
      CAPTURE(call);
      failed[call] += FailEach(call, FaultKind::kOnce, call, expected, ready, kOpeningsEach);
    }
    for (const std::string call : {"clGetPlatformIDs", "clGetDeviceIDs", "clGetDeviceInfo", "clCreateContext",
                                   "clCreateCommandQueue", "clEnqueueWriteBuffer"}) {
      CAPTURE(call);
      CHECK((failed[call] > 0) == cached);
    }
    CHECK(failed["clCreateKernel"] > 0);
    // A program in the cache is only tried.
    CHECK((failed["clBuildProgram"] > 0) == !cached);
    CHECK((failed["clCreateProgramWithSource"] > 0) == !cached);
    CHECK(failed["clCreateProgramWithBinary"] == 0);
  }
}

TEST_CASE("OpenCL: a device that was lost is opened again, and what was on it is not used any more") {
  const TemporaryCache cache;
  for (const Operation& operation : Operations())
    for (const std::string call : kOperationCalls) {
      CAPTURE(std::string(operation.name));
      CAPTURE(call);
      Ready ready(operation);
      const Numbers expected = ready.Run();
      const std::string held = HeldReferences();
      {
        const Status& status = kStatuses[2];
        const Fault fault(call, 1, status.status, FaultKind::kLost);
        const auto run = [&] { return ready.Run(); };
        if (!Fails(call, status, expected, run)) continue;  // it does not make this call
        CHECK(Fails("", status, expected, run));            // nor does it the next time
      }
      const Numbers again = ready.RunAgain();
      CHECK(again == expected);
      CHECK(ready.losses() == (operation.keeps_weights ? 1 : 0));
      CHECK(HeldReferences() == held);
    }
}

TEST_CASE("OpenCL: tensors of a lost device are refused; new ones are right") {
  const auto backend = opencl::MakeBackend({});
  const std::vector<float> ones(6, 1.0f);
  DeviceTensor kept = backend->Upload(Tensor({2, 3}, ones)), computed = backend->Upload(Tensor({2, 3}, ones));
  backend->Add(computed.values(), kept.values());
  const std::shared_ptr<Reading> begun = backend->ReadBack(computed);
  {
    const Fault fault("clFinish", 1, -9999, FaultKind::kLost);
    Refused(ErrorCode::kUnsupported, "(-9999)", [&] { backend->Finish(); });
  }
  Numbers sum(6, 0.5f);
  backend->Add(sum, ones);
  CHECK(sum == Numbers(6, 1.5f));
  for (const std::function<void()>& use : std::initializer_list<std::function<void()>>{
           [&] { backend->Add(sum, computed.values()); }, [&] { backend->Add(sum, kept.values()); },
           [&] { backend->ReadBack(computed)->Wait(); }, [&] { begun->Wait(); },
           [&] { begun->Then([](Reading& reading) { reading.Wait(); }); }, [&] { backend->Relu(computed.values()); }})
    Refused(ErrorCode::kUnsupported, "load the model again", use);
  computed = backend->Upload(Tensor({2, 3}, ones));
  backend->Add(sum, computed.values());
  CHECK(sum == Numbers(6, 2.5f));
}

TEST_CASE("OpenCL: what does not compile is named, with its options, the device and the log") {
  const TemporaryCache cache;
  const std::string device = opencl::FindDevice("").name;
  const auto says = [&](const std::string& what, std::initializer_list<std::string> parts) {
    CAPTURE(what);
    for (const std::string& part : parts) CHECK_MESSAGE(what.find(part) != std::string::npos, part);
  };
  {
    const Fault fault("clBuildProgram", 1, CL_BUILD_PROGRAM_FAILURE);
    says(
        Refusal(ErrorCode::kUnsupported, Open),
        {"clBuildProgram: the kernels do not compile (CL_BUILD_PROGRAM_FAILURE)", "layers.cl", device, "GROUP_ITEMS="});
  }
  CHECK(Open() == Numbers{0.0f, 2.0f});
  opencl::Session session{{}};
  const auto launch = [&](const opencl::Source& source, const std::string& options) {
    return Refusal(ErrorCode::kUnsupported,
                   [&] { opencl::Explaining([&] { session.Launch(source, options, "Nothing", {}); }); });
  };
  says(launch({"wrong.cl", {}, "__kernel void Nothing() { no_such_thing; }"}, "-D UNUSED"),
       {"clBuildProgram", "wrong.cl", device, "-D UNUSED", "no_such_thing"});
  says(launch({"right.cl", {}, "__kernel void Nothing() {}"}, "-no-such-option"),
       {"clBuildProgram", "right.cl", device, "-no-such-option"});
  says(launch({"other.cl", {}, "__kernel void Something() {}"}, ""), {"clCreateKernel", "(CL_INVALID_KERNEL_NAME)"});
  CHECK(session.IsAlive());
}

/// The resident memory of this process in bytes.
double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0.0, resident = 0.0;
  statm >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// With `idle_memory` there may be different buffers after each run, but their number must not grow.
void CheckLeaks(const Operation& operation, Index idle_memory) {
  Ready ready(operation, {.idle_memory = idle_memory});
  const Numbers expected = ready.Run();
  int failed = 0;
  long most = 0;
  const auto run_often = [&](int times) {
    most = 0;
    for (int i = 0; i < times; ++i) {
      if (i % 10 != 0) {
        if (ready.RunAgain() != expected) return false;
        most = std::max(most, HeldMemory());
        continue;
      }
      const std::string call = kOperationCalls[static_cast<std::size_t>(i / 10) % std::size(kOperationCalls)];
      const Fault fault(call, 1 + i / 10 % 3, StatusOf(i).status);
      failed += Fails(call, StatusOf(i), expected, [&] { return ready.Run(); });
    }
    return true;
  };
  CHECK(run_often(kRuns / 10));
  ready.RunAgain();
  const std::string held = HeldReferences();
  const long most_held = most;
  double growth = kMostGrowth;
  // A leak grows each time; the caches of a GPU's driver come to an end.
  for (int round = 0; round < 3 && growth >= kMostGrowth; ++round) {
    const double before = ResidentBytes();
    CHECK(before > 0.0);
    CHECK(run_often(kRuns));
    ready.RunAgain();
    growth = ResidentBytes() - before;
  }
  CHECK(failed > kRuns / 100);
  CHECK(growth < kMostGrowth);
  CHECK(most <= most_held);
  if (idle_memory == 0) CHECK(HeldReferences() == held);
}

TEST_CASE("OpenCL: a thousand runs leave nothing behind, and no more when every tenth fails") {
  const TemporaryCache cache;
  std::vector<Operation> operations = Operations();
  operations.push_back({"opening", false, [](const Backend&) { return Open; }});
  const std::string before = HeldReferences();
  for (const Operation& operation : operations)
    for (const Index idle_memory : {Index{0}, Index{256} << 20}) {
      CAPTURE(std::string(operation.name));
      CAPTURE(idle_memory);
      CheckLeaks(operation, idle_memory);
    }
  CHECK(HeldReferences() == before);
}

}  // namespace
}  // namespace headlens::testing
