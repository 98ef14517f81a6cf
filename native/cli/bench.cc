// SPDX-License-Identifier: Apache-2.0
/// The command `headlens bench`, which measures the speed of each workload and compares it with the machine's limit.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <regex>
#include <sstream>
#include <vector>

#include "base/words.h"
#include "bench/limit.h"
#include "bench/run.h"
#include "bench/workloads.h"
#include "benchmark/benchmark.h"
#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/model_folder.h"
#include "cli/tune.h"
#include "headlens/backend.h"
#include "headlens/version.h"
#include "nlohmann/json.hpp"
#if HEADLENS_OPENCL
#include "opencl/opencl.h"
#endif

namespace headlens::cli {
namespace {

using bench::Row;
using bench::Run;

struct BenchOptions {
  std::string filter, target, model;
  BackendOptions backend;
  bool json = false, paced = false, sweep = false, large = false, explain = false, tune = false;
  double seconds = 0.1;
  int repetitions = 5;
};

/// Throws when the row's model cannot be read, before anything is measured.
void ExpectModel(const Row& row) try { ReadConfig(row.model.folder); } catch (const InputError& error) {
  throw InputError(error.In({row.name, ", whose folder --model names"}));
}

std::vector<Row> TableOf(const BenchOptions& options) {
  if (options.sweep) return bench::Sweeps();
  if (options.large) return bench::LargeWorkloads();
  return options.explain ? bench::Explanations() : bench::Workloads();
}

std::vector<Row> ChosenRows(const BenchOptions& options) {
  std::vector<Row> chosen;
  std::string known;
  for (Row& row : TableOf(options)) {
    known += " " + row.name;
    if (!row.model.folder.empty() && !options.model.empty()) row.model.folder = options.model;
    try {
      if (std::regex_search(row.name, std::regex(options.filter))) chosen.push_back(std::move(row));
    } catch (const std::regex_error& error) {
      throw InputError(
          OptionError("--filter", Quoted(options.filter), {"a regular expression: ", std::string(error.what())}));
    }
  }
  if (chosen.empty())
    throw InputError(OptionError("--filter", Quoted(options.filter), {"one that matches some of", known}));
  for (const Row& row : chosen)
    if (!row.model.folder.empty()) ExpectModel(row);
  return chosen;
}

/// The time of a call, without that of transfers between host and device, and these transfers.
struct Timed {
  double seconds;
  Backend::Transfers moved;
};

/// Keeps one row in memory at a time. Google Benchmark measures a row several times before it moves on to the next.
class Runs {
 public:
  explicit Runs(const Backend& backend) : backend_(backend) {}

  Run& Of(const Row& row) {
    if (run_ == nullptr || name_ != row.name) {
      run_.reset();
      run_ = bench::MakeRun(row, backend_, [](const std::string& folder, const Backend& backend) {
        return LoadModelFolder(folder, ReadConfig(folder), backend);
      });
      name_ = row.name;
    }
    return *run_;
  }

  Timed Time(Run& run) const {
    const Backend::Transfers before = backend_.transfers();
    const auto start = std::chrono::steady_clock::now();
    run.Call();
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
    const Backend::Transfers after = backend_.transfers();
    const Backend::Transfers moved = {after.bytes - before.bytes, after.seconds - before.seconds};
    return {all.count() - moved.seconds, moved};
  }

 private:
  const Backend& backend_;
  std::string name_;
  std::unique_ptr<Run> run_;
};

/// The peak memory of this process so far; 0 when it is not known. (getrusage would also count the parent's memory from
/// before this process was started.)
double PeakBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kibibytes = 0.0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024.0;
  }
  return 0.0;
}

/// The peak memory of a process that only runs this row: the program, inputs, parameters and one call. 0 when it is not
/// known.
double PeakBytesAlone(const Row& row, const BenchOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) return 0.0;
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    try {
      const BackendSet backends(options.backend);  // made after the fork, which does not copy threads
      Runs(backends.chosen()).Of(row).Call();
      const double peak = PeakBytes();
      status = write(ends[1], &peak, sizeof(peak)) == sizeof(peak) ? 0 : 1;
    } catch (...) {  // measuring the row will report the error
    }
    _exit(status);
  }
  close(ends[1]);
  double peak = 0.0;
  if (child < 0 || read(ends[0], &peak, sizeof(peak)) != sizeof(peak)) peak = 0.0;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return peak;
}

/// The highest speed of the machine or the device, per second. 0 when it was not measured.
struct Limit {
  double multiply_adds, copy;
};

/// `runs` is the number of measurements of a processor, which take about 10 ms each.
Limit MeasureLimit(const BackendOptions& backend, int runs) {
#if HEADLENS_OPENCL
  if (backend.name == "opencl") {
    const opencl::Limits limits = opencl::MeasureLimits(backend.device);
    return {limits.multiply_adds, limits.copy};
  }
#endif
  return {bench::MultiplyAddLimit(runs) * backend.threads, 0.0};
}

