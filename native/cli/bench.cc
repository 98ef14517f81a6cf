// SPDX-License-Identifier: Apache-2.0
/// headlens bench: how fast the layer runs here, and how near to what this machine can do.
#include <unistd.h>

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

void Register(const Row& row, const Backend& backend, const BenchOptions& options, double limit) {
  const auto run = [row, &backend, limit](benchmark::State& state) {
    const LayerRun layer(*row.workload, backend);
    for (auto _ : state) layer.Forward(row.maps);
    const double operations = row.workload->operations();
    using benchmark::Counter;
    state.counters["GFLOP/s"] = Counter(operations * 1e-9, Counter::kIsIterationInvariantRate);
    state.counters["limit_percent"] = Counter(100.0 * operations / limit, Counter::kIsIterationInvariantRate);
  };
  benchmark::RegisterBenchmark((row.name + "/" + options.backend).c_str(), run)
      ->Unit(benchmark::kMicrosecond)
      ->MinTime(options.seconds)
      ->Repetitions(options.repetitions);
}

void RunAll(const BenchOptions& options) {
  const std::vector<Row> rows = Rows(options.filter);
  const double limit = bench::MultiplyAddLimit();
  for (const Row& row : rows) Register(row, FindBackend(options.backend), options, limit);
  benchmark::AddCustomContext("headlens_version", Version());
  benchmark::AddCustomContext("simd_target", std::string(SimdTarget()));
  benchmark::AddCustomContext("threads", "1");
  benchmark::AddCustomContext("multiply_add_limit_gflops", std::to_string(limit * 1e-9));
  benchmark::JSONReporter json;
  benchmark::ConsoleReporter console(isatty(STDOUT_FILENO) == 1 ? benchmark::ConsoleReporter::OO_Color
                                                                : benchmark::ConsoleReporter::OO_None);
  benchmark::BenchmarkReporter* reporter = &console;
  if (options.json) reporter = &json;
  benchmark::RunSpecifiedBenchmarks(reporter, ".");
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
