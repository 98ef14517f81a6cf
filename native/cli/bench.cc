// SPDX-License-Identifier: Apache-2.0
/// headlens bench: how fast the layer runs here, and how near to what this machine can do.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <regex>
#include <sstream>
#include <vector>

#include "bench/limit.h"
#include "bench/workload.h"
#include "benchmark/benchmark.h"
#include "cli/commands.h"
#include "headlens/backend.h"
#include "headlens/version.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {
namespace {

using bench::LayerRun;
using bench::Workload;

struct BenchOptions {
  std::string filter, backend = "simd";
  bool json = false, paced = false;
  double seconds = 0.5;
  int repetitions = 1;
};

/// A workload with or without the maps of every head: "bert/maps", "bert/no_maps".
struct Row {
  std::string name;
  const Workload* workload;
  bool maps;
};

std::vector<Row> Rows(const std::string& filter) {
  std::vector<Row> rows;
  std::string known;
  for (const Workload& workload : bench::Workloads())
    for (const bool maps : {true, false}) {
      const std::string name = std::string(workload.name) + (maps ? "/maps" : "/no_maps");
      known += " " + name;
      try {
        if (std::regex_search(name, std::regex(filter))) rows.push_back({name, &workload, maps});
      } catch (const std::regex_error& error) {
        throw InputError("--filter: not a regular expression: " + std::string(error.what()));
      }
    }
  if (rows.empty()) throw InputError("--filter " + filter + ": matches none of" + known);
  return rows;
}

/// Adds to each row how near it came to the limit, in percent.
template <class Reporter>
class WithLimit : public Reporter {
 public:
  template <class... Args>
  explicit WithLimit(double limit, Args... args) : Reporter(args...), limit_(limit) {}

  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    auto with_limit = runs;
    for (auto& run : with_limit) {
      const auto it = run.counters.find("FLOPS");
      if (it == run.counters.end() || run.aggregate_unit == benchmark::kPercentage) continue;
      run.counters["limit_percent"] = 100.0 * it->second.value / limit_;
    }
    Reporter::ReportRuns(with_limit);
  }

 private:
  double limit_;
};

void Register(const Row& row, const std::string& backend) {
  const auto run = [row, &chosen = FindBackend(backend)](benchmark::State& state) {
    const LayerRun layer(*row.workload, chosen);
    for (auto _ : state) layer.Forward(row.maps);
    state.counters["FLOPS"] =
        benchmark::Counter(row.workload->operations(), benchmark::Counter::kIsIterationInvariantRate);
  };
  benchmark::RegisterBenchmark((row.name + "/" + backend).c_str(), run)->Unit(benchmark::kMicrosecond);
}

/// Google Benchmark takes its settings from a command line alone, and keeps the program's name.
void SetUpLibrary(const BenchOptions& options) {
  static char name[] = "headlens";
  std::string seconds = "--benchmark_min_time=" + std::to_string(options.seconds);
  std::string repetitions = "--benchmark_repetitions=" + std::to_string(options.repetitions);
  char* argv[] = {name, seconds.data(), repetitions.data(), nullptr};
  int argc = 3;
  benchmark::Initialize(&argc, argv);
}

void RunAll(const BenchOptions& options) {
  for (const Row& row : Rows(options.filter)) Register(row, options.backend);
  SetUpLibrary(options);
  const double limit = bench::MultiplyAddLimit();
  benchmark::AddCustomContext("headlens_version", Version());
  benchmark::AddCustomContext("simd_target", std::string(SimdTarget()));
  benchmark::AddCustomContext("threads", "1");
  benchmark::AddCustomContext("multiply_add_limit_gflops", std::to_string(limit * 1e-9));
  using benchmark::ConsoleReporter;
  WithLimit<benchmark::JSONReporter> json(limit);
  WithLimit<ConsoleReporter> console(
      limit, isatty(STDOUT_FILENO) == 1 ? ConsoleReporter::OO_ColorTabular : ConsoleReporter::OO_Tabular);
  if (options.json) {
    benchmark::RunSpecifiedBenchmarks(&json);
  } else {
    benchmark::RunSpecifiedBenchmarks(&console);
  }
}

/// Seconds of each of `count` calls.
std::vector<double> Time(const LayerRun& layer, bool maps, int count) {
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    layer.Forward(maps);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return seconds;
}

/// Takes turns with another program: for each line "NAME COUNT" of the standard input, times so many calls of that row
/// and answers with one line {"name", "seconds": [one for each call]}; for the line "limit", with
/// {"multiply_add_limit_gflops"}.
void RunPaced(const BenchOptions& options) {
  constexpr int kMaxCalls = 1'000'000;
  const std::vector<Row> rows = Rows(options.filter);
  std::vector<std::unique_ptr<LayerRun>> layers(rows.size());
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "limit") {
      std::cout << nlohmann::json{{"multiply_add_limit_gflops", bench::MultiplyAddLimit() * 1e-9}} << std::endl;
      continue;
    }
    std::istringstream words(line);
    std::string name;
    int count = 0;
    const bool read = words >> name >> count && count > 0 && count <= kMaxCalls;
    const auto row = std::find_if(rows.begin(), rows.end(), [&name](const Row& r) { return r.name == name; });
    if (!read || row == rows.end())
      throw InputError("standard input: expected NAME COUNT, got \"" + line.substr(0, 80) + "\"");
    std::unique_ptr<LayerRun>& layer = layers[static_cast<std::size_t>(row - rows.begin())];
    if (!layer) layer = std::make_unique<LayerRun>(*row->workload, FindBackend(options.backend));
    std::cout << nlohmann::json{{"name", name}, {"seconds", Time(*layer, row->maps, count)}} << std::endl;
  }
}

}  // namespace

void AddBench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure the multi-head layer on one thread");
  const auto options = std::make_shared<BenchOptions>();
  command->add_option("--filter", options->filter, "Only rows whose name matches, such as bert or tutorial/maps")
      ->type_name("REGEX");
  AddBackendOption(*command, options->backend);
  command->add_flag("--json", options->json, "Print Google Benchmark's JSON");
  command->add_option("--seconds", options->seconds, "Least time for each row")
      ->check(CLI::Range(0.001, 3600.0))
      ->type_name("SECONDS");
  command->add_option("--repetitions", options->repetitions, "How often each row is measured")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command->add_flag("--paced", options->paced,
                    "Time \"ROW COUNT\" for each line of the standard input, to take turns with another program");
  command->callback([options] { options->paced ? RunPaced(*options) : RunAll(*options); });
}

}  // namespace headlens::cli