/// Adds to each row its speed in percent of the limits. The limit of a processor is measured again after each row,
/// because its clock rate changes.
template <class Reporter>
class WithLimit : public Reporter {
 public:
  template <class... Args>
  explicit WithLimit(const BackendOptions& backend, const Limit& limit, Args... args)
      : Reporter(args...), backend_(backend), limit_(limit) {}

  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    auto with_limit = runs;
    if (backend_.name != "opencl") limit_ = MeasureLimit(backend_, 5);
    for (auto& run : with_limit) {
      if (run.aggregate_unit == benchmark::kPercentage) continue;
      Add(run.counters, "FLOPS", limit_.multiply_adds, "limit_percent");
      run.counters["limit_FLOPS"] = limit_.multiply_adds;
      Add(run.counters, "bytes_per_second", limit_.copy, "copy_limit_percent");
    }
    Reporter::ReportRuns(with_limit);
  }

 private:
  static void Add(benchmark::UserCounters& counters, const char* rate, double limit, const char* percent) {
    const auto it = counters.find(rate);
    if (it != counters.end() && limit > 0.0) counters[percent] = 100.0 * it->second.value / limit;
  }

  BackendOptions backend_;
  Limit limit_;
};

void Register(const Row& row, const std::string& backend, const std::shared_ptr<Runs>& runs, double peak) {
  const bool transfers = backend == "opencl";
  const auto measure = [row, runs, peak, transfers](benchmark::State& state) {
    Run& run = runs->Of(row);
    Backend::Transfers moved;
    for (auto _ : state) {
      const Timed call = runs->Time(run);
      if (transfers) state.SetIterationTime(call.seconds);
      moved.bytes += call.moved.bytes;
      moved.seconds += call.moved.seconds;
    }
    using benchmark::Counter;
    if (transfers) {
      state.counters["transfer_bytes"] = Counter(moved.bytes, Counter::kAvgIterations);
      state.counters["transfer_us"] = Counter(moved.seconds * 1e6, Counter::kAvgIterations);
    }
    if (row.operations() > 0) state.counters["FLOPS"] = Counter(row.operations(), Counter::kIsIterationInvariantRate);
    if (row.bytes() > 0) state.counters["bytes_per_second"] = Counter(row.bytes(), Counter::kIsIterationInvariantRate);
    state.counters["peak_bytes"] = Counter(peak, Counter::kDefaults, Counter::kIs1024);
  };
  auto* const registered =
      benchmark::RegisterBenchmark((row.name + "/" + backend).c_str(), measure)->Unit(benchmark::kMicrosecond);
  (transfers ? registered->UseManualTime() : registered->UseRealTime())
      ->ComputeStatistics("min", [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); });
}

/// Passes settings to Google Benchmark, which only reads them from a command line, and keeps the program's name.
void SetUpLibrary(const BenchOptions& options) {
  std::vector<std::string> words = {"headlens", "--benchmark_min_time=" + std::to_string(options.seconds),
                                    "--benchmark_min_warmup_time=" + std::to_string(options.seconds),
                                    "--benchmark_repetitions=" + std::to_string(options.repetitions)};
  if (!options.json && options.repetitions > 1) words.push_back("--benchmark_display_aggregates_only=true");
  static std::vector<std::string> kept;
  kept = std::move(words);
  std::vector<char*> argv;
  for (std::string& word : kept) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data());
}

void RunAll(const BenchOptions& options) {
  const std::vector<Row> rows = ChosenRows(options);
  std::vector<double> peaks;
  for (const Row& row : rows) peaks.push_back(PeakBytesAlone(row, options));
  const BackendSet backends(options.backend);
  const auto runs = std::make_shared<Runs>(backends.chosen());
  for (std::size_t i = 0; i < rows.size(); ++i) Register(rows[i], options.backend.name, runs, peaks[i]);
  SetUpLibrary(options);
  const Limit limit = MeasureLimit(options.backend, 20);
  benchmark::AddCustomContext("headlens_version", Version());
  benchmark::AddCustomContext("simd_target", std::string(SimdTarget()));
  benchmark::AddCustomContext("threads", std::to_string(options.backend.threads));
  benchmark::AddCustomContext("multiply_add_limit_gflops", std::to_string(limit.multiply_adds * 1e-9));
  if (limit.copy > 0.0) benchmark::AddCustomContext("copy_limit_gbps", std::to_string(limit.copy * 1e-9));
  using benchmark::ConsoleReporter;
  WithLimit<benchmark::JSONReporter> json(options.backend, limit);
  WithLimit<ConsoleReporter> console(
      options.backend, limit,
      isatty(STDOUT_FILENO) == 1 ? ConsoleReporter::OO_ColorTabular : ConsoleReporter::OO_Tabular);
  if (options.json) {
    benchmark::RunSpecifiedBenchmarks(&json);
  } else {
    benchmark::RunSpecifiedBenchmarks(&console);
  }
}

/// Answers the lines of another program.
class Pace {
 public:
  explicit Pace(const BenchOptions& options)
      : rows_(ChosenRows(options)), backend_(options.backend), backends_(backend_), runs_(backends_.chosen()) {}

  nlohmann::json Answer(const std::string& line) {
    if (line == "limit") {
      const Limit limit = MeasureLimit(backend_, 1);
      return {{"multiply_add_limit_gflops", limit.multiply_adds * 1e-9}, {"copy_limit_gbps", limit.copy * 1e-9}};
    }
    if (line == "memory") return {{"peak_bytes", PeakBytes()}};
    if (line == "rows") return DescribedRows();
    std::istringstream words(line);
    std::string name;
    words >> name;
    const bool look = name == "look";
    if (look) words >> name;
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&name](const Row& r) { return r.name == name; });
    if (row == rows_.end()) Refuse(line);
    return look ? Look(*row, words) : Seconds(*row, words, line);
  }

 private:
  [[noreturn]] static void Refuse(const std::string& line) {
    throw InputError(Wrong(ErrorCode::kFormat, "the standard input", "says", Quoted(line), "NAME COUNT"));
  }

  nlohmann::json DescribedRows() const {
    nlohmann::json rows = nlohmann::json::array();
    for (const Row& row : rows_) rows.push_back(bench::Described(row));
    return rows;
  }

  nlohmann::json Seconds(const Row& row, std::istringstream& words, const std::string& line) {
    constexpr int kMaxCalls = 1'000'000;
    int count = 0;
    if (!(words >> count) || count < 1 || count > kMaxCalls) Refuse(line);
    std::vector<double> seconds;
    for (int i = 0; i < count; ++i) seconds.push_back(runs_.Time(runs_.Of(row)).seconds);
    return {{"name", row.name}, {"seconds", seconds}};
  }

  nlohmann::json Look(const Row& row, std::istringstream& words) {
    std::vector<Index> rows;
    for (Index i = 0; words >> i;) rows.push_back(i);
    Run& run = runs_.Of(row);
    run.Call();
    const bench::Sample sample = run.Look(rows);
    return {{"name", row.name}, {"output", sample.output}, {"maps", sample.maps}};
  }

  std::vector<Row> rows_;
  BackendOptions backend_;
  BackendSet backends_;
  Runs runs_;
};

/// Takes turns with another program, which writes lines to the standard input. "NAME COUNT" asks for the times of COUNT
/// calls of a row, and is answered with one line {"name", "seconds": [one for each call]}. "look NAME ROW…" is answered
/// with these rows of one call's results, "limit" with {"multiply_add_limit_gflops", "copy_limit_gbps"}, "memory" with
/// {"peak_bytes"}, and "rows" with a list that describes every chosen row.
void RunPaced(const BenchOptions& options) {
  Pace pace(options);
  for (std::string line; std::getline(std::cin, line);) std::cout << pace.Answer(line) << std::endl;
}

void Bench(const BenchOptions& options) {
#if HEADLENS_OPENCL
  if (options.tune) return TuneDevice(options.backend);
#endif
  if (!options.target.empty()) UseSimdTarget(options.target);
  options.paced ? RunPaced(options) : RunAll(options);
}

}  // namespace

void AddBench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure layers, attention, maps and models");
  const auto options = std::make_shared<BenchOptions>();
  command->add_option("--filter", options->filter, "Only rows whose name matches, such as bert or core|gqa")
      ->type_name("REGEX");
  AddBackendOptions(*command, options->backend);
  command->add_option("--target", options->target, "Use this instruction set; `headlens info` lists them")
      ->type_name("NAME");
  command->add_option("--model", options->model, "Folder of the built-in model, instead of web/models/tiny")
      ->type_name("DIR");
  command->add_flag("--sweep", options->sweep,
                    "Attention at many lengths, head widths and conventions, instead of the workloads");
  command->add_flag("--large", options->large, "Workloads that fill a data-centre GPU, instead of the ordinary ones")
      ->excludes("--sweep");
  command
      ->add_flag("--explain", options->explain,
                 "Explanations, and runs again with a head silenced, instead of the workloads")
      ->excludes("--sweep")
      ->excludes("--large");
  command->add_flag("--json", options->json, "Print Google Benchmark's JSON");
  command->add_option("--seconds", options->seconds, "Least time for each repetition, and of the warm-up before it")
      ->check(CLI::Range(0.001, 3600.0))
      ->type_name("SECONDS");
  command->add_option("--repetitions", options->repetitions, "The number of times that each row is measured")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command->add_flag("--paced", options->paced,
                    "Time \"ROW COUNT\" for each line of the standard input, to take turns with another program");
#if HEADLENS_OPENCL
  CLI::Option* tune = command->add_flag(
      "--tune", options->tune, "Find the kernels that the device of the opencl backend is fastest with, and keep them");
  for (const char* other : {"--filter", "--target", "--model", "--sweep", "--large", "--explain", "--json", "--seconds",
                            "--repetitions", "--paced"})
    tune->excludes(command->get_option(other));
#endif
  command->callback([options, command] {
    if (options->tune && command->count("--backend") == 0) options->backend.name = "opencl";
    Bench(*options);
  });
}

}  // namespace headlens::cli
